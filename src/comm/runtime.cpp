#include <cstring>
#include <map>
#include <new>

#include "base/format.hpp"
#include "base/log.hpp"
#include "comm/endpoints.hpp"
#include "comm/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::comm {

namespace {

// The addresses of a process as one value of the bootstrap: for each device and channel the size,
// then the bytes.
class text_writer {
 public:
  void number(std::uint32_t value) { text_.append(reinterpret_cast<const char*>(&value), 4); }
  void storage(std::span<const std::byte> value) {
    number(static_cast<std::uint32_t>(value.size()));
    text_.append(reinterpret_cast<const char*>(value.data()), value.size());
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class text_reader {
 public:
  text_reader(const std::string& text, int process) : text_(text), process_(process) {}
  std::uint32_t number() {
    std::uint32_t value;
    need(4);
    std::memcpy(&value, text_.data() + at_, 4);
    at_ += 4;
    return value;
  }
  std::vector<std::byte> storage() {
    const std::size_t size = number();
    need(size);
    const auto* const from = reinterpret_cast<const std::byte*>(text_.data() + at_);
    at_ += size;
    return {from, from + size};
  }

 private:
  void need(std::size_t size) const {
    if (text_.size() - at_ < size)
      throw error(
          formatted("process {} sent addresses that end in the middle; do all processes run "
                    "the same version of weft?",
                    process_));
  }
  const std::string& text_;
  const int process_;
  std::size_t at_ = 0;
};

void check(const runtime_options& how) {
  if (how.devices < 1 || how.devices > devices_max)
    throw error(formatted("devices is {}; it must be from 1 to {}", how.devices, devices_max));
  if (how.packet_bytes < packet_bytes_min || how.packet_bytes > packet_bytes_max)
    throw error(formatted("packet_bytes is {}; it must be from {} to {}", how.packet_bytes,
                          packet_bytes_min, packet_bytes_max));
  if (how.packets > packets_max)
    throw error(formatted("packets is {}; it may be {} at most", how.packets, packets_max));
  if (how.registrations > registrations_max)
    throw error(formatted("registrations is {}; it may be {} at most", how.registrations,
                          registrations_max));
  if (how.operations < 1 || how.operations > operations_max)
    throw error(
        formatted("operations is {}; it must be from 1 to {}", how.operations, operations_max));
}

// Two endpoints of one address would get each other's messages. To a transport with a launcher of its
// own, as MPIs have, processes that this launcher did not start are jobs of their own, and each is the
// first process there.
void check_addresses(std::span<const std::vector<std::byte>> addresses,
                     std::span<const address> places, const transport_traits& of) {
  std::map<std::string_view, address> owners;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string_view storage(reinterpret_cast<const char*>(addresses[i].data()),
                                   addresses[i].size());
    if (storage.empty()) continue;
    const auto [known, is_first] = owners.try_emplace(storage, places[i]);
    if (is_first) continue;
    const address &one = known->second, &other = places[i];
    if (of.has_launcher && one.process != other.process)
      throw error(
          formatted("processes {} and {} have the same address over {}: each is a job of its own "
                    "there; start them with the mpirun or mpiexec of that MPI, or use another "
                    "--transport",
                    one.process, other.process, of.name));
    throw error(
        formatted("device {} of process {} and device {} of process {} have the same address over "
                  "{}: what is sent to one would come to the other; use another transport "
                  "(WEFT_TRANSPORT)",
                  one.device, one.process, other.device, other.process, of.name));
  }
}

constexpr std::string_view name_of(protection what) {
  switch (what) {
    case protection::none:
      return "off";
    case protection::authenticate:
      return "authenticate";
    case protection::encrypt:
      return "encrypt";
  }
  return "something else";
}

// Runtimes of a process are numbered as they are made, so that the keys of two do not meet.
std::string key_for(weft::bootstrap& job) {
  static std::mutex guard;
  static std::vector<std::pair<std::string, int>> made;
  const std::scoped_lock lock(guard);
  const std::string who = formatted("{}.{}", job.job_id(), job.process());
  for (auto& [job_id, count] : made)
    if (job_id == who) return formatted("weft.comm.{}", ++count);
  made.emplace_back(who, 0);
  return "weft.comm.0";
}

}  // namespace

void runtime::state::join(weft::bootstrap& with) {
  check(options);
  process = with.process();
  process_count = with.process_count();
  known_processes_.publish(process_count);
  failed = std::vector<published<bool>>(processes_max());
  told = std::vector<std::atomic<bool>>(processes_max());
  reasons.resize(processes_max());
  first_endpoint.reserve(processes_max() + 1);

  text_writer mine;
  for (int i = 0; i < options.devices; ++i) {
    auto endpoints = make_endpoints(i);
    if (endpoints.empty()) throw error(formatted("device {} has no transport", i));
    try {
      devices.push_back(std::make_unique<local_device>(owner, i, std::move(endpoints)));
    } catch (const std::bad_alloc&) {
      throw error(formatted(
          "no memory for device {} of {}, with {} packets of {} bytes and {} "
          "registrations; lower packets, packet_bytes or registrations",
          i, options.devices, options.packets, options.packet_bytes, options.registrations));
    }
  }
  const std::size_t channels = devices.front()->channel_count();
  mine.number(static_cast<std::uint32_t>(options.devices));
  mine.number(static_cast<std::uint32_t>(channels));
  for (std::size_t i = 0; i < channels; ++i)
    mine.number(
        static_cast<std::uint32_t>(devices.front()->channel_transport(i).traits().protects));
  for (auto& each : devices)
    for (std::size_t i = 0; i < channels; ++i) mine.storage(each->channel_transport(i).address());
  const std::string key = key_for(with);
  with.put(key, mine.text());
  with.fence();

  std::vector<std::vector<std::vector<std::byte>>> addresses(channels);
  std::vector<address> places;
  for (int p = 0; p < process_count; ++p) {
    const std::string text = with.get(p, key);
    text_reader theirs(text, p);
    first_endpoint.push_back(static_cast<std::uint32_t>(places.size()));
    const std::uint32_t count = theirs.number();
    if (count < 1 || count > static_cast<std::uint32_t>(devices_max) || theirs.number() != channels)
      throw error(
          formatted("process {} uses other transports than process {}; set WEFT_TRANSPORT "
                    "to the same on all hosts",
                    p, process));
    for (std::size_t i = 0; i < channels; ++i) {
      const protection own = devices.front()->channel_transport(i).traits().protects;
      const std::uint32_t other = theirs.number();
      if (other != static_cast<std::uint32_t>(own))
        throw error(formatted(
            "process {} on host {} has secure {}, and process {} on host {} has secure {}: give all processes of the job "
            "the same --secure (WEFT_SECURE)",
            process, with.host_of(process), name_of(own), p, with.host_of(p),
            name_of(static_cast<protection>(other))));
    }
    for (std::uint32_t d = 0; d < count; ++d) {
      places.push_back({p, static_cast<int>(d)});
      for (std::size_t i = 0; i < channels; ++i) addresses[i].push_back(theirs.storage());
    }
  }
  first_endpoint.push_back(static_cast<std::uint32_t>(places.size()));
  for (std::size_t i = 0; i < channels; ++i)
    check_addresses(addresses[i], places, devices.front()->channel_transport(i).traits());
  for (auto& each : devices)
    each->connect(addresses, places, endpoint_of({process, each->index()}));
  check_ways(with);
  // No message comes before its receiver knows all addresses.
  with.fence();
}

// Both sides find the same: a job of which some cannot speak to others would hang sooner or later.
void runtime::state::check_ways(weft::bootstrap& with) const {
  for (const auto& each : devices) {
    const int lost = each->process_without_way();
    if (lost < 0) continue;
    std::string tried;
    for (std::size_t i = 0; i < each->channel_count(); ++i) {
      const transport_traits& by = each->channel_transport(i).traits();
      tried += formatted("{}{} ({})", i == 0 ? "" : " and ", by.name, by.detail);
    }
    throw error(formatted(
        "process {} on host {} and process {} on host {} do not reach each other by {}: is there a "
        "network between them, and is it up on both? --transport ofi:PROVIDER@INTERFACE "
        "(WEFT_TRANSPORT) chooses another, weft-info lists them",
        process, with.host_of(process), lost, with.host_of(lost), tried));
  }
}

void runtime::state::mark_failed(int which, std::string_view why) noexcept {
  if (which < 0 || which >= known_processes() || which == process) return;
  const auto index = static_cast<std::size_t>(which);
  {
    const std::scoped_lock lock(setting_up);
    if (failed[index].hint()) return;  // The mutex is held.
    reasons[index] = why;
    failed[index].publish(true);
  }
  failures.add(1);
}

std::string runtime::state::why_failed(int which) noexcept {
  const std::scoped_lock lock(setting_up);
  return reasons[static_cast<std::size_t>(which)];
}

void runtime::state::tell_of_failure(int which) noexcept {
  // Relaxed: only who is first matters.
  if (told[static_cast<std::size_t>(which)].exchange(true, std::memory_order_relaxed)) return;
  const std::string why = why_failed(which);
  if (options.on_peer_failure)
    options.on_peer_failure(which, why.c_str());
  else
    log_line(
        "process {} has lost process {}: {}; runtime_options::on_peer_failure can take this word",
        process, which, why);
}

runtime::runtime(weft::bootstrap& job, const runtime_options& how,
                 const endpoint_maker& make_endpoints) {
  state_ = std::make_unique<state>(*this, how);
  state_->make_endpoints =
      make_endpoints ? make_endpoints : default_endpoints(job, state_->options);
  if (!make_endpoints)
    state_->make_endpoints_beyond_host = default_endpoints(job, state_->options, true);
  state_->join(job);
}

runtime::~runtime() {
  // Devices shut down in turns: one has finished only when its peer has received its last message, and that peer is shutting down too.
  for (bool all = false; !all;) {
    all = true;
    for (auto& each : state_->devices) all &= each->shut_down();
  }
  // Devices first: their endpoints may still use memory of what else is here.
  state_->devices.clear();
  if (state_->leave) state_->leave();
}

int runtime::state::add_processes(std::span<const int> devices_of) {
  const std::scoped_lock lock(setting_up);
  const int first = known_processes();
  if (static_cast<std::size_t>(first) + devices_of.size() > processes_max())
    throw error(formatted(
        "process {} has been joined with {} processes of other jobs, and {} more would be beyond the "
        "limit of {}: start fewer, or ranks of one process",
        process, first - process_count, devices_of.size(), processes_of_other_jobs_max));
  for (const int count : devices_of)
    first_endpoint.push_back(first_endpoint.back() + static_cast<std::uint32_t>(count));
  known_processes_.publish(first + static_cast<int>(devices_of.size()));
  return first;
}

int runtime::process() const noexcept {
  return state_->process;
}
int runtime::process_count() const noexcept {
  return state_->process_count;
}
int runtime::device_count() const noexcept {
  return state_->options.devices;
}
int runtime::device_count(int process) const noexcept {
  const auto index = static_cast<std::size_t>(process);
  if (index >= static_cast<std::size_t>(state_->known_processes())) return 0;
  return static_cast<int>(state_->first_endpoint[index + 1] - state_->first_endpoint[index]);
}
comm::device& runtime::device(int index) const {
  if (static_cast<std::size_t>(index) >= state_->devices.size()) [[unlikely]]
    throw error(formatted("device {} of this process: it has {}; give runtime_options::devices",
                          index, state_->devices.size()));
  return *state_->devices[static_cast<std::size_t>(index)];
}
const runtime_options& runtime::options() const noexcept {
  return state_->options;
}

handler_id runtime::register_handler(const completion& called, bool also_pumped) {
  const std::scoped_lock lock(state_->setting_up);
  const std::uint32_t index = state_->handler_count.hint();
  if (index >= handlers_max)
    throw error(
        formatted("there are {} handlers already, which is the limit; register one and tell "
                  "its uses apart by the message",
                  handlers_max));
  state_->handlers[index] = called;
  state_->is_pumped[index] = state_->is_gathered[index] = also_pumped;
  state_->handler_count.publish(index + 1);
  return {static_cast<std::uint16_t>(index)};
}

void runtime::mark_failed(int process, std::string_view why) noexcept {
  state_->mark_failed(process, why);
}

void runtime::forget_memory() noexcept {
  state_->forgotten.add(1);
}

matching_engine::matching_engine(runtime& of) {
  auto& state = of.internals();
  const std::scoped_lock lock(state.setting_up);
  const std::uint32_t index = state.engine_count.hint();
  if (index >= engines_max)
    throw error(
        formatted("there are {} matching engines already, which is the limit; use tags to "
                  "tell messages apart",
                  engines_max));
  state.engines[index] = std::make_unique<match_table>(true);
  state.engine_count.publish(index + 1);
  index_ = static_cast<std::uint16_t>(index);
}

}  // namespace weft::comm
