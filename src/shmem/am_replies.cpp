// Calls with a reply, and the end of all messages.
#include <algorithm>
#include <cstring>
#include <utility>

#include "shmem/am_steps.hpp"
#include "shmem/race_notes.hpp"

namespace weft::shmem {
namespace {

bool all_handled(const pe_state& me) noexcept {
  return me.messages.sent_and_handled.value() == me.messages.sent;
}

}  // namespace

void finish_call(pe_state& me, const am_record& reply, const std::byte* data, std::size_t length) {
  const auto waiting = me.messages.calls.take(reply.call(), reply.source());
  if (!waiting) return;
  am_call_slot& slot = **waiting;
  slot.length = length;
  if (const std::size_t fits = std::min(length, slot.reply_max); fits != 0)
    std::memcpy(slot.reply, data, fits);
  slot.done = true;
}

void am_reply(const char* call, const void* data, std::size_t length) {
  in_call(call, [&](pe_state& me) {
    const void* const by = me.messages.handled_by;  // Null where the PE has no threads.
    const am_record* const to =
        by == nullptr || by == this_thread() ? me.messages.replies_to : nullptr;
    if (to == nullptr) fail("called outside of handlers: there is nothing to reply to");
    if (to->call() == 0)
      fail("PE {} has sent this message by shmemx_am_send_nbi, which wants no reply", to->source());
    if (me.messages.replied) fail("called twice in one handler: a message has one reply");
    if (length > me.settings.am_payload_bytes)
      fail("length {}: a reply may have {} bytes", length, me.settings.am_payload_bytes);
    me.messages.replied = true;
    write_to(me, call, to->source(), reply_id, to->call(), data, length);
  });
}

std::size_t am_call(const char* call, int id, const void* payload, std::size_t length, int pe,
                    void* reply, std::size_t reply_max, void* args_p) {
  return in_call(call, [&](pe_state& me) {
    check_not_in_handler(me);
    check_message(me, id, payload, length);
    const int target = checked_pe(me, nullptr, pe);
    if (reply_max != 0) check_place("reply", reply);
    am_call_slot slot{reply, reply_max};
    const std::uint32_t name = me.messages.calls.add(&slot, target);
    if (name == 0) fail("a PE may have {} calls under way", me.messages.calls.entries_max);
    send_gathered_for(me, call, target);
    ++me.messages.sent;
    write_to(me, call, target, static_cast<std::uint32_t>(id), name, payload, length);
    while (!slot.done) {
      send_all_gathered(me, call);
      wait_for_message(me, call, [&]() noexcept { return slot.done; });
      (void)handle_all(me, call, args_p);
    }
    if (slot.length > reply_max)
      fail("PE {} has replied with {} bytes, of which {} have room: pass a larger reply_max", pe,
           slot.length, reply_max);
    return slot.length;
  });
}

void am_quiet(const char* call, void* args_p) {
  in_call(call, [&](pe_state& me) {
    check_not_in_handler(me);
    while (!all_handled(me)) {
      send_all_gathered(me, call);  // Handlers may have sent, too.
      wait_for_message(me, call, [&]() noexcept { return all_handled(me); });
      (void)handle_all(me, call, args_p);
    }
    note_learnt(me);  // What the handlers have done.
  });
}

// All have been handled when two counts in a row are the same, with as many handled as sent: a message that was under
// way at the first has been handled by the second, or made it differ.
void am_barrier_all(const char* call, void* args_p) {
  in_call(call, [&](pe_state& me) {
    check_not_in_handler(me);
    const communicator& all = *world_team(me).ranks;
    send_all_gathered(me, call);
    me.memory->quiet(me.operations);
    note_quiet(me, me.operations);
    struct counts {
      std::uint64_t sent, handled;
    };
    const auto sum = [](const counts& a, const counts& b) {
      return counts{a.sent + b.sent, a.handled + b.handled};
    };
    counts before{0, 1};
    for (;;) {
      while (handle_all(me, call, args_p) != 0) {
      }
      send_all_gathered(me, call);
      const counts mine{me.messages.sent, me.messages.handled};
      counts now{};
      // Meanwhile others may wait for handlers of this PE before they come.
      request adding = all.iallreduce(mine, now, sum);
      const auto is_complete = [&]() noexcept { return adding.started()->complete; };
      while (!is_complete()) {
        wait_for_message(me, call, is_complete);
        (void)handle_all(me, call, args_p);
        send_all_gathered(me, call);
      }
      adding.wait();
      if (now.sent == now.handled && now.sent == before.sent && now.handled == before.handled)
        break;
      before = now;
    }
    // A PE that has left may send again; its messages are not handled in this call.
    meet(me, world_team(me), call);
  });
}

}  // namespace weft::shmem
