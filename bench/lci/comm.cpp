// What comm_bench.cpp measures, over LCI 2 instead of weft's communication core: the same rows, between
// two processes or in one. bench/run.py names the provider of libfabric and starts the processes, which
// meet by LCI's own rendezvous over TCP; alone, one process sends to itself. Short messages are posted
// as they are, those that LCI does not copy with their registration. What an am carries lies in memory
// that LCI has allocated and its receiver frees, as in LCI's own benchmarks.
#include <lci.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "report.hpp"
#include "two_threads.hpp"

namespace {

// What has arrived, by tag, which is the thread's number: LCI's handlers get no context. Raised by
// whichever threads make progress.
bench::word arrivals[2];
long ordered = 0;
bool has_order = false;

void count_arrival(lci::status_t happened) {
  arrivals[happened.tag].value.fetch_add(1, std::memory_order_relaxed);
  std::free(happened.buffer);
}

void take_order(lci::status_t happened) {
  std::memcpy(&ordered, happened.buffer, sizeof ordered);
  std::free(happened.buffer);
  has_order = true;
}

void progress(lci::device_t on) {
  lci::progress_x().device(on)();
}

// Posts until it is not refused. Whether a completion will be signalled.
template <class Post>
bool insist(lci::device_t on, Post&& post) {
  for (;;) {
    const lci::status_t said = post();
    if (!said.is_retry()) return said.is_posted();
    progress(on);
  }
}

// run.py's word for the provider; rings of LCI in shared memory, where it has them, take short messages.
std::string peer_name([[maybe_unused]] lci::device_t device) {
  std::string name = "lci" + bench::setting("BENCH_VARIANT", "");
#if LCI_WITH_SHM
  if (lci::get_rank_n() > 1 && device.get_attr_shm_enable()) name += "+ring";
#endif
  return name;
}

// Completions on this side.
class counter {
 public:
  explicit counter(lci::device_t device) : device_(device), object_(lci::alloc_counter()) {}
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;
  ~counter() { lci::free_comp(&object_); }
  lci::comp_t object() const { return object_; }
  void add(bool posted) { posted_ += posted ? 1 : 0; }
  void wait_until_under_way(std::int64_t limit) const {
    while (posted_ - lci::counter_get(object_) > limit) progress(device_);
  }

 private:
  lci::device_t device_;
  lci::comp_t object_;
  std::int64_t posted_ = 0;
};

// The two processes: the first says what to do next.
class pair {
 public:
  pair() {
    memory_.resize(16 << 20);
    registration_ = lci::register_memory(memory_.data(), memory_.size());
    lci::rmr_t mine = lci::get_rmr(registration_), all[2];
    lci::allgather(&mine, all, sizeof mine);
    theirs_ = all[other()];
  }
  ~pair() {
    lci::barrier();
    lci::wait_drained();
    lci::deregister_memory(&registration_);
  }
  pair(const pair&) = delete;
  pair& operator=(const pair&) = delete;

  lci::device_t device() const { return device_; }
  int other() const { return 1 - lci::get_rank_me(); }
  lci::rcomp_t arrived_handler() const { return arrived_; }
  std::uint64_t arrived() const { return arrivals[0].value.load(std::memory_order_relaxed); }
  void wait_for(std::uint64_t wanted) const {
    while (arrived() < wanted) progress(device_);
  }

  bool post_am(std::size_t size, lci::comp_t sent, lci::rcomp_t handler) {
    return insist(device_, [&] {
      return lci::post_am_x(other(), memory_.data(), size, sent, handler)
          .device(device_)
          .mr(registration_of(size))();
    });
  }
  // An empty am, or a short one, that is gone when posted.
  void notify() { post_am(0, lci::COMP_NULL_RETRY, arrived_); }
  bool post_put(std::size_t size, lci::comp_t ended, bool notifies) {
    return insist(device_, [&] {
      return lci::post_put_x(other(), memory_.data(), size, ended, 0, theirs_)
          .device(device_)
          .mr(registration_of(size))
          .remote_comp(notifies ? arrived_ : 0)();
    });
  }
  bool post_get(std::size_t size, lci::comp_t ended) {
    return insist(device_, [&] {
      return lci::post_get_x(other(), memory_.data(), size, ended, 0, theirs_)
          .device(device_)
          .mr(registration_of(size))();
    });
  }
  bool post_send(std::size_t size, lci::comp_t sent) {
    return insist(device_, [&] {
      return lci::post_send_x(other(), memory_.data(), size, 0, sent)
          .device(device_)
          .mr(registration_of(size))();
    });
  }
  bool post_recv(std::size_t size, lci::comp_t received) {
    return insist(device_, [&] {
      return lci::post_recv_x(other(), memory_.data() + memory_.size() / 2, size, 0, received)
          .device(device_)
          .mr(registration_of(size))();
    });
  }

