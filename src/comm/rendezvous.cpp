// Long messages: the sender announces, the receiver decides how the data travel.
// docs/protocols/rendezvous.md has the states.
#include <algorithm>
#include <cstring>

#include "comm/device.hpp"
#include "comm/far_memory.hpp"
#include "comm/runtime_state.hpp"

namespace weft::comm {

namespace {

// In an announcement's flags, above the matching: the receiver should let the sender write.
constexpr std::uint8_t prefer_write_flag = 0x80;

}  // namespace

status local_device::announce(peer_state& to, wire_header header, announcement first,
                              operation& what) noexcept {
  const auto protocol = shared_.options.rendezvous;
  const transport_traits& traits = to.route->traits;
  const bool readable = traits.can_get && (protocol == rendezvous_protocol::best ||
                                           protocol == rendezvous_protocol::read);
  std::array<exposed_part, message_parts_max> exposed;
  if (readable && opens_locals(what, peer_access::read)) {
    first.part_count = what.local_count;
    for (std::uint32_t i = 0; i < what.local_count; ++i) {
      const remote_key& key = what.registrations[i]->region.key;
      exposed[i] = {what.locals[i].size(), key};
    }
  } else if (traits.can_put && protocol != rendezvous_protocol::messages && reaches_locals(what)) {
    header.flags |= prefer_write_flag;
  }
  header.size = what.size;
  header.operation = what.id();
  const std::span<const std::byte> parts[2] = {
      bytes_of(first), std::as_bytes(std::span(exposed).first(first.part_count))};
  const status said = transmit(to, header, parts, nullptr);
  if (said != status::done) {
    what.local = {};
    give_back(what);
    return said;
  }
  what.at = phase::waiting;
  what.awaited = first.part_count != 0 ? message_kind::finished : message_kind::ready;
  return status::posted;
}

bool local_device::read_announcement(const wire_header& header, std::span<const std::byte> payload,
                                     announcement& first, part_list& exposed) noexcept {
  if (!take(payload, first) || first.part_count > message_parts_max ||
      payload.size() != first.part_count * sizeof(exposed_part) || header.size == 0 ||
      header.size > std::uint64_t{1} << 56)
    return false;
  std::uint64_t rest = header.size;
  for (std::uint32_t i = 0; i < first.part_count; ++i) {
    (void)take(payload, exposed[i]);
    if (exposed[i].size == 0 || exposed[i].size > rest) return false;
    rest -= exposed[i].size;
  }
  return first.part_count == 0 || rest == 0;
}

void local_device::note_preference(operation& what, const wire_header& header) noexcept {
  what.prefers_write = (header.flags & prefer_write_flag) != 0;
}

// The receiver has a place for the message: read it, or ask for it.
void local_device::pull(operation& what) noexcept {
  peer_state& from = peers_[what.peer];
  if (from.failed) [[unlikely]] {  // Its announcement is all that came.
    what.result = outcome::failed;
    finish(what);
    return;
  }
  const transport_traits& traits = from.route->traits;
  if (what.remote_count != 0 && traits.can_get && reaches_locals(what)) {
    what.move = transfer_mode::get;
    move_on(what);
    return;
  }
  wire_header answer;
  answer.kind = static_cast<std::uint8_t>(message_kind::ready);
  answer.operation = what.partner;
  answer.tag = what.id();
  answer.size = what.size;
  std::array<exposed_part, message_parts_max> exposed;
  std::size_t count = 0;
  what.at = phase::waiting;
  what.awaited = message_kind::data;
  if (what.prefers_write && traits.can_put && opens_locals(what, peer_access::write)) {
    answer.flags = write_flag;
    what.awaited = message_kind::finished;
    for (; count < what.local_count; ++count) {
      const remote_key& key = what.registrations[count]->region.key;
      exposed[count] = {what.locals[count].size(), key};
    }
  }
  const std::span<const std::byte> parts[1] = {std::as_bytes(std::span(exposed).first(count))};
  tell(from, answer, parts);
}

// --- Into the core's memory, of which arriving messages get so much at a time ---

// One message of each peer always may: a peer that does not go on keeps no others waiting.
bool local_device::may_arrive(const peer_state& from, const operation& what) const noexcept {
  const std::uint64_t most = shared_.options.waiting_bytes_max;
  return from.arriving == 0 || (arriving_bytes_ <= most && what.size <= most - arriving_bytes_);
}

void local_device::pull_or_wait(operation& what) noexcept {
  peer_state& from = peers_[what.peer];
  if (from.announced == 0 && may_arrive(from, what)) [[likely]] {
    begin_arrival(what);
    return;
  }
  what.at = phase::announced;
  ++from.announced;
  announced_.push(&what);
}

void local_device::begin_arrival(operation& what) noexcept {
  peer_state& from = peers_[what.peer];
  const auto size = static_cast<std::size_t>(what.size);
  what.holding = packets_.take(size);
  if (what.holding == nullptr) {
    refuse(from, "there is no memory for it");
    what.result = outcome::failed;
    tell_finished(from, what.partner, true);
    signal_end(what);
    give_back(what);
    return;
  }
  what.is_arriving = true;
  ++from.arriving;
  arriving_bytes_ += size;
  what.locals[0] = {what.holding->storage, size};
  what.local_count = 1;
  pull(what);
}

// Some that were arriving have come: others may. Those of one peer in their order.
int local_device::begin_announced() noexcept {
  int begun = 0;
  arrival_has_ended_ = false;
  ++pass_;
  for (operation* each = announced_.take_all().first(); each != nullptr;) {
    operation& what = *each;
    each = each->behind;
    peer_state& from = peers_[what.peer];
    if (from.full_in_pass == pass_ || !may_arrive(from, what)) {
      from.full_in_pass = pass_;
      announced_.push(&what);
      continue;
    }
    --from.announced;
    ++begun;
    begin_arrival(what);
  }
  return begun;
}

// To the sender: the receiver's memory may be written, or the data may come as messages.
void local_device::on_ready(peer_state& from, const wire_header& header,
                            std::span<const std::byte> payload) noexcept {
  operation* const what = operations_.find(header.operation);
  // The receiver may decline to read what was exposed.
  if (what == nullptr || what->peer != from.number || what->why != purpose::send ||
      what->at != phase::waiting) {
    refuse(from, "it answers an announcement that was not made");
    return;
  }
  what->partner = header.tag;
  what->move = transfer_mode::data;
  if ((header.flags & write_flag) != 0) {
    std::uint64_t rest = what->size;
    std::uint32_t count = 0;
    exposed_part part;
    while (count < message_parts_max && take(payload, part)) {
      if (part.size == 0 || part.size > rest) break;
      rest -= part.size;
      what->remotes[count++] = part;
    }
    const transport_traits& traits = from.route->traits;
    if (rest != 0 || !payload.empty() || !traits.can_put) {
      refuse(from, "the memory that it exposes does not fit the message");
      return;
    }
    what->remote_count = count;
    what->move = transfer_mode::put;
    if (!reaches_locals(*what)) what->result = outcome::failed;
  }
  move_on(*what);
}

void local_device::on_data(peer_state& from, const wire_header& header,
                           std::span<const std::byte> payload) noexcept {
  operation* const what = operations_.find(header.operation);
  // They come in order, so each begins where the one before ended.
  if (what == nullptr || what->peer != from.number || what->at != phase::waiting ||
      what->awaited != message_kind::data || header.tag != what->arrived || payload.empty() ||
      payload.size() > what->size - what->arrived) {
    refuse(from, "it brings data that nobody asked for");
    return;
  }
  what->arrived += payload.size();
  while (!payload.empty()) {
    const std::span<std::byte> to =
        what->locals[what->local_part].subspan(static_cast<std::size_t>(what->local_offset));
    const std::size_t size = std::min(to.size(), payload.size());
    if (!copy_bytes(accelerator_, to.data(), payload.data(), size)) what->result = outcome::failed;
    payload = payload.subspan(size);
    what->local_offset += size;
    if (size == to.size()) {
      ++what->local_part;
      what->local_offset = 0;
    }
  }
  if (what->arrived == what->size) finish(*what);
}

void local_device::on_finished(peer_state& from, const wire_header& header) noexcept {
  operation* const what = operations_.find(header.operation);
  const bool failed = (header.flags & failed_flag) != 0;
  // A receiver may end what it was offered in any way (it was too long for it), and whoever was
  // asked for data may refuse.
  const bool expected = what != nullptr && what->peer == from.number &&
                        what->at == phase::waiting &&
                        (what->awaited == message_kind::finished || what->why == purpose::send ||
                         failed || (what->why == purpose::get && what->size == 0));
  if (!expected) {
    refuse(from, "it ends what was not begun");
    return;
  }
  if (failed) what->result = outcome::failed;
  finish(*what);
}

// The sender has written the whole message at once, and needs no other word.
void local_device::on_written(const channel& by, std::uint64_t operation_id) noexcept {
  operation* const what = operations_.find(operation_id);
  if (what == nullptr || what->why != purpose::receive || what->at != phase::waiting ||
      what->awaited != message_kind::finished || what->listed || peers_[what->peer].route != &by) {
    refuse(peers_[self_], "a write tells of an operation that does not wait for one");
    return;
  }
  end(*what);
}

}  // namespace weft::comm
