// What the devices of a runtime share. Any thread reads it.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "bootstrap/bootstrap.hpp"
#include "comm/device.hpp"
#include "sync/published.hpp"
#include "weft/comm/runtime.hpp"

namespace weft::comm {

// How many processes of other jobs may get numbers while a runtime lives.
inline constexpr std::size_t processes_of_other_jobs_max = 1024;
inline constexpr std::uint32_t no_endpoint = ~std::uint32_t{0};

// A thread that sees a count of handlers or engines sees the entries; one that sees the count of failures sees who
// failed; one that sees the count of forget_memory() uses no registration from before it.
class runtime::state {
 public:
  state(runtime& of, const runtime_options& how) : options(how), owner(of) {}

  void join(weft::bootstrap& with);  // With the endpoints of make_endpoints.
  // Processes of other jobs, with so many devices each, get the next numbers; returns the first. Devices reach them
  // after local_device::join().
  [[nodiscard]] int add_processes(std::span<const int> devices_of);
  // How many processes have numbers: those of the job, then those of others.
  [[nodiscard]] int known_processes() const noexcept { return known_processes_.value(); }
  [[nodiscard]] std::size_t processes_max() const noexcept {
    return static_cast<std::size_t>(process_count) + processes_of_other_jobs_max;
  }
  // Throws weft::error when some process is not reached from here.
  void check_ways(weft::bootstrap& with) const;

  [[nodiscard]] std::uint32_t endpoint_of(const address& who) const noexcept {
    const auto process_index = static_cast<std::size_t>(who.process);
    // A hint: whoever names a process was told of it.
    if (process_index >= static_cast<std::size_t>(known_processes_.hint()) || who.device < 0 ||
        static_cast<std::uint32_t>(who.device) >=
            first_endpoint[process_index + 1] - first_endpoint[process_index]) [[unlikely]]
      return no_endpoint;
    return first_endpoint[process_index] + static_cast<std::uint32_t>(who.device);
  }
  // Null when there is no such engine.
  [[nodiscard]] match_table* engine(std::uint16_t index) const noexcept {
    return index < engine_count.value() ? engines[index].get() : nullptr;
  }

  [[nodiscard]] bool has_failed(int which) const noexcept {
    return failed[static_cast<std::size_t>(which)].value();
  }
  void mark_failed(int which, std::string_view why) noexcept;
  [[nodiscard]] std::string why_failed(int which) noexcept;
  // Calls the user's function, the first time.
  void tell_of_failure(int which) noexcept;

  const runtime_options options;
  runtime& owner;
  std::function<void()> leave;  // Leaves the job, if the runtime has joined one by itself.
  int process = 0;
  int process_count = 1;
  // By process, and one past the last endpoint. Never moves, so that devices read it while it grows.
  std::vector<std::uint32_t> first_endpoint;
  endpoint_maker make_endpoints;
  // For meetings with jobs that may be on other hosts; empty: as make_endpoints.
  endpoint_maker make_endpoints_beyond_host;

  std::array<completion, handlers_max> handlers;
  std::array<bool, handlers_max> is_pumped{};  // By handler: pump() calls it, too.
  // By handler: a shared device gathers small messages for it. Those that pump() calls, and others by let_gather().
  std::array<bool, handlers_max> is_gathered{};
  published<std::uint32_t> handler_count{1};
  std::array<std::unique_ptr<match_table>, engines_max> engines;
  published<std::uint32_t> engine_count{1};

  published<std::uint64_t> failures;
  published<std::uint64_t> forgotten;  // Calls of forget_memory().
  std::vector<published<bool>> failed;
  std::vector<std::atomic<bool>> told;
  std::vector<std::string> reasons;
  std::mutex setting_up;  // Registrations of handlers and engines, and reasons.

  std::vector<std::unique_ptr<local_device>> devices;

 private:
  published<int> known_processes_{1};
};

}  // namespace weft::comm