  // first(n) is timed at the first process while the second runs second(n). `divisor`: of the time.
  template <class First, class Second>
  void row(const std::string& name, double divisor, First&& first, Second&& second) {
    if (!bench::wanted(name)) return;
    if (lci::get_rank_me() != 0) {
      for (long n; (n = next_order()) != 0;) {
        order(n);
        second(n);
      }
      order(0);
      return;
    }
    auto samples = bench::sample([&](long n) {
      order(n);
      next_order();  // The second is ready.
      const double start = bench::clock_ns();
      first(n);
      return bench::clock_ns() - start;
    });
    order(0);
    next_order();
    for (double& each : samples) each /= divisor;
    bench::print_row(name, {peer_name(device_), 2, 1}, "ns", samples);
  }

 private:
  lci::mr_t registration_of(std::size_t size) const {
    return size > copied_max_ ? registration_ : lci::MR_HOST;
  }
  void order(long n) {
    insist(device_, [&] {
      return lci::post_am_x(other(), &n, sizeof n, lci::COMP_NULL_RETRY, orders_).device(device_)();
    });
  }
  long next_order() {
    while (!has_order) progress(device_);
    has_order = false;
    return ordered;
  }

  lci::device_t device_ = lci::get_default_device();
  // Registered in the same order by both, so that they have the same numbers.
  lci::rcomp_t arrived_ = lci::register_rcomp(lci::alloc_handler(count_arrival));
  lci::rcomp_t orders_ = lci::register_rcomp(lci::alloc_handler(take_order));
  std::size_t copied_max_ = lci::get_max_bcopy_size();
  std::vector<char> memory_;
  lci::mr_t registration_;
  lci::rmr_t theirs_;
};

// --- Between two processes ---

// One way of an am that carries `size` bytes, there and back.
void latency(pair& p, std::size_t size) {
  const auto hit = [&](long n, bool serves) {
    counter sent(p.device());
    const std::uint64_t before = p.arrived();
    for (long i = 0; i < n; ++i) {
      if (!serves) p.wait_for(before + static_cast<std::uint64_t>(i) + 1);
      sent.add(p.post_am(size, sent.object(), p.arrived_handler()));
      if (serves) p.wait_for(before + static_cast<std::uint64_t>(i) + 1);
    }
    sent.wait_until_under_way(0);
  };
  p.row(
      "comm/am/" + bench::size_name(size), 2, [&](long n) { hit(n, true); },
      [&](long n) { hit(n, false); });
}

// Of those that wait for a rendezvous 64 are under way at a time: LCI sets no limit.
void rate(pair& p, std::size_t size) {
  p.row(
      "comm/rate/" + bench::size_name(size), 1,
      [&](long n) {
        counter sent(p.device());
        const std::uint64_t before = p.arrived();
        for (long i = 0; i < n; ++i) {
          sent.add(p.post_am(size, sent.object(), p.arrived_handler()));
          sent.wait_until_under_way(64);
        }
        p.wait_for(before + 1);
        sent.wait_until_under_way(0);
      },
      [&](long n) {
        p.wait_for(p.arrived() + static_cast<std::uint64_t>(n));
        p.notify();
      });
}

// Sixteen under way at a time; the last one notifies.
void put_rate(pair& p, std::size_t size) {
  p.row(
      "comm/put/" + bench::size_name(size), 1,
      [&](long n) {
        counter ended(p.device());
        const std::uint64_t before = p.arrived();
        for (long i = 0; i < n; ++i) {
          ended.add(p.post_put(size, ended.object(), i + 1 == n));
          ended.wait_until_under_way(16);
        }
        p.wait_for(before + 1);
        ended.wait_until_under_way(0);
      },
      [&](long) {
        p.wait_for(p.arrived() + 1);
        p.notify();
      });
}

void get_latency(pair& p, std::size_t size) {
  p.row(
      "comm/get/" + bench::size_name(size), 1,
      [&](long n) {
        counter ended(p.device());
        for (long i = 0; i < n; ++i) {
          ended.add(p.post_get(size, ended.object()));
          ended.wait_until_under_way(0);
        }
        p.notify();
      },
      [&](long) { p.wait_for(p.arrived() + 1); });
}

void two_sided(pair& p, std::size_t size) {
  const auto hit = [&](long n, bool serves) {
    counter received(p.device()), sent(p.device());
    const auto receive = [&] {
      received.add(p.post_recv(size, received.object()));
      received.wait_until_under_way(0);
    };
    for (long i = 0; i < n; ++i) {
      if (!serves) receive();
      sent.add(p.post_send(size, sent.object()));
      if (serves) receive();
    }
    sent.wait_until_under_way(0);
  };
  p.row(
      "comm/send_recv/" + bench::size_name(size), 2, [&](long n) { hit(n, true); },
      [&](long n) { hit(n, false); });
}

// One way of an 8-byte am whose arrival is told by different objects. A counter cannot: nobody would
// free what the am carried.
template <class Take>
void completion_kind(pair& p, const std::string& name, lci::comp_t object, Take&& take) {
  const lci::rcomp_t handler = lci::register_rcomp(object);
  const auto wait = [&] {
    lci::status_t happened;
    while (!take(happened)) progress(p.device());
    std::free(happened.buffer);
  };
  const auto hit = [&](long n, bool serves) {
    for (long i = 0; i < n; ++i) {
      if (!serves) wait();
      p.post_am(8, lci::COMP_NULL_RETRY, handler);
      if (serves) wait();
    }
  };
  p.row(
      "comm/completion/" + name, 2, [&](long n) { hit(n, true); }, [&](long n) { hit(n, false); });
  lci::deregister_rcomp(handler);
  lci::free_comp(&object);
}

void between_processes() {
  pair p;
  for (const std::size_t size : {8, 64, 128, 256, 512, 1 << 10, 2 << 10, 3 << 10, 4 << 10, 6 << 10,
                                 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20})
    latency(p, size);
  for (const std::size_t size : {8, 1 << 10, 8 << 10}) rate(p, size);
  for (const std::size_t size : {8, 8 << 10, 64 << 10, 1 << 20}) put_rate(p, size);
  for (const std::size_t size : {8, 64 << 10, 1 << 20}) get_latency(p, size);
  for (const std::size_t size : {8, 8 << 10, 64 << 10, 1 << 20}) two_sided(p, size);
  const lci::comp_t queue = lci::alloc_cq(), synchronizer = lci::alloc_sync();
  completion_kind(p, "queue", queue, [&](lci::status_t& happened) {
    happened = lci::cq_pop(queue);
    return !happened.is_retry();
  });
  completion_kind(p, "synchronizer", synchronizer,
                  [&](lci::status_t& happened) { return lci::sync_test(synchronizer, &happened); });
  p.row(
      "comm/progress/idle", 1,
      [&](long n) {
        for (long i = 0; i < n; ++i) progress(p.device());
        p.notify();
      },
      [&](long) { p.wait_for(p.arrived() + 1); });
}

// --- In one process: each thread sends to itself ---

void to_itself(const std::string& name, lci::rcomp_t handler, int device_count, int threads) {
  if (!bench::wanted(name)) return;
  std::vector<lci::device_t> devices;
  for (int i = 0; i < device_count; ++i) devices.push_back(lci::alloc_device());
  std::uint64_t posted[2] = {};
  // Until n have arrived.
  const auto work = [&](int t, long n, auto&& go_on) {
    const auto thread = static_cast<std::size_t>(t);
    const lci::device_t on = devices[thread % devices.size()];
    const std::atomic<std::uint64_t>& count = arrivals[t].value;
    const std::uint64_t before = count.load();
    std::uint64_t value = 1;
    for (long i = 0; i < n && go_on(); ++i) {
      insist(on, [&] {
        return lci::post_am_x(0, &value, sizeof value, lci::COMP_NULL_RETRY, handler)
            .device(on)
            .tag(thread)();
      });
      ++posted[t];
      if (i % 16 == 15) progress(on);
    }
    while (count.load(std::memory_order_relaxed) < before + static_cast<std::uint64_t>(n) &&
           go_on())
      progress(on);
  };
  // Time per message of all threads.
  auto samples = bench::sample([&](long n) {
    const std::uint64_t before = arrivals[1].value.load();
    // What the second left behind is not the next sample's.
    return bench::one_or_two(threads, n, arrivals[1], work, [&] {
      while (arrivals[1].value.load() < before + posted[1]) progress(devices.back());
      posted[1] = 0;
    });
  });
  bench::print_row(name, {peer_name(devices.front()), 1, threads}, "ns", samples);
  for (lci::device_t& each : devices) {
    lci::wait_drained_x().device(each)();
    lci::free_device(&each);
  }
}

void in_one_process() {
  const lci::rcomp_t handler = lci::register_rcomp(lci::alloc_handler(count_arrival));
  to_itself("comm/self/one_thread", handler, 1, 1);
  to_itself("comm/self/two_threads/device_each", handler, 2, 2);
  to_itself("comm/self/two_threads/one_device", handler, 1, 2);
}

}  // namespace

int main() {
  try {
    lci::g_runtime_init();
    const int rank = lci::get_rank_me();
    bench::raise_priority();  // Both have started: neither starves the other, nor what started it.
    bench::pin(rank);
    if (rank == 0) bench::print_header();
    if (lci::get_rank_n() == 2)
      between_processes();
    else
      in_one_process();
    bench::lower_priority();
    lci::g_runtime_fina();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench-lci-comm: %s\n", error.what());
    std::_Exit(1);  // LCI's own clean-up would wait for the other process.
  }
}
