// A job of several processes within this one: each is a thread that runs its own part, joined to the
// others by the sim transport. TEST_PROCESSES says how many, TEST_PER_NODE how many of them are on one
// node, TEST_SEED how the network misbehaves. With TEST_STARTED weftrun has started so many processes of the test program, all
// of which run the same tests, and each is a part of every job.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "cluster.hpp"
#include "rank/start.hpp"
#include "remote/port.hpp"
#include "weft/weft.hpp"

namespace weft::tests {

inline int number_of_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::atoi(text) : otherwise;
}

inline bool is_started() {
  return number_of_environment("TEST_STARTED", 0) != 0;
}

// A schedule is of one process by its nature, and so is one rank. Of those that have been started all take
// part, some without ranks where there are fewer; others are made as needed.
inline int processes_of(const options& how) {
  if (how.processes != 0) return how.processes;
  const int wanted = number_of_environment("TEST_PROCESSES", 1);
  if (how.schedule || how.ranks <= 1 || how.ranks > 100'000) return 1;
  return is_started() ? wanted : std::min(how.ranks, wanted);
}

// The workers of each process of such a job.
inline int workers_of_process(const options& how) {
  const int processes = processes_of(how);
  return (how.workers + processes - 1) / processes;
}

// Every rank looks first whether messages of its worker go to all other processes by the transport of this
// name, or, when that is auto, by shared memory within its node and by libfabric to others.
inline std::function<void(communicator&)> over(const std::string& transport,
                                               const std::function<void(communicator&)>& body) {
  return [&body, name = transport.substr(0, transport.find(':'))](communicator& world) {
    const remote::port mine = remote::port::of(*worker::current());
    const network& all = mine.owner();
    for (int other = 0; other < all.process_count(); ++other) {
      if (other == all.process()) continue;
      const bool near = all.job().node_of(other) == all.job().node_of(all.process());
      EXPECT_EQ(mine.transport_to({other, 0}), name != "auto" ? name
                                               : near         ? "shm"
                                                              : "ofi")
          << "to process " << other;
    }
    body(world);
  };
}

// The part of this process in the job that it was started for, over WEFT_TRANSPORT: run() takes its
// options as they are, and does not look at the environment.
inline int run_in_started(int processes, options how,
                          const std::function<void(communicator&)>& body) {
  how.processes = 0;  // As many as have been started, also of fewer ranks.
  if (const char* const named = std::getenv("WEFT_TRANSPORT")) how.transport = named;
  if (how.workers != 0) how.workers = (how.workers + processes - 1) / processes;
  return run(how, over(how.transport, body));
}

// Counters that all ranks of a job share, in whatever processes they are; zero at first. Made before
// the job by every process.
class common_counters {
 public:
  common_counters(const options& how, std::size_t count)
      : bytes_(count * sizeof(std::atomic<int>)) {
    static int made = 0;
    int file = -1;
    if (is_started() && processes_of(how) > 1) {
      name_ = "/dev/shm/weft-test-" + std::to_string(::getppid()) + "-" + std::to_string(++made);
      file = ::open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes_)) != 0) std::abort();
    }
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    if (file >= 0) ::close(file);
    if (memory == MAP_FAILED) std::abort();
    all_ = static_cast<std::atomic<int>*>(memory);
  }
  ~common_counters() {
    ::munmap(all_, bytes_);
    if (!name_.empty()) ::unlink(name_.c_str());  // The first does it: all have opened it.
  }
  common_counters(const common_counters&) = delete;
  common_counters& operator=(const common_counters&) = delete;
  [[nodiscard]] std::atomic<int>& operator[](std::size_t i) const { return all_[i]; }

 private:
  std::size_t bytes_;
  std::string name_;
  std::atomic<int>* all_ = nullptr;
};

// The texts of all started processes, one after the other, and the greatest status: so that each can
// look at what only one of them prints.
inline void share(int processes, int& status, std::string& text) {
  options how;
  how.ranks = processes;
  how.workers = processes;
  how.pin = false;
  how.timeout_s = 100;
  (void)run_in_started(processes, how, [&](communicator& world) {
    const std::vector<char> all = world.allgatherv(std::vector<char>(text.begin(), text.end()));
    text.assign(all.begin(), all.end());
    status = world.allreduce(status, max{});
  });
}

// Kept until the end: a job is known by its address, and no two may have the same.
inline shared_job& new_job(int processes) {
  static std::mutex guard;
  static std::vector<std::unique_ptr<shared_job>> all;
  const std::scoped_lock lock(guard);
  return *all.emplace_back(std::make_unique<shared_job>(processes));
}

// Another one in each call.
inline sim_options misbehaving_network() {
  sim_options network;
  static std::atomic<std::uint64_t> runs{0};
  network.seed =
      static_cast<std::uint64_t>(number_of_environment("TEST_SEED", 1)) * 1000 + runs.fetch_add(1);
  network.refusals_percent = 5;
  return network;
}

struct ended_job {
  int status = 0;  // The first that is not 0.
  std::uint64_t bytes_between_nodes = 0;
};

// Of as many processes as nodes are listed. Workers are those of all together, at least one in each.
inline ended_job run_on_nodes(const std::vector<int>& node_of_process, options how,
                              const std::function<void(communicator&)>& body,
                              const sim_options& network = misbehaving_network()) {
  const auto processes = static_cast<int>(node_of_process.size());
  sim_fabric fabric(network);
  std::mutex making;
  std::vector<int> node_of_endpoint;
  how.processes = 0;
  if (how.workers != 0) how.workers = (how.workers + processes - 1) / processes;
  shared_job& job = new_job(processes);
  const auto checked = processes > 1 ? over("sim", body) : body;
  std::vector<int> statuses(node_of_process.size(), -1);
  std::vector<std::thread> threads;
  for (int p = 0; p < processes; ++p)
    threads.emplace_back([&, p] {
      member self(job, p, node_of_process);
      detail::launch_context others;
      others.job = &self;
      others.make_endpoints = [&](int) {
        const std::scoped_lock lock(making);
        node_of_endpoint.push_back(self.node_of(p));
        std::vector<std::unique_ptr<transport>> made;
        made.push_back(fabric.make_endpoint());
        return made;
      };
      try {
        statuses[static_cast<std::size_t>(p)] = detail::run_ranks_of_job(how, checked, others);
      } catch (const error& e) {
        if (*e.what() != '\0') log_text(e.what());
        statuses[static_cast<std::size_t>(p)] = 2;
      }
    });
  for (std::thread& t : threads) t.join();
  ended_job ended;
  for (const int status : statuses)
    if (ended.status == 0) ended.status = status;
  for (std::uint32_t from = 0; from < node_of_endpoint.size(); ++from)
    for (std::uint32_t to = 0; to < node_of_endpoint.size(); ++to)
      if (node_of_endpoint[from] != node_of_endpoint[to])
        ended.bytes_between_nodes += fabric.bytes_moved(from, to);
  return ended;
}

inline int run_in_processes(int processes, const options& how,
                            const std::function<void(communicator&)>& body,
                            const sim_options& network = misbehaving_network()) {
  std::vector<int> node_of_process(static_cast<std::size_t>(processes));
  if (const int per_node = number_of_environment("TEST_PER_NODE", 0); per_node != 0)
    for (int p = 0; p < processes; ++p) node_of_process[static_cast<std::size_t>(p)] = p / per_node;
  return run_on_nodes(node_of_process, how, body, network).status;
}

}  // namespace weft::tests
