#include "diagnosis/stall_detection.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <set>
#include <utility>

namespace weft::diagnosis {

void stall_detector::forget() {
  done_ = 0;
  threads_.clear();
}

bool stall_detector::has_lasted(double limit_s, std::uint64_t now_ns) {
  const double between_looks_s = std::min(1.0, limit_s / 4);
  if (static_cast<double>(now_ns - looked_at_ns_) < between_looks_s * 1e9) return false;
  looked_at_ns_ = now_ns;
  const std::uint64_t done = [&]() -> std::uint64_t {
    try {
      return somebody_runs() ? 0 : done_by_waiting_ranks();
    } catch (const std::bad_alloc&) {
      return 0;  // A job that has met a limit of memory ends by itself; it is not the monitor that ends it.
    }
  }();
  if (std::exchange(done_, done) != done || done == 0) {
    since_ns_ = now_ns;
    is_told_ = false;
  }
  const bool has_lasted = static_cast<double>(now_ns - since_ns_) >= limit_s * 1e9;
  return has_lasted && !std::exchange(is_told_, true);
}

// A worker that rests between two looks, and a thread that waits in a call of weft, run for a moment now and then.
bool stall_detector::somebody_runs() {
  // Beside a rank that computes a look takes little: the monitor's counts of time would be late.
  std::vector<bool> rests(passes_.size());
  bool any = false;
  for (int i = 0; i < workers_.worker_count(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    const worker& w = workers_.at(i);
    const bool passes = std::exchange(passes_[index], w.passes()) != w.passes();
    rests[index] = w.is_parked() || passes;
    any |= w.has_open_loops() || !(rests[index] || standing_thread(w.thread()).awaits_memory);
  }
  if (any) return true;
  const std::map<int, thread_standing> before = std::exchange(threads_, standing_threads());
  if (threads_.empty()) return true;
  const auto has_slept = [&](int thread) {
    const auto now = threads_.find(thread);
    const auto then = before.find(thread);
    return now != threads_.end() && then != before.end() &&
           now->second.has_slept_since(then->second);
  };
  std::set<int> known{static_cast<int>(gettid())};
  for (int i = 0; i < workers_.worker_count(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    const worker& w = workers_.at(i);
    known.insert(w.thread());
    sleeps_in_kernel_[index] =
        !rests[index] && has_slept(w.thread()) && threads_.at(w.thread()).awaits_memory;
    any |= !(rests[index] || sleeps_in_kernel_[index]);
  }
  const auto awake = std::ranges::count_if(threads_, [&](const auto& thread) {
    return !known.contains(thread.first) &&
           !(has_slept(thread.first) &&
             (descriptors_ == polling::stands || thread.second.awaits_memory));
  });
  return any || static_cast<std::size_t>(awake) > workers_.waiting_attached();
}

// A worker whose thread sleeps in the kernel cannot answer, and its rank does nothing meanwhile.
std::uint64_t stall_detector::done_by_waiting_ranks() {
  // Relaxed, all: on_every_worker() orders them.
  std::atomic<std::uint64_t> done{1};
  std::vector<std::atomic<bool>> rests(passes_.size());
  // Once all workers have acknowledged a stop, it ends what a rank waits for, or nothing does.
  const bool may_unwind = workers_.stopping() && std::ranges::count(sleeps_in_kernel_, true) == 0;
  workers_.on_every_worker([&](worker& w) {
    worker_standing now = standing_(w);
    done.fetch_add(now.done, std::memory_order_relaxed);
    // A wait that the stop has ended is over once its fiber has run.
    now.all_wait &= !may_unwind || (w.is_unwinding() && !w.has_ready());
    rests[static_cast<std::size_t>(w.index())].store(now.all_wait, std::memory_order_relaxed);
  });
  for (std::size_t i = 0; i < rests.size(); ++i)
    if (!rests[i].load(std::memory_order_relaxed) && !sleeps_in_kernel_[i]) return 0;
  return done.load(std::memory_order_relaxed);
}

}  // namespace weft::diagnosis
