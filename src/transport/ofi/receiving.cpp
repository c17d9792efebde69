#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "transport/ofi/endpoint.hpp"

namespace weft {

int ofi_transport::poll(arrivals& to, int budget) noexcept {
  int told = 0;
  if (is_marked_.load(std::memory_order_relaxed)) [[unlikely]]
    take_marks();
  if (early_) [[unlikely]] {
    const fi_cq_data_entry entry = *std::exchange(early_, std::nullopt);
    told += complete(entry, to);
  }
  if (first_to_self_ != nullptr) told += receive_from_self(to, budget);
  constexpr std::size_t batch = 16;
  std::array<fi_cq_data_entry, batch> entries;
  const auto wanted = std::clamp<std::size_t>(static_cast<std::size_t>(budget), 1, batch);
  const ssize_t found = fi_cq_read(queue_.get(), entries.data(), wanted);
  if (found > 0) {
    for (ssize_t i = 0; i < found; ++i) told += complete(entries[static_cast<std::size_t>(i)], to);
  } else if (found == -FI_EAVAIL) [[unlikely]] {
    told += complete_failed(to);
  }
  if (!failures_.empty()) [[unlikely]]
    told += tell_failures(to, found > 0);
  if (!unposted_.empty()) [[unlikely]]
    post_refused();
  // Only when the provider has looked at its sockets and found nothing: notes say what has been received.
  if (told == 0 && found == -FI_EAGAIN && ticks() - watched_at_ > watch_ticks_) [[unlikely]]
    watch();
  return told;
}

// Returns how many things it told.
int ofi_transport::complete(const fi_cq_data_entry& entry, arrivals& to) noexcept {
  if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) [[unlikely]] {  // Uses none of the buffers.
    // Anybody may say it, with a write of nothing: a word of who does not know the key names nothing. Nobody who seals
    // messages writes.
    if (is_sealed()) return 0;
    to.written(entry.data ^ key_);
    return 1;
  }
  operation& done = *static_cast<operation*>(entry.op_context);
  if (done.kind == operation_kind::receive) {
    const int told = receive({done.memory, entry.len}, to);
    post_receive(done);
    return told;
  }
  void* const context = done.context;
  done.owner->give_back(done);
  if (context == nullptr) return 0;
  to.completed(context, false);
  return 1;
}

int ofi_transport::complete_failed(arrivals& to) noexcept {
  fi_cq_err_entry error = {};
  if (fi_cq_readerr(queue_.get(), &error, 0) != 1 || error.op_context == nullptr) return 0;
  operation& failed = *static_cast<operation*>(error.op_context);
  const std::uint32_t peer = failed.peer;
  if (failed.kind == operation_kind::receive) {
    // Of a connection that broke in the middle of a message, or of a message that does not fit.
    const bool too_long = error.err == FI_ETRUNC || error.err == FI_EMSGSIZE;
    const int told = too_long ? refuse(self_, ofi_verdict::too_long, to) : 0;
    post_receive(failed);
    return told;
  }
  void* const context = failed.context;
  const bool was_message = failed.kind == operation_kind::send;
  failed.owner->give_back(failed);
  if (context != nullptr) to.completed(context, true);
  // A put or get may fail alone, if what it named was wrong. A message that is lost breaks the
  // order of all that follow.
  const bool is_only_this = error.err == FI_EACCES || error.err == FI_EINVAL ||
                            error.err == FI_ENOKEY || error.err == FI_EPERM;
  if (was_message || !is_only_this)
    fail(peer, formatted("its connection broke: {}", libfabric().strerror(error.err)));
  return context != nullptr ? 1 : 0;
}

long ofi_transport::give_to_provider(operation& buffer) noexcept {
  return fi_recv(endpoint_.get(), buffer.memory, buffers_->packet_bytes(), buffer.descriptor,
                 FI_ADDR_UNSPEC, &buffer);
}

void ofi_transport::post_receive(operation& buffer) noexcept {
  if (give_to_provider(buffer) != 0) [[unlikely]]
    unposted_.push_back(&buffer);
}

void ofi_transport::post_refused() noexcept {
  long result = 0;
  std::erase_if(unposted_, [&](operation* buffer) {
    result = give_to_provider(*buffer);
    return result == 0;
  });
  if (has_no_buffer_posted() && result != -FI_EAGAIN) fail_all(result);
}

