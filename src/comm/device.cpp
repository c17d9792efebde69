#include "comm/device.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "comm/far_memory.hpp"
#include "comm/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::comm {

static constexpr std::int64_t joined_sleep_ns_max = 1'000'000;

// --- Set-up ---

local_device::local_device(runtime& owner, int index,
                           std::vector<std::unique_ptr<transport>> transports)
    : device(owner, index),
      shared_(owner.internals()),
      lock_(shared_.options.shared_devices ? std::make_unique<spin_lock>() : nullptr),
      packets_(*this, shared_.options.packets, shared_.options.packet_bytes),
      operations_(this),
      registrations_(shared_.options.registrations, shared_.options.keep_registrations),
      accelerator_(shared_.options.accelerator),
      engine_(false) {
  for (auto& each : transports) {
    auto& made = channels_.emplace_back(std::make_unique<channel>(*this, std::move(each)));
    made->index = static_cast<std::uint8_t>(channels_.size() - 1);
  }
  doorbells_.resize(channels_.size());
}

local_device::~local_device() {
  registrations_.clear();
  for (auto& each : exposures_)
    for (std::size_t i = 0; each.begin != nullptr && i < each.regions.size(); ++i)
      channels_[i]->to->deregister(each.regions[i]);
  channels_.clear();  // From here on nobody uses the memory of operations.
  operations_.each([](operation& each) {
    if (each.finished_elsewhere) return;
    event happened;
    happened.result = outcome::canceled;
    happened.kind = each.kind;
    happened.tag = each.tag;
    happened.user = each.user;
    happened.context = each.context;
    if (each.handler == 0 && each.local) each.local.signal(happened);
  });
}

transport& local_device::channel_transport(std::size_t index) noexcept {
  return *channels_[index]->to;
}

int local_device::process_without_way() const noexcept {
  const auto lost = std::ranges::find(peers_, nullptr, &peer_state::route);
  return lost == peers_.end() ? -1 : lost->who.process;
}

void local_device::connect(const std::vector<std::vector<std::vector<std::byte>>>& addresses,
                           std::span<const comm::address> places, std::uint32_t self) {
  self_ = self;
  for (auto& each : channels_) {
    each->to->connect(addresses[each->index], self);
    learn(*each);
  }
  std::size_t longest = 0;
  for (const auto& each : channels_) longest = std::max(longest, each->traits.message_bytes_max);
  if (accelerator_ != nullptr) {
    staging_.resize(longest);
    // So that all data are looked at where they lie.
    for (const auto& each : channels_) each->traits.inject_bytes_max = 0;
  }
  peers_.resize(places.size());
  lost_ = std::vector<std::atomic<bool>>(shared_.processes_max());
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    peers_[i].who = places[i];
    peers_[i].number = peers_[i].way = i;
    for (auto& each : channels_)
      if (peers_[i].route == nullptr && each->to->reaches(i)) peers_[i].route = each.get();
  }
}

void local_device::learn(channel& connected) const noexcept {
  connected.traits = connected.to->traits();
  connected.eager_bytes = std::min(shared_.options.eager_bytes,
                                   connected.traits.message_bytes_max - sizeof(notification));
  const bool copies = connected.traits.inject_bytes_max >= connected.eager_bytes;
  connected.eager_send_bytes = connected.traits.can_get && copies
                                   ? std::min(connected.eager_bytes, twice_copied_bytes_max)
                                   : connected.eager_bytes;
}

// --- Peers ---

local_device::peer_state* local_device::find_peer(const comm::address& who) noexcept {
  const std::uint32_t number = shared_.endpoint_of(who);
  if (number == no_endpoint) [[unlikely]] {
    complain("no device {} of process {}: the job has {} processes", who.device, who.process,
             shared_.process_count);
    return nullptr;
  }
  return &peers_[number];
}

local_device::peer_state* local_device::usable_peer(const comm::address& who) noexcept {
  peer_state* const peer = find_peer(who);
  if (peer == nullptr || peer->failed) [[unlikely]]
    return nullptr;
  if (peer->route == nullptr) [[unlikely]] {
    complain("no transport reaches device {} of process {}", who.device, who.process);
    return nullptr;
  }
  return peer;
}

// Processes of other jobs have numbers before this device is joined with them.
const local_device::peer_state* local_device::reached_peer(
    const comm::address& who) const noexcept {
  const std::uint32_t number = shared_.endpoint_of(who);
  return number < peers_.size() && peers_[number].route != nullptr ? &peers_[number] : nullptr;
}

