// A job of several processes within this one: each is a thread that runs its own part, joined to the
// others by the sim transport. WEFT_TEST_PROCESSES says how many, WEFT_TEST_SEED how the network
// misbehaves.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "cluster.hpp"
#include "rank/start.hpp"
#include "weft/weft.hpp"

namespace weft::tests {

inline int number_of_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::atoi(text) : otherwise;
}

// A schedule is of one process by its nature; a job has no more processes than ranks.
inline int processes_of(const options& how) {
  if (how.processes != 0) return how.processes;
  const int wanted = number_of_environment("WEFT_TEST_PROCESSES", 1);
  return how.schedule || how.ranks <= 0 || how.ranks > 100'000 ? 1 : std::min(wanted, how.ranks);
}

// Kept until the end: a job is known by its address, and no two may have the same.
inline shared_job& new_job(int processes) {
  static std::mutex guard;
  static std::vector<std::unique_ptr<shared_job>> all;
  const std::scoped_lock lock(guard);
  return *all.emplace_back(std::make_unique<shared_job>(processes));
}

// Workers are those of all processes together, at least one in each. The first status that is not 0.
inline int run_in_processes(int processes, options how,
                            const std::function<void(communicator&)>& body) {
  sim_options network;
  static std::atomic<std::uint64_t> runs{0};
  network.seed = static_cast<std::uint64_t>(number_of_environment("WEFT_TEST_SEED", 1)) * 1000 +
                 runs.fetch_add(1);
  network.refusals_percent = 5;
  sim_fabric fabric(network);
  how.processes = 0;
  if (how.workers != 0) how.workers = (how.workers + processes - 1) / processes;
  shared_job& job = new_job(processes);
  std::vector<int> statuses(static_cast<std::size_t>(processes), -1);
  std::vector<std::thread> threads;
  for (int p = 0; p < processes; ++p)
    threads.emplace_back([&, p] {
      member self(job, p);
      detail::company others;
      others.job = &self;
      others.make_endpoints = [&](int) {
        std::vector<std::unique_ptr<transport>> made;
        made.push_back(fabric.make_endpoint());
        return made;
      };
      try {
        statuses[static_cast<std::size_t>(p)] = detail::run_job(how, body, others);
      } catch (const error& e) {
        if (*e.what() != '\0') log_text(e.what());
        statuses[static_cast<std::size_t>(p)] = 2;
      }
    });
  for (std::thread& t : threads) t.join();
  const auto bad = std::find_if(statuses.begin(), statuses.end(), [](int s) { return s != 0; });
  return bad == statuses.end() ? 0 : *bad;
}

}  // namespace weft::tests
