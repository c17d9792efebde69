// Put and get: to oneself by a copy, else by the transport where it can, else by messages to the
// peer's progress.
#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "comm/device.hpp"
#include "comm/far_memory.hpp"
#include "comm/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::comm {

// A remote_memory has room for the keys of this many transports.
constexpr std::size_t known_channels = 2;
static_assert(sizeof(remote_key) <= 3 * sizeof(std::uint64_t));

// --- The owner of the memory ---

remote_memory local_device::expose(std::span<std::byte> memory, peer_access peers, int process) {
  if (memory.data() == nullptr || memory.empty())
    throw error("memory of no bytes cannot be registered; give a buffer of at least one");
  const device_guard guard(lock_.get());
  std::size_t index = 0;
  while (index < exposures_.size() && exposures_[index].begin != nullptr) ++index;
  if (index == exposures_.size()) exposures_.emplace_back();
  exposure& made = exposures_[index];
  made.regions.assign(channels_.size(), {});
  const bool far = is_far(accelerator_, memory.data());
  remote_memory known;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const std::size_t key = channels_[i]->index;
    if (process >= 0 ? !leads_to(*channels_[i], process) : channels_[i]->is_joined) continue;
    // Also when this process can reach nobody's memory: others may be able to reach this one's.
    if (!far)
      made.regions[i] = channels_[i]->to->register_memory(memory, peers);
    else if (!expose_far(*channels_[i]->to, memory, peers, made.regions[i]))
      known.by_messages |= static_cast<std::uint8_t>(1u << key);
    if (key < known_channels)
      std::memcpy(&known.keys[3 * key], &made.regions[i].key, sizeof(remote_key));
  }
  made.begin = memory.data();
  made.size = memory.size();
  made.peers = peers;
  made.process = process;
  known.size = memory.size();
  known.peers = peers;
  known.region = std::uint64_t{++made.generation} << 32 | (index + 1);
  known.process = shared_.process;
  known.device = static_cast<std::int16_t>(this->index());
  return known;
}

bool local_device::leads_to(const channel& by, int process) const noexcept {
  return std::ranges::any_of(peers_, [&](const peer_state& each) {
    return each.who.process == process && each.route == &by;
  });
}

// False: the transport cannot, and the data go as messages.
bool local_device::expose_far(transport& to, std::span<std::byte> memory, peer_access peers,
                              memory_region& made) noexcept {
  if (!to.traits().registers_accelerators) return false;
  try {
    made = to.register_memory_of(*accelerator_, memory, peers);
    return true;
  } catch (const error& why) {
    log_line("memory of an accelerator is not registered, it is reached by messages instead: {}",
             why.what());
    return false;
  }
}

void local_device::end_exposure(const remote_memory& exposed) noexcept {
  const device_guard guard(lock_.get());
  exposure& ended = exposures_[(exposed.region & 0xffffffffu) - 1];
  // Answers to gets that are still being sent from this memory. All of one may have been sent, and come, before the transport
  // has told of it here.
  operations_.each([&](operation& each) {
    if (each.why == purpose::reply && each.offset == exposed.region && each.moved != each.size)
      each.result = outcome::canceled;
  });
  for (std::size_t i = 0; i < ended.regions.size(); ++i)
    if (ended.regions[i].handle != nullptr || ended.regions[i].begin != nullptr)
      channels_[i]->to->deregister(ended.regions[i]);
  ended.begin = nullptr;
}

std::byte* local_device::memory_at(std::uint64_t region, std::uint64_t offset, std::uint64_t size,
                                   peer_access wanted, int process) noexcept {
  const std::uint64_t index = (region & 0xffffffffu) - 1;
  if (index >= exposures_.size()) return nullptr;
  const exposure& found = exposures_[index];
  if (found.begin == nullptr || found.generation != region >> 32 || offset > found.size ||
      size > found.size - offset || !allows(found.peers, wanted) ||
      (found.process >= 0 && found.process != process))
    return nullptr;
  return found.begin + offset;
}

// --- The one who posts ---

namespace {

// What a put and a get tell their operation alike.
template <class Transfer>
void describe(operation& what, operation_kind kind, const Transfer& wanted,
              const remote_memory& memory, std::size_t channel) noexcept {
  what.kind = kind;
  what.size = wanted.data.size();
  what.offset = wanted.offset;
  what.handler = wanted.notify.index;
  what.tag = wanted.tag;
  what.user = wanted.user;
  what.context = wanted.context;
  what.partner = memory.region;
  what.by_messages = (memory.by_messages >> channel & 1) != 0;
  what.remotes[0] = {memory.size, {}};
  if (channel < known_channels)
    std::memcpy(static_cast<void*>(&what.remotes[0].key), &memory.keys[3 * channel],
                sizeof(remote_key));
  what.remote_count = 1;
}

}  // namespace

