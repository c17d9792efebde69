// Several processes of a job inside one: a bootstrap whose members are threads of this process, and
// communication cores over the simulated network.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "bootstrap/bootstrap.hpp"
#include "comm/wire.hpp"
#include "transport/sim/sim.hpp"
#include "weft/comm.hpp"
#include "weft/error.hpp"

namespace weft::tests {

// What the members of a job share.
class shared_job {
 public:
  explicit shared_job(int processes) : processes_(processes) {
    static std::atomic<int> made{0};
    id_ = "test-" + std::to_string(made.fetch_add(1));
  }
  [[nodiscard]] const std::string& id() const { return id_; }

  [[nodiscard]] int process_count() const { return processes_; }
  void put(int process, std::string_view key, std::string_view value) {
    const std::scoped_lock lock(mutex_);
    values_[{process, std::string(key)}] = value;
  }
  [[nodiscard]] std::string get(int process, std::string_view key) {
    const std::scoped_lock lock(mutex_);
    const auto found = values_.find({process, std::string(key)});
    if (found == values_.end()) throw error("no key " + std::string(key));
    return found->second;
  }
  void fence() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++waiting_ == processes_) {
      waiting_ = 0;
      ++round_;
      turned_.notify_all();
    } else {
      turned_.wait(lock, [&] { return round_ != round; });
    }
  }

 private:
  const int processes_;
  std::string id_;
  std::mutex mutex_;
  std::condition_variable turned_;
  int waiting_ = 0, round_ = 0;
  std::map<std::pair<int, std::string>, std::string> values_;
};

class member final : public bootstrap {
 public:
  // `node_of_process` is empty when all are on one node.
  member(shared_job& job, int process, std::vector<int> node_of_process = {})
      : job_(job), process_(process), node_of_process_(std::move(node_of_process)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "test"; }
  [[nodiscard]] int process() const noexcept override { return process_; }
  [[nodiscard]] int process_count() const noexcept override { return job_.process_count(); }
  [[nodiscard]] const std::string& job_id() const noexcept override { return job_.id(); }
  [[nodiscard]] int node_of(int process) const override {
    return node_of_process_.empty() ? 0 : node_of_process_[static_cast<std::size_t>(process)];
  }
  [[nodiscard]] std::string host_of(int) const override { return "here"; }
  void put(std::string_view key, std::string_view value) override {
    job_.put(process_, key, value);
  }
  [[nodiscard]] std::string get(int process, std::string_view key) override {
    return job_.get(process, key);
  }
  void fence() override { job_.fence(); }
  void on_failure(failure_handler) override {}
  [[noreturn]] void abort(int, const std::string&) override { std::abort(); }
  void finish() noexcept override {}

 private:
  shared_job& job_;
  const int process_;
  const std::vector<int> node_of_process_;
};

// A transport that really moves messages, in place of the simulated network.
struct real_network {
  explicit real_network(std::function<std::unique_ptr<transport>()> made) : make(std::move(made)) {}
  std::function<std::unique_ptr<transport>()> make;
};

// The processes, each with a communication core.
class cluster {
 public:
  explicit cluster(int processes, const comm::runtime_options& how = {},
                   const sim_options& network = {})
      : fabric(network), job(processes), cores(static_cast<std::size_t>(processes)) {
    start(processes, how, [&] { return fabric.make_endpoint(); });
  }
  cluster(int processes, const comm::runtime_options& how, const real_network& network)
      : fabric(sim_options{}), job(processes), cores(static_cast<std::size_t>(processes)) {
    start(processes, how, network.make);
  }

 private:
  template <class Make>
  void start(int processes, const comm::runtime_options& how, const Make& make) {
    // Endpoints are numbered as they are made: in the order of processes, then of devices.
    std::vector<std::vector<std::unique_ptr<transport>>> endpoints(cores.size());
    for (auto& of_process : endpoints)
      for (int i = 0; i < how.devices; ++i) of_process.push_back(make());
    std::vector<std::jthread> starting;
    for (int p = 0; p < processes; ++p) {
      members.push_back(std::make_unique<member>(job, p));
      starting.emplace_back([&, p, with = members.back().get()] {
        const auto index = static_cast<std::size_t>(p);
        cores[index] = std::make_unique<comm::runtime>(*with, how, [&](int device) {
          std::vector<std::unique_ptr<transport>> made;
          made.push_back(std::move(endpoints[index][static_cast<std::size_t>(device)]));
          return made;
        });
      });
    }
  }

