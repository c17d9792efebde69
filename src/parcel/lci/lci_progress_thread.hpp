// A thread that makes the progress of a parcelport's devices: all of it, or while workers sleep.
#pragma once
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/kernel.hpp"
#include "base/start_thread.hpp"
#include "base/topology.hpp"
#include "parcel/lci/lci_variant.hpp"
#include "sched/scheduler.hpp"
#include "sync/atomics.hpp"
#include "weft/comm/runtime.hpp"

namespace weft::detail {

class lci_progress_thread {
 public:
  lci_progress_thread(comm::runtime& core, scheduler& workers, lci_variant::progress how, int cpu)
      : core_(core), workers_(workers) {
    thread_ = start_thread("the progress of a parcelport", [this, how, cpu] {
      pthread_setname_np(pthread_self(), "weft-parcels");
      if (cpu >= 0) static_cast<void>(pin_this_thread(cpu));
      if (how == lci_variant::progress::own_core)
        look_always();
      else if (how == lci_variant::progress::pinned_thread)
        look_and_sleep();
      else
        look_while_any_sleeps();
    });
  }
  ~lci_progress_thread() {
    ending_.store(1, std::memory_order_relaxed);  // Relaxed: joined below.
    std_atomics::wake(ending_);
    thread_.join();
  }
  lci_progress_thread(const lci_progress_thread&) = delete;
  lci_progress_thread& operator=(const lci_progress_thread&) = delete;

 private:
  // A pinned thread looks so long for more before it sleeps.
  static constexpr std::uint64_t look_ns = 200'000;
  // How long it sleeps: at first, and at most while nothing comes.
  static constexpr std::int64_t nap_ns_min = 20'000;
  static constexpr std::int64_t nap_ns_max = 500'000;

  [[nodiscard]] bool is_ending() const noexcept {
    return ending_.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] bool progress() noexcept {
    int happened = 0;
    for (int i = 0; i < core_.device_count(); ++i) happened += core_.device(i).progress();
    return happened != 0;
  }
  void nap(bool came) noexcept {
    nap_ns_ = came ? nap_ns_min : std::min(2 * nap_ns_, nap_ns_max);
    std_atomics::wait(ending_, 0, nap_ns_);
  }
  void look_always() noexcept {
    while (!is_ending()) static_cast<void>(progress());
  }
  void look_and_sleep() noexcept {
    bool has_napped = true;
    for (std::uint64_t last_ns = 0; !is_ending();) {
      if (progress()) {
        last_ns = now_ns();
        has_napped = false;
      } else if (now_ns() - last_ns < look_ns) {
        give_core_up();  // The worker of this core gets it.
      } else {
        nap(!std::exchange(has_napped, true));
      }
    }
  }
  // One that computes makes no progress: for those that sleep it is made here.
  void look_while_any_sleeps() noexcept {
    while (!is_ending()) {
      bool any_sleeps = false;
      for (int i = 0; i < workers_.worker_count(); ++i)
        any_sleeps = any_sleeps || workers_.at(i).is_parked();
      nap(any_sleeps && progress());
    }
  }

  comm::runtime& core_;
  scheduler& workers_;
  std::int64_t nap_ns_ = nap_ns_min;
  std::atomic<std::uint32_t> ending_{0};
  std::thread thread_;
};

}  // namespace weft::detail
