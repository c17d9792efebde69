#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include "base/assert.hpp"
#include "base/format.hpp"
#include "base/kept_errno.hpp"
#include "base/limits.hpp"
#include "transport/ofi/endpoint.hpp"

namespace weft {

namespace {

constexpr std::size_t segments_max = 8;

std::byte* copy_parts(std::byte* to, wire_parts parts) noexcept {
  for (const auto part : parts) {
    if (part.empty()) continue;
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
  return to;
}

}  // namespace

void ofi_transport::note_envelope(std::byte* to, std::uint32_t peer) const noexcept {
  const ofi_envelope envelope{peers_[peer].key, self_,
                              static_cast<std::uint32_t>(peers_[peer].sent)};
  std::memcpy(to, &envelope, sizeof envelope);
}

// A message that the provider does not take is sealed again, or another one in its place with the same number: only what
// leaves the process counts.
bool ofi_transport::seal(std::byte* to, std::size_t size, std::uint32_t peer) noexcept {
  sealed_channel* const channel = channel_with(peer);
  if (channel == nullptr) return false;
  const std::uint64_t number = peers_[peer].sent;
  ofi_sealed_envelope envelope{self_, static_cast<std::uint32_t>(number), {}};
  const std::span<std::byte> message(to + sizeof envelope, size - sizeof envelope);
  if (!channel->seal(number, message, envelope.code.data())) {
    fail(peer, "libcrypto cannot seal a message to it");
    return false;
  }
  std::memcpy(to, &envelope, sizeof envelope);
  return true;
}

[[gnu::noinline]] sealed_channel* ofi_transport::make_channel(std::uint32_t peer) noexcept {
  peer_state& with = peers_[peer];
  if (peer == self_ || !reaches(peer)) return nullptr;
  try {
    with.channel =
        keys_for_seals_->channel_with(peer_addresses_[peer].sealing, self_, peer, traits_.protects);
  } catch (const std::exception& refusal) {
    fail(peer, refusal.what());
  }
  return with.channel.get();
}

void ofi_transport::know(peer_state& peer) noexcept {
  if (peer.is_known) return;
  peer.is_known = true;
  known_.push_back(static_cast<std::uint32_t>(&peer - peers_.data()));
}

status ofi_transport::send(std::uint32_t peer, const wire_header& header, wire_parts parts,
                           void* context) noexcept {
  const kept_errno kept;
  const peer_state& to = peers_[peer];
  if (to.has_failed || to.has_left) [[unlikely]]
    return status::failed;
  std::size_t size = head_bytes_;
  for (const auto part : parts) size += part.size();
  WEFT_ASSERT(size <= large_packets_->packet_bytes());
  if (peer == self_) [[unlikely]]
    return send_to_self(header, parts, size);
  if (size <= inject_bytes_) return inject(peer, header, parts, size);
  if (size <= ofi_packet_bytes) [[likely]]
    return send_packet(*packets_, peer, header, parts);
  // Where memory must be registered the caller's is not, so that it is copied as well; and what is sealed is.
  const bool fits = parts.size() < std::min(info_->tx_attr->iov_limit, segments_max);
  if (context != nullptr && fits && !traits_.needs_registration && !is_sealed())
    return send_gathered(peer, header, parts, context);
  return send_packet(*large_packets_, peer, header, parts);
}

// What libfabric said to an attempt to send; counts the message that it took.
status ofi_transport::sent(std::uint32_t peer, long result) noexcept {
  peer_state& to = peers_[peer];
  know(to);
  if (result == 0) [[likely]] {
    ++to.sent;
    to.was_sent_to = true;
    to.notes_due = ofi_following_notes;
    return status::done;
  }
  if (result == -FI_EAGAIN) {
    to.was_refused = true;
    // The caller may try again at once; connections are made by making progress.
    (void)fi_cq_read(queue_.get(), nullptr, 0);
    return status::retry;
  }
  fail(peer, formatted("libfabric cannot send to it: {}",
                       libfabric().strerror(static_cast<int>(-result))));
  return status::failed;
}

status ofi_transport::inject(std::uint32_t peer, const wire_header& header, wire_parts parts,
                             std::size_t size) noexcept {
  alignas(16) std::array<std::byte, ofi_packet_bytes> message;
  std::memcpy(message.data() + envelope_bytes_, &header, sizeof header);
  copy_parts(message.data() + head_bytes_, parts);
  if (!close_envelope(message.data(), size, peer)) return status::failed;
  return sent(peer, fi_inject(endpoint_.get(), message.data(), size, peers_[peer].address));
}

status ofi_transport::send_packet(operation_pool& pool, std::uint32_t peer,
                                  const wire_header& header, wire_parts parts) noexcept {
  operation* const packet = pool.take();
  if (packet == nullptr) return status::retry;
  std::memcpy(packet->memory + envelope_bytes_, &header, sizeof header);
  const std::byte* const end = copy_parts(packet->memory + head_bytes_, parts);
  const auto size = static_cast<std::size_t>(end - packet->memory);
  if (!close_envelope(packet->memory, size, peer)) {
    pool.give_back(*packet);
    return status::failed;
  }
  packet->peer = peer;
  const status said = sent(peer, fi_send(endpoint_.get(), packet->memory, size, packet->descriptor,
                                         peers_[peer].address, packet));
  if (said != status::done) pool.give_back(*packet);
  return said;
}

// Providers make a connection even to themselves, and tcp;ofi_rxm of libfabric 1.17 gets it wrong.
status ofi_transport::send_to_self(const wire_header& header, wire_parts parts,
                                   std::size_t size) noexcept {
  operation* const packet = (size <= ofi_packet_bytes ? *packets_ : *large_packets_).take();
  if (packet == nullptr) return status::retry;
  std::memcpy(packet->memory, &header, sizeof header);
  const std::byte* const end = copy_parts(packet->memory + sizeof header, parts);
  packet->size = static_cast<std::size_t>(end - packet->memory);
  packet->peer = self_;
  packet->next = nullptr;
  (first_to_self_ == nullptr ? first_to_self_ : last_to_self_->next) = packet;
  last_to_self_ = packet;
  return status::done;
}

// Envelope and header from a packet, the parts from where they are.
status ofi_transport::send_gathered(std::uint32_t peer, const wire_header& header, wire_parts parts,
                                    void* context) noexcept {
  operation* const packet = packets_->take();
  if (packet == nullptr) return status::retry;
  note_envelope(packet->memory, peer);
  std::memcpy(packet->memory + envelope_bytes_, &header, sizeof header);
  std::array<iovec, segments_max> segments;
  segments[0] = {packet->memory, head_bytes_};
  std::size_t count = 1;
  for (const auto part : parts)
    if (!part.empty()) segments[count++] = {const_cast<std::byte*>(part.data()), part.size()};
  packet->peer = peer;
  packet->context = context;
  const status said = sent(peer, fi_sendv(endpoint_.get(), segments.data(), nullptr, count,
                                          peers_[peer].address, packet));
  if (said == status::done) return status::posted;
  packets_->give_back(*packet);
  return said;
}

// A message of the transport's own. False when there was no room. A farewell is complete when the
// peer has it, and with it all that was sent before: libfabric's tcp says that a message is sent
// when it is in a buffer of its own, which goes when the connection is closed.
bool ofi_transport::send_note(std::uint32_t peer, note what) noexcept {
  operation* const packet = packets_->take();
  if (packet == nullptr) return false;
  peer_state& to = peers_[peer];
  std::size_t size = envelope_bytes_ + ofi_note_bytes;
  packet->memory[envelope_bytes_] = static_cast<std::byte>(what);
  if (is_sealed()) {
    std::memcpy(packet->memory + size, &to.received, sizeof to.received);
    size = envelope_bytes_ + ofi_sealed_note_bytes;
  }
  if (!close_envelope(packet->memory, size, peer)) {
    packets_->give_back(*packet);
    return false;
  }
  packet->peer = peer;
  iovec bytes = {packet->memory, size};
  fi_msg message = {};
  message.msg_iov = &bytes;
  message.desc = &packet->descriptor;
  message.iov_count = 1;
  message.addr = peers_[peer].address;
  message.context = packet;
  const bool to_the_end = what != note::are_you_there && completes_at_peer_;
  const std::uint64_t flags = FI_COMPLETION | (to_the_end ? FI_DELIVERY_COMPLETE : 0);
  const std::uint8_t notes_due = to.notes_due;
  const status said = sent(peer, fi_sendmsg(endpoint_.get(), &message, flags));
  // No further note follows a note.
  to.notes_due = notes_due;
  if (said != status::done) packets_->give_back(*packet);
  return said == status::done;
}

status ofi_transport::put(std::uint32_t peer, std::span<const std::byte> local,
                          const memory_region* region, const remote_key& key, std::uint64_t offset,
                          void* context) noexcept {
  return remote(true, peer, const_cast<std::byte*>(local.data()), local.size(), region, key, offset,
                context);
}

status ofi_transport::put_and_tell(std::uint32_t peer, std::span<const std::byte> local,
                                   const memory_region* region, const remote_key& key,
                                   std::uint64_t offset, std::uint64_t word,
                                   void* context) noexcept {
  WEFT_ASSERT(peer != self_ && !local.empty());
  return remote(true, peer, const_cast<std::byte*>(local.data()), local.size(), region, key, offset,
                context, &word);
}

status ofi_transport::get(std::uint32_t peer, std::span<std::byte> local,
                          const memory_region* region, const remote_key& key, std::uint64_t offset,
                          void* context) noexcept {
  return remote(false, peer, local.data(), local.size(), region, key, offset, context);
}

status ofi_transport::remote(bool is_put, std::uint32_t peer, std::byte* local, std::size_t size,
                             const memory_region* region, const remote_key& key,
                             std::uint64_t offset, void* context,
                             const std::uint64_t* told) noexcept {
  const kept_errno kept;
  // Nothing here is done at once.
  WEFT_ASSERT(context != nullptr);
  peer_state& to = peers_[peer];
  const std::uint64_t region_bytes = key.words[2];
  if (to.has_failed || to.has_left || offset > region_bytes || size > region_bytes - offset)
    return status::failed;
  if (size == 0) return status::done;
  if (peer == self_) {
    auto* const memory = reinterpret_cast<std::byte*>(key.words[1] + offset);
    std::memcpy(is_put ? memory : local, is_put ? local : memory, size);
    return status::done;
  }
  operation* const under_way = remotes_->take();
  if (under_way == nullptr) return status::retry;
  under_way->peer = peer;
  under_way->context = context;
  iovec here = {local, size};
  const bool by_address = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  fi_rma_iov there = {offset + (by_address ? key.words[1] : 0), size, key.words[0]};
  const bool is_registered = region != nullptr && region->handle != nullptr;
  void* descriptor = is_registered ? fi_mr_desc(static_cast<fid_mr*>(region->handle)) : nullptr;
  fi_msg_rma message = {};
  message.msg_iov = &here;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = to.address;
  message.rma_iov = &there;
  message.rma_iov_count = 1;
  message.context = under_way;
  if (told != nullptr) message.data = *told ^ to.key;  // See complete().
  const std::uint64_t tells = told != nullptr ? FI_REMOTE_CQ_DATA : 0;
  const long result =
      is_put ? fi_writemsg(endpoint_.get(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE | tells)
             : fi_readmsg(endpoint_.get(), &message, FI_COMPLETION);
  know(to);
  if (result == 0) {
    to.was_sent_to = true;
    return status::posted;
  }
  remotes_->give_back(*under_way);
  if (result == -FI_EAGAIN) {
    to.was_refused = true;
    (void)fi_cq_read(queue_.get(), nullptr, 0);
    return status::retry;
  }
  // Some, as cxi, have immediate data of messages, and none of writes.
  if (told != nullptr && (result == -FI_EBADFLAGS || result == -FI_ENOSYS ||
                          result == -FI_EOPNOTSUPP || result == -FI_EINVAL)) {
    traits_.can_tell_put = false;
    return status::retry;
  }
  fail(peer, formatted("libfabric cannot {} its memory: {}", is_put ? "write" : "read",
                       libfabric().strerror(static_cast<int>(-result))));
  return status::failed;
}

}  // namespace weft