bool local_device::is_inside(const remote_memory& memory, std::uint64_t offset,
                             std::uint64_t size) noexcept {
  if (offset <= memory.size && size <= memory.size - offset) [[likely]]
    return true;
  complain("{} bytes at {} are beyond the end of the memory of process {}, which has {}", size,
           offset, memory.process, memory.size);
  return false;
}

bool local_device::is_permitted(const remote_memory& memory, peer_access wanted,
                                const char* what) noexcept {
  if (allows(memory.peers, wanted)) [[likely]]
    return true;
  complain("{} the memory of process {}, which is not registered for that; give peer_access", what,
           memory.process);
  return false;
}

status local_device::start(const put& wanted) noexcept {
  peer_state* const to = usable_peer({wanted.to.process, wanted.to.device});
  const std::uint64_t size = wanted.data.size();
  if (to == nullptr || !is_inside(wanted.to, wanted.offset, size) ||
      !is_permitted(wanted.to, peer_access::write, "a put to")) [[unlikely]]
    return status::failed;
  const transport_traits& traits = to->route->traits;
  operation* const what = take_operation(purpose::put, to->number);
  if (what == nullptr) return status::retry;
  if (!set_locals(*what, wanted.data.parts())) {
    give_back(*what);
    return status::failed;
  }
  what->move = transfer_mode::put_data;
  describe(*what, operation_kind::put, wanted, wanted.to, to->route->index);
  if (size > traits.put_message_bytes_max || to->who.process == shared_.process)
    (void)put_directly(*what);
  return launch(*what, wanted.local);
}

status local_device::start(const get& wanted) noexcept {
  peer_state* const to = usable_peer({wanted.from.process, wanted.from.device});
  const std::uint64_t size = wanted.data.size();
  if (to == nullptr || !is_inside(wanted.from, wanted.offset, size) ||
      !is_permitted(wanted.from, peer_access::read, "a get from")) [[unlikely]]
    return status::failed;
  operation* const what = take_operation(purpose::get, to->number);
  if (what == nullptr) return status::retry;
  if (!set_locals(*what, wanted.data.parts())) {
    give_back(*what);
    return status::failed;
  }
  describe(*what, operation_kind::get, wanted, wanted.from, to->route->index);
  if (size != 0 && get_directly(*what)) return launch(*what, wanted.local);
  what->local = wanted.local;
  const get_body body{what->partner, wanted.offset, size};
  const std::uint8_t flags = allows(wanted.from.peers, peer_access::write) ? 0 : unwritten_flag;
  return request(*to, *what, message_kind::get_request, bytes_of(body),
                 size != 0 ? message_kind::data : message_kind::finished, flags);
}

status local_device::request(peer_state& to, operation& what, message_kind kind,
                             std::span<const std::byte> body, message_kind awaited,
                             std::uint8_t flags) noexcept {
  wire_header header;
  header.kind = static_cast<std::uint8_t>(kind);
  header.flags = flags;
  header.operation = what.id();
  const std::span<const std::byte> parts[1] = {body};
  const status said = transmit(to, header, parts, nullptr);
  if (said != status::done) {
    give_back(what);
    return said;
  }
  what.at = phase::waiting;
  what.awaited = awaited;
  return status::posted;
}

// The first pieces of a put or get. A transport that has no room for any of them refuses it.
status local_device::launch(operation& what, const completion& local) noexcept {
  peer_state& peer = peers_[what.peer];
  status said = status::done;
  if (what.size == 0) {
    // Nothing moves; the notification is all.
    if (what.handler != 0 && !insisting_ && peer.kept != 0) said = status::retry;
    if (what.handler != 0 && said == status::done) notify_peer(what);
    give_back(what);
    return said;
  }
  while (what.moved < what.size) {
    said = move_piece(what);
    // What has no room as a message may need none.
    if (said == status::retry && what.moved == 0 && what.move == transfer_mode::put_data &&
        put_directly(what))
      continue;
    if (said == status::retry || said == status::failed) break;
  }
  if ((said == status::retry || said == status::failed) && what.moved == 0) {
    give_back(what);
    return said;
  }
  if (what.moved == what.size && what.outstanding == 0) [[likely]] {
    if (what.handler != 0 && what.move != transfer_mode::put_data) notify_peer(what);
    give_back(what);
    return status::done;
  }
  what.local = local;
  what.at = phase::moving;
  // Failed halfway: told in progress(), since handlers are not called in a post.
  if (said == status::failed) what.result = outcome::failed;
  if (what.moved != what.size) wait_for_room(what);
  return status::posted;
}