 public:
  [[nodiscard]] comm::runtime& operator[](int process) {
    return *cores[static_cast<std::size_t>(process)];
  }
  [[nodiscard]] comm::device& device(int process, int index = 0) {
    return (*this)[process].device(index);
  }
  // One round of progress of all devices.
  int progress() {
    int happened = 0;
    for (auto& each : cores)
      for (int i = 0; each != nullptr && i < each->device_count(); ++i)
        happened += each->device(i).progress();
    return happened;
  }
  // Until `condition`; false after very many rounds.
  template <class Condition>
  bool until(Condition&& condition, long rounds = 1'000'000) {
    for (long i = 0; i < rounds; ++i) {
      if (condition()) return true;
      progress();
    }
    return condition();
  }
  // Posts until it is not refused for want of room.
  template <class Post>
  status insist(Post&& post) {
    for (long i = 0; i < 1'000'000; ++i) {
      const status said = post();
      if (said != status::retry) return said;
      progress();
    }
    return status::retry;
  }

  sim_fabric fabric;
  shared_job job;
  std::vector<std::unique_ptr<member>> members;
  std::vector<std::unique_ptr<comm::runtime>> cores;
};

// What a handler was given.
struct message {
  int process;
  int device;
  std::uint64_t tag;
  std::uint32_t user;
  std::array<std::uint64_t, 2> head;
  std::string text;
};

// A completion object of a user's own type.
struct mailbox {
  void signal(const comm::event& happened) noexcept {
    const auto bytes = happened.bytes();
    messages.push_back({happened.process,
                        happened.device,
                        happened.tag,
                        happened.user,
                        happened.head,
                        {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    results.push_back(happened.result);
  }
  std::vector<message> messages;
  std::vector<comm::outcome> results;
};

// Of a network that copies messages whole.
inline constexpr std::size_t whole_message_bytes = 96 * 1024;

// The sizes below and above every border between protocols, over the networks below.
inline const std::vector<std::size_t> sizes = [] {
  std::vector<std::size_t> all{0, 1, 8, 100000, 1 << 20};
  const std::size_t longest = sim_options{}.message_bytes_max;
  const comm::runtime_options how;
  for (const std::size_t border :
       {sim_options{}.inject_bytes_max, shm_put_message_bytes_max, how.packet_bytes,
        longest - sizeof(comm::notification), longest, twice_copied_bytes_max, how.eager_bytes,
        whole_message_bytes - sizeof(comm::notification), whole_message_bytes})
    for (const std::size_t size : {border - 1, border, border + 1}) all.push_back(size);
  return all;
}();

inline std::string text_of(std::size_t size, int seed = 0) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>('a' + (i * 7 + i / 251 + static_cast<std::size_t>(seed)) % 26);
  return text;
}

// Networks that differ in what they can and how they misbehave.
inline std::vector<sim_options> networks() {
  return {sim_options{.seed = 1}, sim_options{.seed = 2, .queue_capacity = 1},
          sim_options{.seed = 3, .queue_capacity = 3, .refusals_percent = 30},
          sim_options{.seed = 4, .can_get = false},
          sim_options{.seed = 5, .can_put = false, .can_get = false},
          sim_options{.seed = 6, .refusals_percent = 40, .can_put = false, .can_get = false},
          sim_options{.seed = 7, .refusals_percent = 20, .needs_registration = true},
          sim_options{.seed = 8,
                      .queue_capacity = 3,
                      .refusals_percent = 30,
                      .put_message_bytes_max = shm_put_message_bytes_max},
          sim_options{.seed = 10, .refusals_percent = 20, .can_get = false, .can_tell_put = true},
          // Copies messages whole, as shared memory does: sends go by get earlier than ams.
          sim_options{.seed = 9,
                      .message_bytes_max = whole_message_bytes,
                      .inject_bytes_max = whole_message_bytes}};
}

template <class Tried>
std::string name_of(const Tried& tried) {
  const sim_options& o = tried.param;
  return "seed" + std::to_string(o.seed) + (o.can_get ? "" : "_no_get") +
         (o.can_put ? "" : "_no_put") + (o.can_tell_put ? "_told" : "") +
         (o.needs_registration ? "_registered" : "");
}

}  // namespace weft::tests
