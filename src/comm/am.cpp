// Active messages: a handler of the peer is called with the data.
#include "comm/device.hpp"

namespace weft::comm {

status local_device::start(const am& wanted) noexcept {
  peer_state* const to = usable_peer(wanted.to);
  if (to == nullptr) [[unlikely]]
    return status::failed;
  const std::uint64_t size = wanted.data.size();
  if (size <= to->route->eager_bytes) [[likely]] {
    const wire_header header =
        make_header(static_cast<std::uint8_t>(message_kind::am), 0, wanted.handler.index,
                    wanted.user, wanted.tag, wanted.head[0], wanted.head[1]);
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
