// The entry of all posts: the completion is reserved, the lock taken, and what is permitted looked
// at; the protocols follow in am.cpp, two_sided.cpp, one_sided.cpp and atomics.cpp.
#include "comm/device.hpp"
#include "comm/runtime_state.hpp"

namespace weft::comm {

namespace {

// What a call that may not return `posted` waits for.
struct waiter {
  event happened;
  bool is_over = false;
  static constexpr bool keeps_data = true;
  void signal(const event& what) noexcept {
    happened = what;
    is_over = true;
  }
};

template <class Operation>
event event_of(const Operation& wanted) noexcept {
  event happened;
  happened.context = wanted.context;
  if constexpr (requires { wanted.to.device; }) {
    happened.process = wanted.to.process;
    happened.device = static_cast<std::uint16_t>(wanted.to.device);
  } else if constexpr (requires { wanted.from.device; }) {
    happened.process = wanted.from.process;
    happened.device = static_cast<std::uint16_t>(wanted.from.device);
  }
  if constexpr (requires { wanted.tag; }) happened.tag = wanted.tag;
  if constexpr (requires { wanted.user; }) happened.user = wanted.user;
  if constexpr (requires { wanted.data; }) happened.size = wanted.data.size();
  if constexpr (std::is_same_v<Operation, am>) happened.kind = operation_kind::am;
  if constexpr (std::is_same_v<Operation, send>) happened.kind = operation_kind::send;
  if constexpr (std::is_same_v<Operation, put>) happened.kind = operation_kind::put;
  if constexpr (std::is_same_v<Operation, get>) happened.kind = operation_kind::get;
  return happened;
}

}  // namespace

template <class Operation>
status local_device::post_once(const Operation& wanted, bool insist) noexcept {
  const device_guard guard(lock_.get());
  if (wanted.local && !wanted.local.reserve()) [[unlikely]] {
    ++statistics_.retries;
    return status::retry;
  }
  insisting_ = insist;
  const status said = start(wanted);
  insisting_ = false;
  if (said == status::posted) return said;
  if (said == status::retry) ++statistics_.retries;
  if (!wanted.local) return said;
  if (said == status::done && !wanted.allow.done) {
    if constexpr (std::is_same_v<Operation, recv>)
      wanted.local.signal(*wanted.result);
    else
      wanted.local.signal(event_of(wanted));
    return status::posted;
  }
  wanted.local.cancel();
  return said;
}

// The caller forbade retry or posted.
template <class Operation>
[[gnu::noinline]] status local_device::post_insisting(Operation wanted) noexcept {
  const bool keep_it = !wanted.allow.retry, wait_for_it = !wanted.allow.posted;
  waiter end;
  if (wait_for_it) {
    // A handler cannot wait; what is not done at once fails.
    wanted.local = in_handler() ? completion() : completion(end);
    wanted.allow.done = true;
    if constexpr (std::is_same_v<Operation, recv>)
      if (wanted.result == nullptr) wanted.result = &end.happened;
  }
  status said = status::failed;
  if constexpr (std::is_same_v<Operation, am> || std::is_same_v<Operation, send>) {
    constexpr bool is_send = std::is_same_v<Operation, comm::send>;
    const std::size_t most = is_send ? eager_send_bytes_max(wanted.to) : eager_bytes_max(wanted.to);
    if (wait_for_it && in_handler() && wanted.data.size() > most) return said;
  } else {
    if (wait_for_it && in_handler()) return said;
  }
  for (;;) {
    said = post_once(wanted, false);
    if (said != status::retry || !keep_it) break;
    // A completion object that is full is emptied by its user, not by progress.
    if (wanted.local && !wanted.local.reserve()) break;
    if (wanted.local) wanted.local.cancel();
    if (!in_handler()) {
      make_progress();
      if (backlog_count_ >= backlog_messages_max) continue;
    }
    said = post_once(wanted, true);
    if (said != status::retry || in_handler()) break;
  }
  if (said != status::posted || !wait_for_it || !wanted.local) return said;
  back_off patience;  // Another process may need this core to go on.
  while (!end.is_over)
    if (make_progress() == 0) patience.wait();
  if constexpr (std::is_same_v<Operation, recv>) *wanted.result = end.happened;
  return end.happened.result == outcome::complete ? status::done : status::failed;
}

template <class Operation>
static status post_any(device& on, const Operation& wanted) noexcept {
  auto& here = static_cast<local_device&>(on);
  if (wanted.allow.retry && wanted.allow.posted) [[likely]] {
    if constexpr (std::is_same_v<Operation, recv>) {
      if (!wanted.allow.done && wanted.result == nullptr) [[unlikely]] {
        event happened;
        recv with_result = wanted;
        with_result.result = &happened;
        return here.post_once(with_result, false);
      }
    }
    return here.post_once(wanted, false);
  }
  return here.post_insisting(wanted);
}

status post(device& on, const am& operation) noexcept {
  return post_any(on, operation);
}
status post(device& on, const send& operation) noexcept {
  return post_any(on, operation);
}
status post(device& on, const recv& operation) noexcept {
  return post_any(on, operation);
}
status post(device& on, const put& operation) noexcept {
  return post_any(on, operation);
}
status post(device& on, const get& operation) noexcept {
  return post_any(on, operation);
}
status post(device& on, const atomic& operation) noexcept {
  return post_any(on, operation);
}

// --- The members of device ---

static local_device& local(device& of) noexcept {
  return static_cast<local_device&>(of);
}
static const local_device& local(const device& of) noexcept {
  return static_cast<const local_device&>(of);
}

int device::progress() noexcept {
  return local(*this).make_progress();
}
int device::pump() noexcept {
  return local(*this).pump_transports();
}
std::size_t device::eager_bytes_max(int process, int which) const noexcept {
  return local(*this).eager_bytes_max(address{process, which});
}
std::string_view device::transport_to(int process, int which) const noexcept {
  return local(*this).transport_name(address{process, which});
}
bool device::is_alive(int process) const noexcept {
  return process >= 0 && process < owner_.internals().known_processes() &&
         !local(*this).has_lost(process);
}
bool device::arm() noexcept {
  const device_guard guard(local(*this).lock());
  return local(*this).try_arm();
}
void device::disarm() noexcept {
  const device_guard guard(local(*this).lock());
  local(*this).disarm_all();
}
std::span<const doorbell> device::doorbells() noexcept {
  return local(*this).ring_list();
}
std::int64_t device::sleep_ns_max() const noexcept {
  return local(*this).sleep_limit_ns();
}
void device::refuse(const event& happened, const char* why) noexcept {
  local(*this).refuse(happened, why);
}
device_statistics device::statistics() const noexcept {
  return local(*this).statistics_now();
}

packet device::take_packet() noexcept {
  const device_guard guard(local(*this).lock());
  packet taken;
  taken.place_ = local(*this).take_packet_place();
  return taken;
}

// --- Packets and registrations ---

packet::packet(packet&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}
packet& packet::operator=(packet&& other) noexcept {
  if (this != &other) {
    if (place_ != nullptr) packet_pool::give_back_remote(static_cast<place*>(place_));
    place_ = std::exchange(other.place_, nullptr);
  }
  return *this;
}
packet::~packet() {
  if (place_ != nullptr) packet_pool::give_back_remote(static_cast<place*>(place_));
}
std::span<std::byte> packet::bytes() const noexcept {
  const auto* const at = static_cast<const place*>(place_);
  return at == nullptr ? std::span<std::byte>() : std::span(at->storage, at->capacity);
}

void release(const event& happened) noexcept {
  if (happened.packet != nullptr)
    packet_pool::give_back_remote(static_cast<place*>(happened.packet));
}

registered_memory::registered_memory(device& on, std::span<std::byte> memory, peer_access peers,
                                     int process)
    : device_(&on), remote_(local(on).expose(memory, peers, process)) {}
registered_memory::registered_memory(registered_memory&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)), remote_(other.remote_) {}
registered_memory& registered_memory::operator=(registered_memory&& other) noexcept {
  if (this != &other) {
    if (device_ != nullptr) local(*device_).end_exposure(remote_);
    device_ = std::exchange(other.device_, nullptr);
    remote_ = other.remote_;
  }
  return *this;
}
registered_memory::~registered_memory() {
  if (device_ != nullptr) local(*device_).end_exposure(remote_);
}

}  // namespace weft::comm
