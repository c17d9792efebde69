// What the thread does with what comes, and how a connection ends.
#include "parcel/tcp/tcp_connections.hpp"

#if __has_include(<boost/asio/ip/tcp.hpp>)

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

// What is read at once, and what one turn of a connection may read before others get theirs.
constexpr std::size_t block_bytes = 64 * 1024;
constexpr int reads_in_a_turn = 16;
// Messages so short altogether get memory of their own size.
constexpr std::size_t copied_bytes_max = 4096;
// A chunk up to this length is read at once, wherever it belongs; a longer one waits so long for its place.
constexpr std::size_t read_at_once_max = 64 * 1024;
constexpr auto wait_for_place = 20ms;
// Chunks of one process that nobody has asked for yet: what would go beyond waits in the kernel, and at its sender.
constexpr std::size_t unclaimed_bytes_max = std::size_t{64} << 20;
// A process that has gone without a word is dead unless somebody else says so before, who knows more.
constexpr auto silence_max = 2s;
// How often the connections are looked at, and how often the kernel may repeat what nobody answers until the other host counts
// as gone: 6 to 7 s.
constexpr auto between_looks_at_links = 1s;
constexpr int repeats_unanswered_max = 5;

// The kernel of a host answers for processes that only compute, and for those that have no room.
bool is_unanswered(int socket) noexcept {
  tcp_info known = {};
  socklen_t size = sizeof known;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &known, &size) != 0) return false;
  return std::max(known.tcpi_retransmits, known.tcpi_probes) >= repeats_unanswered_max;
}

}  // namespace

void tcp_port::reader_and_writer::wait_to_read(peer& from) {
  if (!from.socket.is_open() || std::exchange(from.is_waited_for, true)) return;
  from.socket.async_wait(tcp::socket::wait_read, [this, &from](const error_code& failure) {
    from.is_waited_for = false;
    if (!failure) read(from);
  });
}

void tcp_port::reader_and_writer::read(peer& from) {
  if (!from.socket.is_open()) return;
  for (int turn = 0; turn < reads_in_a_turn; ++turn)
    if (!read_some(from)) {
      // A chunk that waits for its place is gone on with when that is known, or after a while.
      const bool waits = [&] {
        const std::lock_guard hold(from.in_lock);
        return from.waits_for_place;
      }();
      if (waits) return;
      if (from.ends_when_read) return close(from, nullptr);
      return wait_to_read(from);
    }
  asio::post(context_, [this, &from] { read(from); });
}

bool tcp_port::reader_and_writer::read_some(peer& from) {
  if (!from.socket.is_open()) return false;
  error_code failure;
  std::size_t got = 0;
  if (from.in_chunks) {
    if (from.target == nullptr && !find_place(from)) return false;
    if (from.filled == 0) {
      got = from.socket.read_some(asio::buffer(from.target, from.left), failure);
      from.target += got;
      from.left -= got;
    } else {
      const std::size_t here = std::min(from.filled, from.left);
      std::memcpy(from.target, from.block.get(), here);
      from.target += here;
      from.left -= here;
      from.filled -= here;
      std::memmove(from.block.get(), from.block.get() + here, from.filled);
    }
    if (!failure) {
      if (from.left == 0) end_chunk(from);
      return true;
    }
  } else {
    if (from.block == nullptr) {
      from.block = std::make_unique_for_overwrite<std::byte[]>(block_bytes);
      from.capacity = block_bytes;
    }
    if (from.filled > 0 && take_messages(from)) return true;
    if (!from.socket.is_open()) return false;
    got = from.socket.read_some(
        asio::buffer(from.block.get() + from.filled, from.capacity - from.filled), failure);
    from.filled += got;
    if (!failure) {
      static_cast<void>(take_messages(from));
      return from.socket.is_open();
    }
  }
  if (failure == asio::error::would_block || failure == asio::error::try_again) return false;
  go_silent(from);
  return false;
}

// Whole messages at the beginning of the block. True when any was there.
bool tcp_port::reader_and_writer::take_messages(peer& from) {
  std::size_t whole = 0;
  while (from.filled - whole >= sizeof(tcp_frame)) {
    tcp_frame frame;
    std::memcpy(&frame, from.block.get() + whole, sizeof frame);
    if (const char* const why = why_refused(frame)) {
      close(from, why);
      return false;
    }
    if (frame.mark == tcp_mark::end) {
      from.has_said_end = true;
      whole += sizeof frame;
      continue;
    }
    const std::size_t size = sizeof frame + frame.bytes;
    if (from.filled - whole < size) {
      if (whole == 0 && size > from.capacity) {
        std::unique_ptr<std::byte[]> longer;
        try {
          longer = std::make_unique_for_overwrite<std::byte[]>(size);
        } catch (const std::bad_alloc&) {
          close(from, "there is no memory for a message from there");
          return false;
        }
        std::memcpy(longer.get(), from.block.get(), from.filled);
        from.block = std::move(longer);
        from.capacity = size;
      }
      break;
    }
    auto told = chunks_of({from.block.get() + whole + sizeof frame, frame.bytes}, frame.chunks);
    if (!told && frame.chunks != 0) {
      close(from, "a message whose chunks are not what it says");
      return false;
    }
    whole += size;
    if (frame.chunks != 0) {
      {
        const std::lock_guard hold(from.in_lock);
        const auto [at, is_new] = from.gatherings.try_emplace(told->word);
        if (is_new) {
          at->second.early.resize(told->sizes.size());
          at->second.sizes = std::move(told->sizes);
        }
        if (!is_new) whole = 0;
      }
      if (whole == 0) {
        close(from, "a message with chunks that are under way");
        return false;
      }
      from.in_chunks = true;
      from.word = told->word;
      break;
    }
  }
  if (whole == 0) return false;
  hand_over(from, whole);
  return true;
}