std::size_t local_device::eager_bytes_max(const comm::address& to) const noexcept {
  const peer_state* const peer = reached_peer(to);
  return peer == nullptr ? 0 : peer->route->eager_bytes;
}

std::size_t local_device::eager_send_bytes_max(const comm::address& to) const noexcept {
  const peer_state* const peer = reached_peer(to);
  return peer == nullptr ? 0 : peer->route->eager_send_bytes;
}

std::string_view local_device::transport_name(const comm::address& to) const noexcept {
  const peer_state* const peer = reached_peer(to);
  return peer == nullptr ? std::string_view() : peer->route->traits.name;
}

bool local_device::copies_in_place(const comm::address& to) const noexcept {
  const peer_state* const peer = reached_peer(to);
  if (peer == nullptr) return false;
  const transport_traits& by = peer->route->traits;
  return by.can_get && by.can_put && !by.needs_registration && !by.registration_opens;
}

device_statistics local_device::statistics_now() const noexcept {
  device_statistics now = statistics_;
  now.registrations = registrations_.made();
  return now;
}

void local_device::refuse(const event& happened, const char* why) noexcept {
  const device_guard guard(lock_.get());
  if (peer_state* const from = find_peer({happened.process, happened.device}); from != nullptr)
    refuse(*from, why);
}

void local_device::refuse(peer_state& from, const char* why) noexcept {
  if (statistics_.refused++ == 0)
    log_line("process {} device {}: a message of process {} device {} was refused: {}",
             shared_.process, index(), from.who.process, from.who.device, why);
}

// --- Sending ---

status local_device::transmit(peer_state& to, const wire_header& header, wire_parts parts,
                              void* context) noexcept {
  if (to.failed) [[unlikely]]
    return status::failed;
  if (to.kept != 0) [[unlikely]] {  // Nothing overtakes what was kept.
    if (to.gathered != nullptr) send_gathered(to);
    if (to.kept != 0) return insisting_ && keep(to, header, parts) ? status::done : status::retry;
  }
  const status said = to.route->to->send(to.way, header, parts, context);
  if (said == status::retry) [[unlikely]]
    return insisting_ && keep(to, header, parts) ? status::done : status::retry;
  if (said != status::failed) {
    ++statistics_.sent;
    to.route->idle_polls = to.route->skips = 0;  // An answer may come.
  }
  return said;
}

void local_device::tell(peer_state& to, const wire_header& header, wire_parts parts) noexcept {
  const bool insisted = std::exchange(insisting_, true);
  if (transmit(to, header, parts, nullptr) == status::retry)
    log_line("no memory to keep a message to process {}: it is lost", to.who.process);
  insisting_ = insisted;
}

// Tells the peer's operation that this side has finished with it.
void local_device::tell_finished(peer_state& to, std::uint64_t operation, bool failed) noexcept {
  wire_header header;
  header.kind = static_cast<std::uint8_t>(message_kind::finished);
  header.flags = failed ? failed_flag : 0;
  header.operation = operation;
  tell(to, header);
}

[[gnu::noinline]] bool local_device::keep(peer_state& to, const wire_header& header,
                                          wire_parts parts) noexcept {
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size();
  place* const kept = packets_.take(size);
  if (kept == nullptr) return false;
  kept->size = 0;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    std::memcpy(kept->storage + kept->size, part.data(), part.size());
    kept->size += part.size();
  }
  kept->peer = to.number;
  kept->header = header;
  backlog_.push(kept);
  ++to.kept;
  ++backlog_count_;
  return true;
}

// One message, whose data are done with when this returns done, or when `local` is signalled.
status local_device::send_eager(peer_state& to, const wire_header& header,
                                const const_buffers& data, std::uint64_t size,
                                const completion& local, void* context, packet* from,
                                operation_kind kind) noexcept {
  const auto send_simply = [&](wire_parts parts) {
    const status said = transmit(to, header, parts, nullptr);
    if (said == status::done && from != nullptr) *from = {};
    return said;
  };
  if (size <= to.route->traits.inject_bytes_max) [[likely]]
    return send_simply(data.parts());
  if (any_is_far(accelerator_, data.parts())) {
    const std::span<const std::byte> copies[1] = {staged(data.parts())};
    return copies[0].empty() ? status::failed : send_simply(copies);
  }
  if (!local && from == nullptr) return send_simply(data.parts());
  operation* const what = take_operation(purpose::eager, to.number);
  if (what == nullptr) return status::retry;
  what->kind = kind;
  what->size = size;
  what->tag = header.tag;
  what->user = header.user;
  what->local = local;
  what->context = context;
  const status said = transmit(to, header, data.parts(), what);
  if (said == status::posted) {
    what->outstanding = 1;
    what->moved = size;
    if (from != nullptr) {
      what->holding = static_cast<place*>(place_of(*from));
      forget(*from);
      // The core holds the data, so the user is done with them.
      if (!local) return status::done;
    }
    return status::posted;
  }
  what->local = {};
  give_back(*what);
  if (said == status::done && from != nullptr) *from = {};
  return said;
}

