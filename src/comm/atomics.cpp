// Remote atomic operations: done by the target's progress, whatever the transport, so that all of
// them and std::atomic_ref at the target are atomic with respect to each other.
#include <atomic>

#include "comm/device.hpp"
#include "comm/far_memory.hpp"

namespace weft::comm {

status local_device::start(const atomic& wanted) noexcept {
  peer_state* const to = usable_peer({wanted.to.process, wanted.to.device});
  if (to == nullptr) [[unlikely]]
    return status::failed;
  if (wanted.offset % 8 != 0 || wanted.to.size < 8 || wanted.offset > wanted.to.size - 8)
      [[unlikely]] {
    complain(
        "an atomic operation at {} of the memory of process {}, which has {} bytes: it needs "
        "8 of them at a multiple of 8",
        wanted.offset, wanted.to.process, wanted.to.size);
    return status::failed;
  }
  if (!is_permitted(wanted.to, peer_access::read_and_write, "an atomic operation on")) [[unlikely]]
    return status::failed;
  operation* const what = take_operation(purpose::atomic, to->number);
  if (what == nullptr) return status::retry;
  what->kind = operation_kind::atomic;
  what->size = 8;
  const atomic_body body{wanted.to.region, wanted.offset, wanted.operand, wanted.expected,
                         static_cast<std::uint64_t>(wanted.what)};
  what->local = wanted.local;
  what->context = wanted.context;
  what->old = wanted.old;
  return request(*to, *what, message_kind::atomic_request, bytes_of(body),
                 message_kind::atomic_reply);
}

void local_device::on_atomic_request(peer_state& from, const wire_header& header,
                                     std::span<const std::byte> payload) noexcept {
  atomic_body wanted;
  std::byte* at = nullptr;
  if (take(payload, wanted) && payload.empty() && wanted.what <= 2)
    at = memory_at(wanted.region, wanted.offset, 8, peer_access::read_and_write, from.who.process);
  wire_header answer;
  answer.kind = static_cast<std::uint8_t>(message_kind::atomic_reply);
  answer.operation = header.operation;
  if (at == nullptr || reinterpret_cast<std::uintptr_t>(at) % 8 != 0 || is_far(accelerator_, at)) {
    refuse(from,
           "an atomic operation where no memory of 8 aligned bytes is registered, or it is "
           "an accelerator's");
    answer.flags = failed_flag;
    tell(from, answer);
    return;
  }
  // Sequentially consistent, as users of an atomic operation without a named order expect.
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(at));
  switch (static_cast<atomic_operation>(wanted.what)) {
    case atomic_operation::fetch_add:
      answer.tag = word.fetch_add(wanted.operand);
      break;
    case atomic_operation::swap:
      answer.tag = word.exchange(wanted.operand);
      break;
    case atomic_operation::compare_swap:
      answer.tag = wanted.expected;
      word.compare_exchange_strong(answer.tag, wanted.operand);
      break;
  }
  tell(from, answer);
}

void local_device::on_atomic_reply(peer_state& from, const wire_header& header) noexcept {
  operation* const what = operations_.find(header.operation);
  if (what == nullptr || what->peer != from.number || what->awaited != message_kind::atomic_reply) {
    refuse(from, "it answers an atomic operation that was not asked for");
    return;
  }
  if ((header.flags & failed_flag) != 0)
    what->result = outcome::failed;
  else if (what->old != nullptr)
    *what->old = header.tag;
  what->tag = header.tag;
  finish(*what);
}

}  // namespace weft::comm
