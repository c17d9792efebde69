// A scheduler of no ranks: one body on each worker, of tests that look at what workers do.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"

namespace weft::tests {

// True when it came about within ten seconds. The thread sleeps between looks.
template <class Condition>
bool comes_about(const Condition& condition) {
  for (const std::uint64_t end = now_ns() + 10'000'000'000; !condition();) {
    if (now_ns() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

// Runs bodies[i] on worker i, and returns when all have ended. Workers are of one node and bound to no
// core, where `how` does not say otherwise.
inline void run_on_workers(const std::vector<std::function<void(worker&)>>& bodies,
                           scheduler_options how = {}) {
  how.cores.resize(bodies.size(), -1);
  how.nodes.resize(bodies.size(), 0);
  scheduler workers(how);
  struct part {
    fiber f;
    worker* here;
    const std::function<void(worker&)>* body;
  };
  std::vector<part> parts(bodies.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    part& p = parts[i];
    p.here = &workers.at(static_cast<int>(i));
    p.body = &bodies[i];
    p.f.argument = &p;
    p.f.body = [](void* argument) {
      auto& mine = *static_cast<part*>(argument);
      (*mine.body)(*mine.here);
    };
    p.here->spawn(p.f);
  }
  workers.run();
}

}  // namespace weft::tests