// --- Operations under way ---

operation* local_device::take_operation(purpose why, std::uint32_t peer) noexcept {
  operation* const taken =
      operations_.take(insisting_ ? operations_max : shared_.options.operations);
  if (taken == nullptr) [[unlikely]]
    return nullptr;
  taken->why = why;
  taken->peer = peer;
  return taken;
}

// On behalf of a peer's message, which cannot be refused for want of room.
operation* local_device::take_for_peer(purpose why, std::uint32_t peer) noexcept {
  operation* const taken = operations_.take(operations_max);
  if (taken == nullptr) return nullptr;
  taken->why = why;
  taken->peer = peer;
  return taken;
}

void local_device::give_back(operation& ended) noexcept {
  for (std::uint32_t i = 0; i < ended.local_count; ++i)
    if (registration* const used = std::exchange(ended.registrations[i], nullptr); used != nullptr)
      registrations_.give_back(used);
  if (ended.holding != nullptr) packets_.give_back(ended.holding);
  if (ended.is_arriving) {
    --peers_[ended.peer].arriving;
    arriving_bytes_ -= ended.size;
    arrival_has_ended_ = true;
  }
  operations_.give_back(&ended);
}

bool local_device::fits_parts(std::size_t count) noexcept {
  if (count > message_parts_max)
    complain("a list of {} buffers: there may be {} at most", count, message_parts_max);
  return count <= message_parts_max;
}

bool local_device::set_locals(operation& of, std::span<const std::span<std::byte>> parts) noexcept {
  if (!fits_parts(parts.size())) return false;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    of.locals[of.local_count++] = part;
  }
  return true;
}

bool local_device::set_locals(operation& of,
                              std::span<const std::span<const std::byte>> parts) noexcept {
  if (!fits_parts(parts.size())) return false;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    of.locals[of.local_count++] = {const_cast<std::byte*>(part.data()), part.size()};
  }
  return true;
}

bool local_device::register_locals(operation& of, peer_access peers) noexcept {
  const std::uint64_t forgotten = shared_.forgotten.value();
  if (forgotten != forgotten_seen_) [[unlikely]] {
    forgotten_seen_ = forgotten;
    registrations_.forget();
  }
  for (std::uint32_t i = 0; i < of.local_count; ++i) {
    if (registration*& known = of.registrations[i]; known != nullptr) {
      if (allows(known->peers, peers)) continue;
      registrations_.give_back(std::exchange(known, nullptr));
    }
    const accelerator* const owner =
        is_far(accelerator_, of.locals[i].data()) ? accelerator_ : nullptr;
    of.registrations[i] =
        registrations_.take(*peers_[of.peer].route->to, of.locals[i], peers, owner);
    if (of.registrations[i] == nullptr) return false;
  }
  return true;
}

bool local_device::reaches_locals(operation& of) noexcept {
  if (any_is_far(accelerator_, std::span(of.locals).first(of.local_count)))
    return of.peer != self_ && register_locals(of, peer_access::none);
  return !peers_[of.peer].route->traits.needs_registration ||
         register_locals(of, peer_access::none);
}

bool local_device::opens_locals(operation& of, peer_access peers) noexcept {
  const bool is_far = any_is_far(accelerator_, std::span(of.locals).first(of.local_count));
  return !(is_far && of.peer == self_) && register_locals(of, peers);
}

// --- Memory of an accelerator ---

[[gnu::noinline]] std::span<const std::byte> local_device::staged(wire_parts parts) noexcept {
  std::size_t size = 0;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    if (!copy_bytes(accelerator_, staging_.data() + size, part.data(), part.size())) return {};
    size += part.size();
  }
  return std::span(staging_).first(size);
}

