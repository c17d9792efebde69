// What leaves: written by workers as far as the kernel takes it, and the rest by the thread.
#include "parcel/tcp/tcp_connections.hpp"

#if __has_include(<boost/asio/ip/tcp.hpp>)

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::detail {
namespace {

// Writes as much as the kernel takes, from byte `from` on; negative: the connection is broken.
std::ptrdiff_t write_now(int socket, const tcp_frame& frame, std::span<const std::byte> bytes,
                         std::span<const parcel_chunk> chunks, std::size_t from) noexcept {
  iovec parts[2 + parcel_chunks_max];
  std::size_t count = 0;
  const auto add = [&](const void* data, std::size_t size) {
    if (from >= size) {
      from -= size;
      return;
    }
    parts[count++] = {const_cast<char*>(static_cast<const char*>(data)) + from, size - from};
    from = 0;
  };
  add(&frame, sizeof frame);
  add(bytes.data(), bytes.size());
  for (const parcel_chunk& one : chunks) add(one.data, one.size);
  msghdr what{};
  what.msg_iov = parts;
  what.msg_iovlen = count;
  const ssize_t sent = ::sendmsg(socket, &what, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return sent;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS ? 0 : -1;
}

}  // namespace

void tcp_port::reader_and_writer::write_later(peer& to) {
  std::vector<kept_values*> left;
  {
    const std::lock_guard hold(to.out_lock);
    while (to.socket.is_open() && !to.queue.empty()) {
      unsent& one = to.queue.front();
      const std::ptrdiff_t sent =
          write_now(to.socket.native_handle(), one.frame, one.bytes, one.chunks, one.sent);
      if (sent <= 0) break;  // A broken one is told by reading it.
      one.sent += static_cast<std::size_t>(sent);
      to.unsent_bytes.fetch_sub(static_cast<std::size_t>(sent), std::memory_order_relaxed);
      if (one.sent < one.size()) continue;
      if (one.kept != nullptr) left.push_back(one.kept);
      to.queue.pop_front();
    }
    to.is_written = to.socket.is_open() && !to.queue.empty();
    if (to.is_written)
      to.socket.async_wait(tcp::socket::wait_write, [this, &to](const error_code& failure) {
        if (!failure) write_later(to);
      });
  }
  for (kept_values* const one : left) {
    happening gone;
    gone.kept = one;
    of_.tell(std::move(gone));
  }
}

void tcp_port::reader_and_writer::say_end() noexcept {
  for (const auto& one : of_.peers_) {
    if (one == nullptr) continue;
    const std::lock_guard hold(one->out_lock);
    if (!one->socket.is_open() || !one->queue.empty()) continue;
    tcp_frame end;
    end.mark = tcp_mark::end;
    static_cast<void>(write_now(one->socket.native_handle(), end, {}, {}, 0));
  }
}

// Called by workers. `whole`: what else belongs to it.
void tcp_port::write(peer& to, std::span<const std::byte> bytes, outgoing_parcel* whole) noexcept {
  unsent now;
  now.frame.bytes = bytes.size();
  std::span<const parcel_chunk> chunks;
  if (whole != nullptr) chunks = whole->chunks;
  now.frame.chunks = static_cast<std::uint32_t>(chunks.size());
  kept_values* kept = whole != nullptr ? std::exchange(whole->kept, nullptr) : nullptr;
  bool asks = false;
  {
    const std::lock_guard hold(to.out_lock);
    std::size_t all = sizeof now.frame + bytes.size();
    for (const parcel_chunk& one : chunks) all += one.size;
    if (to.socket.is_open()) {
      if (to.queue.empty()) {
        const std::ptrdiff_t sent =
            write_now(to.socket.native_handle(), now.frame, bytes, chunks, 0);
        now.sent = static_cast<std::size_t>(std::max<std::ptrdiff_t>(sent, 0));
      }
      if (now.sent < all) {
        if (whole != nullptr && whole->heap != nullptr) {
          now.heap = std::move(whole->heap);
        } else {
          now.heap = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
          std::memcpy(now.heap.get(), bytes.data(), bytes.size());
          bytes = {now.heap.get(), bytes.size()};
        }
        now.bytes = bytes;
        now.chunks.assign(chunks.begin(), chunks.end());
        now.kept = std::exchange(kept, nullptr);
        to.unsent_bytes.fetch_add(all - now.sent, std::memory_order_relaxed);
        to.queue.push_back(std::move(now));
        asks = !std::exchange(to.is_written, true);
      }
    }
  }
  if (kept != nullptr) kept->free(*kept);
  if (asks) network_->ask_to_write(to);
}

}  // namespace weft::detail

#endif
