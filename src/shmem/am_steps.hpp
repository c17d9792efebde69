// Active messages by their steps, each a file: sending into the queue of a PE of this process (am_sending.cpp), to and from
// other processes (am_between.cpp), handlers and what runs them (am_handling.cpp), calls with a reply and the end of all
// messages (am_replies.cpp). What these use of each other; called by the PE, on its worker or by a thread of it, unless
// said otherwise.
#pragma once
#include "profile/counted_wait.hpp"
#include "remote/words.hpp"
#include "shmem/core.hpp"

namespace weft::shmem {

// Ids of weft's own.
inline constexpr std::uint32_t reply_id = 0x7fff'ffff;
inline constexpr std::uint32_t bundle_id = 0x7fff'fffe;

using remote::high_of;
using remote::low_of;
using remote::two;

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
// Sends to any PE; waits while there is no room.
void write_to(pe_state& me, const char* name, int pe, std::uint32_t id, std::uint32_t call,
              const void* payload, std::size_t length);
// Throws when the arguments of a message are wrong.
void check_message(pe_state& me, int id, const void* payload, std::size_t length);
// Sends what the session of the default context has gathered for that PE.
void send_gathered_for(pe_state& me, const char* call, int pe);

// --- Between processes --------------------------------------------------------------------------
// Parts the queue of a PE between those of its process and the others. Called by shmem_init.
void share_out_queue(pe_state& me);
[[nodiscard]] bool has_far_room(const pe_state& me, int pe, std::size_t bytes) noexcept;
void write_far(pe_state& me, const char* name, int pe, std::uint32_t id, std::uint32_t call,
               const void* payload, std::size_t length);
// Tells a source in another process that so many messages of it have been handled, and that so many bytes are free.
void tell_handled_far(pe_state& me, int source, std::uint64_t count, std::size_t bytes);
// Tells what tell_handled_far() has left to an answer that has not come.
void tell_all_owed(pe_state& me);
inline void tell_owed(pe_state& me) {
  if (!me.messages.told_later.empty()) [[unlikely]]
    tell_all_owed(me);
}
// Handlers have sent, and the program may compute now: what the device gathers goes.
void send_what_handlers_sent(pe_state& me) noexcept;

// --- Handling -----------------------------------------------------------------------------------
// Runs the handlers of what has come. Returns how many messages there were, replies left out. An error of a handler is
// one of `call`.
int handle_all(pe_state& me, const char* call, void* args_p);
// Whether there is a message that the caller may handle.
[[nodiscard]] bool has_message(const pe_state& me) noexcept;

// Returns when a message has come, or when `or_when()` is true.
template <class Holds>
void wait_for_message(pe_state& me, const char* call, const Holds& or_when) {
  tell_owed(me);
  const auto is_over = [&]() noexcept { return has_message(me) || or_when(); };
  if (!tracing() || detail::goes_on_beside(*me.rank.home)) [[likely]]
    return me.rank.home->wait_until(is_over, {call});
  if (is_over()) return;
  const profile::counted_wait counted(
      [&me] { return me.number; }, call,
      profile::awaited_cause{trace_kind::wait_memory, profile::wait_state::late_sender,
                             [&me] { return std::array{profile::key_of_queue(me.number)}; }});
  me.rank.home->wait_until(is_over, {call});
}

// --- Replies ------------------------------------------------------------------------------------
// A reply has come to a call of this PE.
void finish_call(pe_state& me, const am_record& reply, const std::byte* data, std::size_t length);

}  // namespace weft::shmem