// Whether the bytes of this put or get can be moved without the peer's progress; then they will.
bool local_device::put_directly(operation& what) noexcept {
  if (what.size == 0 || !reaches_memory(what, &transport_traits::can_put)) return false;
  what.move = transfer_mode::put;
  return true;
}
bool local_device::get_directly(operation& what) noexcept {
  if (!reaches_memory(what, &transport_traits::can_get)) return false;
  what.move = transfer_mode::get;
  return true;
}
bool local_device::reaches_memory(operation& what, bool transport_traits::*can) noexcept {
  if (what.peer == self_) return true;
  return peers_[what.peer].route->traits.*can && !what.by_messages && reaches_locals(what);
}

// Between `local` and this device's own memory, which needs no transport.
status local_device::copy_within(const operation& what, std::span<std::byte> local,
                                 std::uint64_t offset) noexcept {
  const bool is_get = what.move == transfer_mode::get;
  std::byte* const there =
      memory_at(what.partner, offset, local.size(), is_get ? peer_access::read : peer_access::write,
                shared_.process);
  if (there == nullptr) return status::failed;
  return copy_bytes(accelerator_, is_get ? local.data() : there, is_get ? there : local.data(),
                    local.size())
             ? status::done
             : status::failed;
}

void local_device::notify_peer(operation& ended) noexcept {
  wire_header header;
  header.kind = static_cast<std::uint8_t>(message_kind::notify);
  header.flags = ended.kind == operation_kind::get ? get_flag : 0;
  header.handler = ended.handler;
  header.user = ended.user;
  header.operation = ended.partner;
  const notification what{ended.tag, ended.offset, ended.size};
  const std::span<const std::byte> parts[1] = {bytes_of(what)};
  tell(peers_[ended.peer], header, parts);
}

// --- The peer's progress ---

bool local_device::tell_of(peer_state& from, const wire_header& header, const notification& what,
                           operation_kind kind) noexcept {
  std::byte* const begin = memory_at(
      header.operation, what.offset, what.size,
      kind == operation_kind::get ? peer_access::read : peer_access::write, from.who.process);
  const completion* const called = handler_of(header.handler);
  if (begin == nullptr || called == nullptr) {
    refuse(from, "it notifies of memory that is not registered, or a handler that is not");
    return true;
  }
  if (!called->reserve()) return false;
  event happened = event_from(from, kind);
  happened.user = header.user;
  happened.tag = what.tag;
  happened.data = begin;
  happened.size = what.size;
  called->signal(happened);
  return true;
}

bool local_device::on_put_data(peer_state& from, const wire_header& header,
                               std::span<const std::byte> payload) noexcept {
  notification last;
  const bool notifies = (header.flags & notify_flag) != 0;
  const bool whole = !notifies || take(payload, last);
  std::byte* const to =
      memory_at(header.operation, header.tag, payload.size(), peer_access::write, from.who.process);
  if (!whole || to == nullptr) {
    refuse(from, "it writes where no memory is registered");
    return true;
  }
  if (!payload.empty() && !copy_bytes(accelerator_, to, payload.data(), payload.size())) {
    refuse(from, "the accelerator does not take what it writes");
    return true;
  }
  return !notifies || tell_of(from, header, last, operation_kind::put);
}

bool local_device::on_notify(peer_state& from, const wire_header& header,
                             std::span<const std::byte> payload) noexcept {
  notification what;
  if (!take(payload, what) || !payload.empty()) {
    refuse(from, "a notification of the wrong length");
    return true;
  }
  return tell_of(from, header, what,
                 (header.flags & get_flag) != 0 ? operation_kind::get : operation_kind::put);
}

void local_device::on_get_request(peer_state& from, const wire_header& header,
                                  std::span<const std::byte> payload) noexcept {
  get_body wanted;
  std::byte* begin = nullptr;
  if (take(payload, wanted) && payload.empty())
    begin =
        memory_at(wanted.region, wanted.offset, wanted.size, peer_access::read, from.who.process);
  operation* what = nullptr;
  if (begin != nullptr && wanted.size != 0) what = take_for_peer(purpose::reply, from.number);
  if (what == nullptr) {
    const bool failed = begin == nullptr || wanted.size != 0;
    if (failed) refuse(from, "it reads where no memory is registered");
    tell_finished(from, header.operation, failed);
    return;
  }
  what->kind = operation_kind::get;
  what->size = wanted.size;
  what->offset = wanted.region;
  what->partner = header.operation;
  what->locals[0] = {begin, static_cast<std::size_t>(wanted.size)};
  what->local_count = 1;
  what->move = transfer_mode::data;
  move_on(*what);
}

}  // namespace weft::comm
