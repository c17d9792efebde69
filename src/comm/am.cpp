// Active messages: a handler of the peer is called with the data. A shared device gathers small ones for one peer in one
// message of the transport, where their handler allows it: a stream of them would be system calls in the main. They go when
// there is no more room, in front of any other message to that peer, and with the next progress() or pump().
#include <algorithm>
#include <cstring>

#include "comm/device.hpp"
#include "comm/far_memory.hpp"
#include "comm/runtime_state.hpp"

namespace weft::comm {

// False: it has to go by itself.
bool local_device::gather(peer_state& to, const am& wanted, const wire_header& header) noexcept {
  const std::size_t size = wanted.data.size();
  const std::size_t needed = gathered_size(size);
  const std::size_t room = std::min(to.route->traits.inject_bytes_max, gathered_bytes_max);
  // An owner that sleeps has sent all, and looks for no more.
  if (needed > room || size > gathered_am_bytes_max || armed_ ||
      handler_of(header.handler) == nullptr || !shared_.is_gathered[header.handler] ||
      wanted.local || wanted.from != nullptr || any_is_far(accelerator_, wanted.data.parts()))
    return false;
  if (to.gathered != nullptr && to.gathered->size + needed > room) send_gathered(to);
  if (to.gathered == nullptr) {
    if (to.kept != 0 || (to.gathered = packets_.take(room)) == nullptr) return false;
    to.gathered->size = 0;
    ++to.kept;
    if (!std::exchange(to.is_gathering, true)) gathering_.push_back(to.number);
  }
  std::byte* at = to.gathered->storage + to.gathered->size;
  const gathered_head head{size, header};
  std::memcpy(at, &head, sizeof head);
  at += sizeof head;
  for (const auto& part : wanted.data.parts()) {
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  to.gathered->size += needed;
  ++statistics_.sent;
  return true;
}

void local_device::send_gathered(peer_state& to) noexcept {
  place* const all = std::exchange(to.gathered, nullptr);
  all->peer = to.number;
  all->header = {};
  all->header.kind = static_cast<std::uint8_t>(message_kind::gathered);
  const std::span<const std::byte> parts[1] = {all->bytes()};
  if (to.route->to->send(to.way, all->header, parts, nullptr) == status::retry) {
    backlog_.push(all);
    ++backlog_count_;
    return;
  }
  --to.kept;
  packets_.give_back(all);
  to.route->idle_polls = to.route->skips = 0;  // An answer may come.
}

int local_device::send_all_gathered() noexcept {
  int happened = 0;
  for (const std::uint32_t number : gathering_) {
    peer_state& to = peers_[number];
    to.is_gathering = false;
    if (to.gathered == nullptr) continue;
    send_gathered(to);
    ++happened;
  }
  gathering_.clear();
  return happened;
}

void local_device::deliver_gathered(peer_state& from, std::span<const std::byte> payload) noexcept {
  while (!payload.empty()) {
    gathered_head head;
    std::memcpy(&head, payload.data(), std::min(sizeof head, payload.size()));
    if (payload.size() < sizeof head || head.size > payload.size() ||
        gathered_size(head.size) > payload.size() ||
        static_cast<message_kind>(head.header.kind) != message_kind::am)
      return refuse(from, "it gathers messages that cannot be");
    deliver_one(from, head.header, payload.subspan(sizeof head, head.size));
    payload = payload.subspan(gathered_size(head.size));
  }
}

status local_device::start(const am& wanted) noexcept {
  peer_state* const to = usable_peer(wanted.to);
  if (to == nullptr) [[unlikely]]
    return status::failed;
  const std::uint64_t size = wanted.data.size();
  if (size <= to->route->eager_bytes) [[likely]] {
    const wire_header header =
        make_header(static_cast<std::uint8_t>(message_kind::am), 0, wanted.handler.index,
                    wanted.user, wanted.tag, wanted.head[0], wanted.head[1]);
    if (lock_ != nullptr && gather(*to, wanted, header)) [[unlikely]]
      return status::done;
    return send_eager(*to, header, wanted.data, size, wanted.local, wanted.context, wanted.from,
                      operation_kind::am);
  }
  operation* const what = take_operation(purpose::send, to->number);
  if (what == nullptr) return status::retry;
  if (!set_locals(*what, wanted.data.parts())) {
    give_back(*what);
    return status::failed;
  }
  what->kind = operation_kind::am;
  what->size = size;
  what->tag = wanted.tag;
  what->head = wanted.head;
  what->user = wanted.user;
  what->local = wanted.local;
  what->context = wanted.context;
  wire_header header;
  header.kind = static_cast<std::uint8_t>(message_kind::am_announce);
  header.handler = wanted.handler.index;
  header.user = wanted.user;
  header.tag = wanted.tag;
  return announce(*to, header, {{wanted.tag, wanted.head[0], wanted.head[1]}}, *what);
}

bool local_device::on_am(peer_state& from, const wire_header& header,
                         std::span<const std::byte> payload) noexcept {
  const completion* const called = handler_of(header.handler);
  if (called == nullptr) [[unlikely]] {
    refuse(from, "it names a handler that is not registered");
    return true;
  }
  event happened = event_from(from, operation_kind::am);
  happened.user = header.user;
  happened.tag = header.tag;
  happened.head = {header.size, header.operation};
  return give(*called, happened, payload);
}

bool local_device::on_am_announce(peer_state& from, const wire_header& header,
                                  std::span<const std::byte> payload) noexcept {
  const completion* const called = handler_of(header.handler);
  if (called == nullptr) {
    refuse(from, "it names a handler that is not registered");
    tell_finished(from, header.operation,
                  true);  // A sender that is only mistaken is not left waiting.
    return true;
  }
  if (!called->reserve()) return false;
  operation* const what = take_for_peer(purpose::receive, from.number);
  announcement first;
  if (what == nullptr || !read_announcement(header, payload, first, what->remotes)) {
    called->cancel();
    if (what != nullptr) give_back(*what);
    refuse(from, "its announcement makes no sense, or there is no memory for it");
    tell_finished(from, header.operation, true);
    return true;
  }
  what->kind = operation_kind::am;
  what->size = header.size;
  what->partner = header.operation;
  what->remote_count = first.part_count;
  what->handler = header.handler;
  what->tag = first.words[0];
  what->head = {first.words[1], first.words[2]};
  what->user = header.user;
  what->local = *called;
  note_preference(*what, header);
  pull_or_wait(*what);
  return true;
}

}  // namespace weft::comm
