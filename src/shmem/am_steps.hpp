// Active messages by their steps, each a file: sending into the queue of a PE of this process (am_sending.cpp), to and from
// other processes (am_between.cpp), handlers and what runs them (am_handling.cpp), calls with a reply and the end of all
// messages (am_replies.cpp). What these use of each other; called by the PE, on its worker or by a thread of it, unless
// said otherwise.
#pragma once
#include "shmem/core.hpp"

namespace weft::shmem {

// Ids of weft's own.
inline constexpr std::uint32_t reply_id = 0x7fff'ffff;
inline constexpr std::uint32_t bundle_id = 0x7fff'fffe;

// Two numbers in a word of a message.
[[nodiscard]] inline std::uint64_t two(std::uint64_t high, std::uint64_t low) noexcept {
  return high << 32 | low;
}
[[nodiscard]] inline std::uint32_t high_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both >> 32);
}
[[nodiscard]] inline std::uint32_t low_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both);
}

// --- Sending ------------------------------------------------------------------------------------
[[gnu::cold]] void make_queue(pe_state& to, std::size_t writer);
// The queue that this worker writes for that PE of the process. Called by the worker.
[[nodiscard]] inline am_queue& queue_to(const worker& writer, pe_state& to) {
  const auto own = static_cast<std::size_t>(writer.index());
  std::unique_ptr<am_queue>& mine = to.messages.storage[own];  // Only this worker's ranks write it.
  if (mine == nullptr) [[unlikely]]
    make_queue(to, own);
  return *mine;
}
// To any PE; waits while there is no room.
void write_to(pe_state& me, const char* name, int pe, std::uint32_t id, std::uint32_t call,
              const void* payload, std::size_t length);
// Throws when the arguments of a message are wrong.
void check_message(pe_state& me, int id, const void* payload, std::size_t length);
// What the session of the default context has gathered for that PE; null: nothing.
[[nodiscard]] am_bundle* gathered_for(pe_state& me, int pe) noexcept;

// --- Between processes --------------------------------------------------------------------------
[[nodiscard]] bool has_far_room(const pe_state& me, int pe, std::size_t bytes) noexcept;
void write_far(pe_state& me, const char* name, int pe, std::uint32_t id, std::uint32_t call,
               const void* payload, std::size_t length);
// Tells a source in another process that so many messages of it have been handled, and that so many bytes are free.
void tell_handled_far(pe_state& me, int source, std::uint64_t count, std::size_t bytes);

// --- Handling -----------------------------------------------------------------------------------
// Runs the handlers of what has come. Returns how many messages there were, replies left out.
int handle_all(pe_state& me, void* args_p);
// That the caller may handle.
[[nodiscard]] bool has_message(const pe_state& me) noexcept;

// Returns when a message has come, or when `or_when()` is true.
template <class Holds>
void wait_for_message(pe_state& me, const char* call, const Holds& or_when) {
  const auto is_over = [&]() noexcept { return has_message(me) || or_when(); };
  if (!tracing() || detail::goes_on_beside(*me.rank.home)) [[likely]]
    return me.rank.home->wait_until(is_over, {call});
  if (is_over()) return;
  struct counted_wait {
    const pe_state& me;
    counted_wait(const pe_state& pe, const char* name) : me(pe) {
      accounts::begin_caused_wait(me.number, trace_kind::wait_memory, name);
    }
    ~counted_wait() {
      const std::uint64_t key = accounts::key_of_queue(me.number);
      accounts::end_caused_wait(me.number, trace_kind::wait_memory,
                                accounts::wait_state::late_sender, std::span(&key, 1));
    }
  } const counted(me, call);
  me.rank.home->wait_until(is_over, {call});
}

// --- Replies ------------------------------------------------------------------------------------
// A reply has come to a call of this PE.
void finish_call(pe_state& me, const am_record& reply, const std::byte* data, std::size_t length);

}  // namespace weft::shmem
