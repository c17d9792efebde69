// Send and receive: messages and receives meet in a matching engine.
#include <algorithm>
#include <cstring>

#include "comm/device.hpp"
#include "comm/far_memory.hpp"
#include "comm/runtime_state.hpp"

namespace weft::comm {

namespace {

constexpr std::uint8_t matching_bits = 3;

}  // namespace

match_table* local_device::engine_of(std::uint16_t index) noexcept {
  if (index == 0) [[likely]]
    return &engine_;
  return shared_.engine(index);
}

// --- The sender ---

status local_device::start(const comm::send& wanted) noexcept {
  peer_state* const to = usable_peer(wanted.to);
  if (to == nullptr) [[unlikely]]
    return status::failed;
  const std::uint64_t size = wanted.data.size();
  const bool is_eager = size <= to->route->eager_send_bytes;
  const message_kind kind = is_eager ? message_kind::eager : message_kind::send_announce;
  const wire_header header =
      make_header(static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(wanted.by),
                  wanted.engine, wanted.user, wanted.tag, size, 0);
  if (is_eager) [[likely]] {
    return send_eager(*to, header, wanted.data, size, wanted.local, wanted.context, wanted.from,
                      operation_kind::send);
  }
  operation* const what = take_operation(purpose::send, to->number);
  if (what == nullptr) return status::retry;
  if (!set_locals(*what, wanted.data.parts())) {
    give_back(*what);
    return status::failed;
  }
  what->kind = operation_kind::send;
  what->size = size;
  what->tag = wanted.tag;
  what->user = wanted.user;
  what->local = wanted.local;
  what->context = wanted.context;
  return announce(*to, header, {}, *what);
}

// --- The receiver posts ---

status local_device::start(const recv& wanted) noexcept {
  match_table* const engine = engine_of(wanted.engine);
  const match_key key = key_of(wanted.by, wanted.from, wanted.tag);
  if (engine == nullptr || key.process >= shared_.process_count) [[unlikely]] {
    complain(
        "a receive from process {} in matching engine {}: there are processes 0 to {}, and "
        "engines 0 to {}",
        wanted.from, wanted.engine, shared_.process_count - 1, shared_.engine_count.value() - 1);
    return status::failed;
  }
  operation* const posted = take_operation(purpose::receive, self_);
  if (posted == nullptr) return status::retry;
  posted->kind = operation_kind::recv;
  posted->key = key;
  posted->at = phase::matching;
  posted->in_place = wanted.in_place;
  posted->local = wanted.local;
  posted->context = wanted.context;
  posted->tag = wanted.tag;
  if (!wanted.in_place && !set_locals(*posted, wanted.data.parts())) {
    posted->local = {};
    give_back(*posted);
    return status::failed;
  }
  posted->size = 0;
  for (std::uint32_t i = 0; i < posted->local_count; ++i) posted->size += posted->locals[i].size();

  match_node* met = nullptr;
  if (key.process >= 0 && has_lost(key.process)) [[unlikely]] {
    // Only what came before it died is left.
    if ((met = engine->take_message(key)) == nullptr) {
      give_back(*posted);
      return status::failed;
    }
  } else {
    met = engine->meet(posted);
  }
  if (met == nullptr) return status::posted;
  auto* const message = static_cast<place*>(met);
  posted->holding = message;
  const bool is_eager = message->header.kind == static_cast<std::uint8_t>(message_kind::eager);
  const bool fits = posted->in_place || message->size <= posted->size;
  if (!is_eager || (wanted.result == nullptr && (wanted.in_place || !fits))) {
    // The rest is done by the device that the message came to, in its progress.
    message->home->owner().hand_over(posted);
    return status::posted;
  }
  posted->holding = nullptr;
  event happened = received(*posted, peers_[message->peer], message);
  if (wanted.result != nullptr) *wanted.result = happened;
  give_back(*posted);
  return status::done;
}

// Copies into the buffers of a receive one after the other; they are large enough.
bool local_device::scatter(std::span<const std::byte> from, const operation& to) noexcept {
  for (std::uint32_t i = 0; i < to.local_count && !from.empty(); ++i) {
    const std::size_t size = std::min(to.locals[i].size(), from.size());
    if (!copy_bytes(accelerator_, to.locals[i].data(), from.data(), size)) return false;
    from = from.subspan(size);
  }
  return true;
}

// The event of a receive that got this eager message; the message's place is given back, or is in
// the event.
event local_device::received(const operation& posted, const peer_state& from,
                             place* message) noexcept {
  event happened = event_from(from, operation_kind::recv);
  happened.tag = message->header.tag;
  happened.user = message->header.user;
  happened.size = message->size;
  happened.context = posted.context;
  if (posted.in_place) {
    happened.data = message->storage;
    happened.packet = message;
    return happened;
  }
  if (message->size > posted.size)
    happened.result = outcome::truncated;
  else if (!scatter(message->bytes(), posted))
    happened.result = outcome::failed;
  packet_pool::give_back_remote(message);
  return happened;
}

// --- A message arrives ---

bool local_device::on_eager(peer_state& from, const wire_header& header,
                            std::span<const std::byte> payload) noexcept {
  match_table* const engine = engine_of(header.handler);
  if (engine == nullptr || header.flags > matching_bits) {
    refuse(from, "it names a matching engine that is not there");
    return true;
  }
  const match_key key = key_of(static_cast<matching>(header.flags), from.who.process, header.tag);
  if (match_node* const met = engine->take_receive(key); met != nullptr) [[likely]] {
    receive_eager(*static_cast<operation*>(met), from, header, payload);
    return true;
  }
  return wait_for_receive(*engine, key, from, header, payload);
}

// Keeps a message until its receive is posted.
bool local_device::wait_for_receive(match_table& engine, const match_key& key, peer_state& from,
                                    const wire_header& header,
                                    std::span<const std::byte> payload) noexcept {
  place* const kept = packets_.take_copy(payload);
  if (kept == nullptr) return false;
  kept->peer = from.number;
  kept->header = header;
  kept->key = key;
  ++statistics_.unexpected;
  if (match_node* const met = engine.meet(kept); met != nullptr) {
    // Another thread posted it in between.
    auto& posted = *static_cast<operation*>(met);
    if (header.kind == static_cast<std::uint8_t>(message_kind::eager))
      receive_eager(posted, from, header, payload);
    else
      receive_announced(posted, from, header, payload);
    packets_.give_back(kept);
  }
  return true;
}

void local_device::receive_eager(operation& posted, peer_state& from, const wire_header& header,
                                 std::span<const std::byte> payload) noexcept {
  event happened = event_from(from, operation_kind::recv);
  happened.tag = header.tag;
  happened.user = header.user;
  happened.size = payload.size();
  happened.context = posted.context;
  if (posted.in_place) {
    if (place* const copy = packets_.take_copy(payload); copy != nullptr) {
      happened.data = copy->storage;
      happened.packet = copy;
    } else {
      happened.result = outcome::failed;
    }
  } else if (payload.size() > posted.size) {
    happened.result = outcome::truncated;
  } else if (!scatter(payload, posted)) {
    happened.result = outcome::failed;
  }
  end_receive(posted, happened);
}

// The receive ends here, wherever it was posted.
void local_device::end_receive(operation& posted, const event& happened) noexcept {
  if (posted.local) posted.local.signal(happened);
  send_home(posted);
}

void local_device::send_home(operation& posted) noexcept {
  if (posted.home == this) {
    give_back(posted);
    return;
  }
  posted.finished_elsewhere = true;
  posted.home->hand_over(&posted);
}

bool local_device::on_send_announce(peer_state& from, const wire_header& header,
                                    std::span<const std::byte> sent) noexcept {
  // Looked at twice, and the peer may still write it: what counts is one copy.
  std::array<std::byte, sizeof(announcement) + sizeof(part_list)> copy;
  const std::span<const std::byte> payload(copy.data(), std::min(sent.size(), copy.size()));
  if (!payload.empty()) std::memcpy(copy.data(), sent.data(), payload.size());
  const auto by = static_cast<std::uint8_t>(header.flags & matching_bits);
  match_table* const engine = engine_of(header.handler);
  announcement first;
  part_list exposed;
  if (engine == nullptr || !read_announcement(header, payload, first, exposed)) {
    refuse(from, "its announcement makes no sense");
    tell_finished(from, header.operation, true);
    return true;
  }
  const match_key key = key_of(static_cast<matching>(by), from.who.process, header.tag);
  if (match_node* const met = engine->take_receive(key); met != nullptr) {
    receive_announced(*static_cast<operation*>(met), from, header, payload);
    return true;
  }
  return wait_for_receive(*engine, key, from, header, payload);
}

void local_device::receive_announced(operation& posted, peer_state& from, const wire_header& header,
                                     std::span<const std::byte> payload) noexcept {
  announcement first;
  operation* what = &posted;
  if (posted.home != this) {
    what = take_for_peer(purpose::receive, from.number);
    if (what == nullptr) {
      event happened = event_from(from, operation_kind::recv);
      happened.result = outcome::failed;
      happened.tag = header.tag;
      happened.user = header.user;
      happened.size = header.size;
      happened.context = posted.context;
      tell_finished(from, header.operation, true);
      end_receive(posted, happened);
      return;
    }
    what->kind = operation_kind::recv;
    what->in_place = posted.in_place;
    what->local = posted.local;
    what->context = posted.context;
    what->size = posted.size;
    what->locals = posted.locals;
    what->local_count = posted.local_count;
    send_home(posted);
  }
  what->peer = from.number;
  what->tag = header.tag;
  what->user = header.user;
  const std::uint64_t room = what->size;
  (void)read_announcement(header, payload, first, what->remotes);  // It was checked on arrival.
  what->remote_count = first.part_count;
  what->size = header.size;
  what->partner = header.operation;
  note_preference(*what, header);
  if (what->in_place) {
    pull_or_wait(*what);
    return;
  }
  if (header.size > room) {
    what->result = outcome::truncated;
    tell_finished(from, what->partner, false);
    signal_end(*what);
    give_back(*what);
    return;
  }
  shorten_locals(*what);
  pull(*what);
}

// Leaves of the receive's buffers what the message fills.
void local_device::shorten_locals(operation& of) noexcept {
  std::uint64_t rest = of.size;
  for (std::uint32_t i = 0; i < of.local_count; ++i) {
    if (of.locals[i].size() >= rest) {
      of.locals[i] = of.locals[i].first(static_cast<std::size_t>(rest));
      of.local_count = i + 1;
      return;
    }
    rest -= of.locals[i].size();
  }
}

// --- What other devices hand to this one ---

int local_device::take_handed() noexcept {
  int count = 0;
  while (operation* const given = handed_.try_pop()) {
    ++count;
    if (given->finished_elsewhere) {
      give_back(*given);
      continue;
    }
    place* const message = std::exchange(given->holding, nullptr);
    peer_state& from = peers_[message->peer];
    if (message->header.kind == static_cast<std::uint8_t>(message_kind::eager)) {
      end_receive(*given, received(*given, from, message));
      continue;
    }
    receive_announced(*given, from, message->header, message->bytes());
    packets_.give_back(message);
  }
  return count;
}

// --- A process died ---

// Those that this device posted: for those of another one, messages may still wait there.
void local_device::fail_receives(match_table& engine, int process) noexcept {
  struct sought {
    const local_device* home;
    int process;
  } const what{this, process};
  const auto is_meant = [](const match_node& node, const void* context) {
    const auto& [home, from] = *static_cast<const sought*>(context);
    return node.is_receive && node.key.process == from &&
           static_cast<const operation&>(node).home == home;
  };
  while (match_node* const met = engine.take_if(is_meant, &what)) {
    auto& posted = *static_cast<operation*>(met);
    event happened;
    happened.kind = operation_kind::recv;
    happened.result = outcome::failed;
    happened.process = process;
    happened.tag = posted.tag;
    happened.context = posted.context;
    end_receive(posted, happened);
  }
}

}  // namespace weft::comm