void local_device::wait_for_room(operation& what) noexcept {
  if (what.listed) return;
  what.listed = true;
  moving_.push(&what);
}

// One piece, as long as both sides' parts and the transport allow.
status local_device::move_piece(operation& what) noexcept {
  peer_state& to = peers_[what.peer];
  transport& by = *to.route->to;
  const std::span<std::byte> rest =
      what.locals[what.local_part].subspan(static_cast<std::size_t>(what.local_offset));
  std::size_t size = std::min(rest.size(), piece_bytes_max);
  status said = status::failed;
  if (what.move == transfer_mode::get || what.move == transfer_mode::put) {
    const exposed_part& remote = what.remotes[what.remote_part];
    size =
        static_cast<std::size_t>(std::min<std::uint64_t>(size, remote.size - what.remote_offset));
    const registration* const registered = what.registrations[what.local_part];
    const memory_region* const region = registered != nullptr ? &registered->region : nullptr;
    const remote_key& key = remote.key;
    const std::uint64_t offset = what.offset + what.remote_offset;
    const bool is_own =
        to.number == self_ && (what.why == purpose::put || what.why == purpose::get);
    // Of a message that goes in several pieces none is known to be the last to arrive.
    what.tells = what.why == purpose::send && what.move == transfer_mode::put &&
                 size == what.size && to.number != self_ && by.traits().can_tell_put;
    if (is_own)
      said = copy_within(what, rest.first(size), offset);
    else if (what.move == transfer_mode::get)
      said = by.get(to.way, rest.first(size), region, key, offset, &what);
    else if (what.tells)
      said = by.put_and_tell(to.way, rest.first(size), region, key, offset, what.partner, &what);
    else
      said = by.put(to.way, rest.first(size), region, key, offset, &what);
  } else {
    size = std::min(size, to.route->traits.message_bytes_max - sizeof(notification));
    wire_header header;
    header.size = what.size;
    header.operation = what.partner;
    header.tag = what.moved;
    header.kind = static_cast<std::uint8_t>(message_kind::data);
    std::span<const std::byte> parts[2] = {rest.first(size), {}};
    std::size_t count = 1;
    if (what.move == transfer_mode::put_data) {
      header.kind = static_cast<std::uint8_t>(message_kind::put_data);
      header.tag += what.offset;
      if (what.handler != 0 && what.moved + size == what.size) {
        header.flags = notify_flag;
        header.handler = what.handler;
        header.user = what.user;
        what.told = {what.tag, what.offset, what.size};
        parts[1] = std::exchange(parts[0], bytes_of(what.told));
        count = 2;
      }
    }
    bool may_be_posted = size > to.route->traits.inject_bytes_max;
    if (is_far(accelerator_, rest.data())) [[unlikely]] {
      const std::span<const std::byte> copies = staged({parts, count});
      if (copies.empty()) return status::failed;
      parts[0] = copies;
      count = 1;
      may_be_posted = false;
    }
    said = transmit(to, header, {parts, count}, may_be_posted ? &what : nullptr);
  }
  if (said == status::retry || said == status::failed) return said;
  if (said == status::posted) ++what.outstanding;
  what.moved += size;
  what.local_offset += size;
  what.remote_offset += size;
  if (what.local_offset == what.locals[what.local_part].size()) {
    ++what.local_part;
    what.local_offset = 0;
  }
  if (what.remote_part < what.remote_count &&
      what.remote_offset == what.remotes[what.remote_part].size) {
    ++what.remote_part;
    what.remote_offset = 0;
  }
  return said;
}

void local_device::move_on(operation& what) noexcept {
  what.at = phase::moving;
  const bool insisted = std::exchange(insisting_, false);  // Pieces wait here, not in the backlog.
  while (what.moved < what.size && what.result == outcome::complete) {
    const status said = move_piece(what);
    if (said == status::retry) {
      wait_for_room(what);
      break;
    }
    if (said == status::failed) what.result = outcome::failed;
  }
  insisting_ = insisted;
  if (what.outstanding == 0 && !what.listed) end(what);
}

// Finishes it, now or, when the program would be told, in the next progress().
void local_device::end(operation& what) noexcept {
  if (!pumping_ || what.why == purpose::reply) [[likely]]
    return finish(what);
  what.listed = true;
  ended_.push(&what);
}