void tcp_port::reader_and_writer::hand_over(peer& from, std::size_t bytes) {
  happening came;
  came.process = from.process;
  came.bytes = bytes;
  const std::size_t rest = from.filled - bytes;
  if (bytes <= copied_bytes_max && from.capacity == block_bytes) {
    came.messages = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::memcpy(came.messages.get(), from.block.get(), bytes);
    std::memmove(from.block.get(), from.block.get() + bytes, rest);
  } else {
    came.messages = std::exchange(
        from.block, std::make_unique_for_overwrite<std::byte[]>(std::max(block_bytes, rest)));
    from.capacity = std::max(block_bytes, rest);
    std::memcpy(from.block.get(), came.messages.get() + bytes, rest);
  }
  from.filled = rest;
  of_.tell(std::move(came));
}

// Finds where the next chunk goes to. False: it is not known yet.
bool tcp_port::reader_and_writer::find_place(peer& from) {
  const std::lock_guard hold(from.in_lock);
  gathering& of = from.gatherings.find(from.word)->second;
  from.left = of.sizes[of.done];
  if (!of.places.empty()) {
    from.target = of.places[of.done].data();
    return true;
  }
  const bool has_waited = std::exchange(from.waits_for_place, true);
  // There is no timer: somebody who receives this or another one asks to go on. Until then TCP holds the sender back.
  if (from.unclaimed_bytes + from.left > unclaimed_bytes_max) return false;
  if (from.left > read_at_once_max && !has_waited) {
    from.waits.expires_after(wait_for_place);
    from.waits.async_wait([this, &from](const error_code& failure) {
      if (!failure) read(from);
    });
    return false;
  }
  try {
    from.early = std::make_unique_for_overwrite<std::byte[]>(from.left);
  } catch (const std::bad_alloc&) {
    asio::post(context_, [this, &from] { close(from, "there is no memory for its chunks"); });
    return false;
  }
  from.waits_for_place = false;
  from.unclaimed_bytes += from.left;
  from.target = from.early.get();
  return true;
}

void tcp_port::reader_and_writer::end_chunk(peer& from) {
  happening came;
  {
    const std::lock_guard hold(from.in_lock);
    const auto at = from.gatherings.find(from.word);
    gathering& of = at->second;
    from.target = nullptr;
    from.waits_for_place = false;
    if (from.early != nullptr) {
      if (of.places.empty()) {
        of.early[of.done] = std::move(from.early);
      } else {
        std::memcpy(of.places[of.done].data(), from.early.get(), of.sizes[of.done]);
        from.unclaimed_bytes -= of.sizes[of.done];
        from.early.reset();
      }
    }
    if (++of.done < of.sizes.size()) return;
    from.in_chunks = false;
    if (of.places.empty()) return;
    came.process = from.process;
    came.then = of.then;
    came.chunks = static_cast<std::uint32_t>(of.sizes.size());
    from.gatherings.erase(at);
  }
  of_.tell(std::move(came));
}

// A link that is cut closes no connection.
void tcp_port::reader_and_writer::look_at_links() {
  for (const auto& one : of_.peers_) {
    if (one == nullptr || !one->socket.is_open() || !is_unanswered(one->socket.native_handle()))
      continue;
    close(*one, nullptr);
    of_.between_.mark_failed(one->process,
                             said_of(one->process, "is broken: its host does not answer"));
  }
  links_.expires_after(between_looks_at_links);
  links_.async_wait([this](const error_code& failure) {
    if (!failure) look_at_links();
  });
}

// The other side has closed the connection, or it broke.
void tcp_port::reader_and_writer::go_silent(peer& of) {
  if (of.has_said_end) return close(of, nullptr);
  close(of, nullptr);
  of.silence.expires_after(silence_max);
  of.silence.async_wait([this, &of](const error_code& failure) {
    if (failure) return;
    of_.between_.mark_failed(of.process, said_of(of.process, "has ended without a word"));
  });
}

// `why`: what has come from there, where that is to be told. Nothing more comes from there or goes there.
void tcp_port::reader_and_writer::close(peer& of, const char* why) {
  std::deque<unsent> left;
  {
    const std::lock_guard hold(of.out_lock);
    if (!of.socket.is_open()) return;
    error_code ignored;
    of.socket.close(ignored);
    of.is_closed.store(true, std::memory_order_relaxed);
    left.swap(of.queue);
    of.unsent_bytes.store(0, std::memory_order_relaxed);
  }
  of.waits.cancel();
  for (unsent& one : left)
    if (one.kept != nullptr) {
      happening gone;
      gone.kept = one.kept;
      of_.tell(std::move(gone));
    }
  std::vector<chunked_task*> given_up;
  {
    const std::lock_guard hold(of.in_lock);
    of.is_broken = true;
    for (auto& [word, one] : of.gatherings)
      if (one.then != nullptr) given_up.push_back(std::exchange(one.then, nullptr));
    of.gatherings.clear();
  }
  for (chunked_task* const then : given_up) {
    happening gone;
    gone.process = of.process;
    gone.then = then;
    gone.is_complete = false;
    of_.tell(std::move(gone));
  }
  happening last;
  last.process = of.process;
  last.ends = true;
  of_.tell(std::move(last));
  if (why == nullptr) return;
  happening told;
  told.process = of.process;
  told.refused = why;
  of_.tell(std::move(told));
  of_.between_.mark_failed(of.process, said_of(of.process, formatted("was closed: {}", why)));
}

}  // namespace weft::detail

#endif