int ofi_transport::receive_from_self(arrivals& to, int budget) noexcept {
  int told = 0;
  // What a callback sends to this endpoint comes behind.
  while (first_to_self_ != nullptr && told < budget) {
    operation* const packet = std::exchange(first_to_self_, first_to_self_->next);
    wire_header header;
    std::memcpy(&header, packet->memory, sizeof header);
    to.delivered(self_, header, {packet->memory + sizeof header, packet->size - sizeof header});
    packet->owner->give_back(*packet);
    ++told;
  }
  return told;
}

int ofi_transport::refuse(std::uint32_t peer, ofi_verdict why, arrivals& to) noexcept {
  to.refused(peer, why_refused(why));
  return 1;
}

int ofi_transport::receive(std::span<std::byte> bytes, arrivals& to) noexcept {
  const auto received = [this](std::uint32_t sender) noexcept { return peers_[sender].received; };
  const auto opens = [this](std::uint32_t sender, std::uint64_t number,
                            std::span<std::byte> message, const std::byte* code) noexcept {
    sealed_channel* const channel = channel_with(sender);
    return channel != nullptr && channel->open(number, message, code);
  };
  const ofi_arrival arrived = is_sealed() ? judge_sealed(bytes, peers_.size(), received, opens)
                                          : judge(bytes, key_, peers_.size(), received);
  if (arrived.verdict != ofi_verdict::message) [[unlikely]]
    return receive_other(arrived, bytes, to);
  peer_state& from = peers_[arrived.sender];
  if (from.is_told || from.has_left) [[unlikely]]
    return 0;
  count(from);
  bytes = bytes.subspan(envelope_bytes_);
  wire_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  to.delivered(arrived.sender, header, bytes.subspan(sizeof header));
  return 1;
}

// All that is no message.
[[gnu::noinline]] int ofi_transport::receive_other(const ofi_arrival& arrived,
                                                   std::span<const std::byte> bytes,
                                                   arrivals& to) noexcept {
  const ofi_verdict verdict = arrived.verdict;
  if (verdict == ofi_verdict::no_envelope || verdict == ofi_verdict::unknown_sender)
    return refuse(self_, verdict, to);
  if (verdict == ofi_verdict::foreign || verdict == ofi_verdict::forged)
    return refuse(arrived.sender, verdict, to);
  peer_state& from = peers_[arrived.sender];
  if (from.is_told || from.has_left) return 0;
  if (verdict == ofi_verdict::repeated) return refuse(arrived.sender, verdict, to);
  if (verdict == ofi_verdict::gap) {
    fail(arrived.sender, formatted("{} of its messages {}", arrived.ahead,
                                   is_sealed() ? "changed, held back or lost on the way"
                                               : "lost when a connection broke"));
    return 0;
  }
  count(from);
  if (verdict == ofi_verdict::no_header) return refuse(arrived.sender, verdict, to);
  take_note(arrived.sender, bytes.subspan(envelope_bytes_));
  return 0;
}

void ofi_transport::take_note(std::uint32_t peer, std::span<const std::byte> what) noexcept {
  peer_state& from = peers_[peer];
  if (what[0] == static_cast<std::byte>(note::death)) return fail(peer, "its job has failed");
  from.has_left = what[0] == static_cast<std::byte>(note::farewell);
  if (!is_sealed()) return;
  const std::uint64_t before = from.confirmed;
  std::memcpy(&from.confirmed, what.data() + ofi_note_bytes, sizeof from.confirmed);
  if (from.has_left || from.confirmed >= from.marked ||
      from.looks_since_mark < ofi_unconfirmed_looks_max) {
    from.stale_since_ns = 0;
    return;
  }
  // The peer may have computed for long, and half of a message may have come: it goes on, and its next note says so.
  const std::uint64_t now = now_ns();
  if (from.stale_since_ns == 0 || from.confirmed != before)
    from.stale_since_ns = now;
  else if (now - from.stale_since_ns >= ofi_stale_note_ns)
    fail(peer, formatted("{} messages to it held back on the way", from.marked - from.confirmed));
}

}  // namespace weft