// Everything of it was moved, or it failed, and the transport uses none of it.
void local_device::finish(operation& ended) noexcept {
  peer_state& peer = peers_[ended.peer];
  const bool native = ended.move == transfer_mode::get || ended.move == transfer_mode::put;
  const bool is_rendezvous = ended.why == purpose::receive || ended.why == purpose::send;
  const bool failed = ended.result != outcome::complete;
  const bool is_told = ended.tells && !failed;
  if (!peer.failed &&
      ((is_rendezvous && native && !is_told) || (ended.why == purpose::reply && failed)))
    tell_finished(peer, ended.partner, failed);
  if ((ended.why == purpose::get || ended.why == purpose::put) && ended.handler != 0 &&
      ended.move != transfer_mode::put_data && ended.result == outcome::complete)
    notify_peer(ended);
  signal_end(ended);
  give_back(ended);
}

void local_device::signal_end(operation& ended) noexcept {
  const peer_state& peer = peers_[ended.peer];
  event happened = event_from(peer, ended.kind);
  happened.result = ended.result;
  happened.tag = ended.tag;
  happened.head = ended.head;
  happened.user = ended.user;
  happened.size = ended.size;
  happened.context = ended.context;
  if (ended.holding != nullptr && ended.why == purpose::receive) {
    happened.data = ended.holding->storage;
    if (ended.local.keeps_data()) {
      packets_.begin_waiting(*ended.holding);
      happened.packet = std::exchange(ended.holding, nullptr);
    }
  }
  if (ended.why == purpose::receive && ended.kind == operation_kind::am &&
      ended.result != outcome::complete) {
    ended.local.cancel();  // A message that never came whole is not delivered.
    if (happened.packet != nullptr) packets_.give_back(static_cast<place*>(happened.packet));
    return;
  }
  if (ended.local) ended.local.signal(happened);
}

// --- Events ---

event local_device::event_from(const peer_state& peer, operation_kind kind) const noexcept {
  event happened;
  happened.kind = kind;
  happened.process = peer.who.process;
  happened.device = static_cast<std::uint16_t>(peer.who.device);
  return happened;
}

bool local_device::give(const completion& called, event& happened,
                        std::span<const std::byte> payload) noexcept {
  if (!called.reserve()) [[unlikely]]
    return false;
  happened.size = payload.size();
  happened.data = const_cast<std::byte*>(payload.data());
  if (called.keeps_data() && !payload.empty()) {
    place* const copy = packets_.take_copy(payload);
    if (copy == nullptr) {
      called.cancel();
      return false;
    }
    happened.data = copy->storage;
    happened.packet = copy;
  }
  called.signal(happened);
  return true;
}

const completion* local_device::handler_of(std::uint16_t index) const noexcept {
  if (index == 0 || index >= shared_.handler_count.value()) return nullptr;
  return &shared_.handlers[index];
}

bool local_device::is_pumped(const wire_header& header) const noexcept {
  return static_cast<message_kind>(header.kind) == message_kind::am &&
         handler_of(header.handler) != nullptr && shared_.is_pumped[header.handler];
}

// --- Sleeping ---

bool local_device::try_arm() noexcept {
  if (has_work()) return false;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (channels_[i]->to->arm()) continue;
    for (std::size_t j = 0; j < i; ++j) channels_[j]->to->disarm();
    return false;
  }
  armed_ = true;
  return true;
}

bool local_device::shut_down() noexcept {
  bool all = true;
  for (auto& each : channels_) all &= each->to->shut_down();
  return all;
}

void local_device::disarm_all() noexcept {
  if (!std::exchange(armed_, false)) return;
  for (auto& each : channels_) each->to->disarm();
}

std::span<const doorbell> local_device::ring_list() noexcept {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const transport::bell bell = channels_[i]->to->ringing();
    doorbells_[i] = {bell.word, bell.value, bell.shared, channels_[i]->to->wait_descriptor()};
  }
  return doorbells_;
}

std::int64_t local_device::sleep_limit_ns() const noexcept {
  std::int64_t least = -1;
  for (const auto& each : channels_) {
    std::int64_t limit = each->traits.sleep_ns_max;
    // The owner sleeps on one word only.
    if (each->is_joined)
      limit = limit < 0 ? joined_sleep_ns_max : std::min(limit, joined_sleep_ns_max);
    if (limit >= 0) least = least < 0 ? limit : std::min(least, limit);
  }
  return least;
}

// --- Packets ---

place* local_device::take_packet_place() noexcept {
  place* const taken = packets_.try_take_packet();
  if (taken != nullptr) taken->size = taken->capacity;
  return taken;
}

}  // namespace weft::comm
