// Probes, and matched probes: these take the message out of the lists, and message::recv() receives it.
#include <string>

#include "base/format.hpp"
#include "diagnosis/checks.hpp"
#include "job/accounted_call.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"
#include "rank/request_watch.hpp"
#include "trace/mixing.hpp"

namespace weft {

namespace detail {

namespace {
// Also null: nothing was found.
unexpected_message* found(const rank_state& me, unexpected_message* m) {
  if (m != nullptr && tracing()) [[unlikely]]
    profile::found(me.number, name_of_message(m->from, me.number));
  return m;
}
}  // namespace

unexpected_message* wait_for_message(rank_state& me, const envelope& wanted, const char* call) {
  for (;;) {
    if (unexpected_message* m = found(me, me.lists.find(wanted)); m != nullptr) return m;
    me.home->check_stopped();
    if (is_lost(me, wanted)) [[unlikely]]
      return nullptr;
    struct listed : probe_wait {
      rank_state& r;
      listed(rank_state& who, const envelope& what) : probe_wait{what}, r(who) {
        r.probes.push_back(*this);
      }
      ~listed() { r.probes.remove(*this); }
    } wait(me, wanted);
    trace_wait(trace_kind::wait_recv, me, wait.any,
               {call, wanted.context, wanted.source, wanted.tag, 0});
  }
}

unexpected_message* look_for_message(rank_state& me, const envelope& wanted) {
  const std::uint64_t what = mixed(wanted.context, static_cast<std::uint32_t>(wanted.source),
                                   static_cast<std::uint32_t>(wanted.tag));
  unexpected_message* m = me.lists.find(wanted);
  if (m == nullptr) {
    me.home->yield();
    m = me.lists.find(wanted);
  }
  (void)found(me, m);
  if (tracing() && !goes_on_beside(*me.home)) [[unlikely]]
    m == nullptr ? profile::asked_in_vain(me.number, what) : profile::asked_well(me.number, what);
  return m;
}

}  // namespace detail

using namespace detail;

namespace {

envelope checked_envelope(communicator_state& c, int from, int tag, const char* call) {
  check_source(c, from, tag, call);
  return {c.context, from, tag};
}

message_status status_of(const unexpected_message& m) noexcept {
  return {m.from.source, m.from.tag, m.rts ? m.rts.bytes : m.bytes};
}

[[noreturn, gnu::cold]] void throw_lost(const rank_state& me, const envelope& wanted,
                                        const char* call) {
  const bool is_revoked = loss_of(me, wanted) == loss::revoked;
  throw error(formatted("rank {}: {} of a message from {}, tag {}, failed: {}", me.number, call,
                        peer_name(wanted.source), tag_name(wanted.tag),
                        is_revoked ? "the communicator is revoked" : "its process is dead"));
}

unexpected_message& wait_here(rank_state& me, communicator_state& c, int from, int tag,
                              const char* call) {
  const envelope wanted = checked_envelope(c, from, tag, call);
  unexpected_message* const m = wait_for_message(me, wanted, call);
  if (m == nullptr) throw_lost(me, wanted, call);
  return *m;
}

unexpected_message* look_here(rank_state& me, communicator_state& c, int from, int tag,
                              const char* call) {
  const envelope wanted = checked_envelope(c, from, tag, call);
  unexpected_message* const m = look_for_message(me, wanted);
  if (m == nullptr && is_lost(me, wanted)) throw_lost(me, wanted, call);
  return m;
}

// Takes the message out of the lists: nothing else matches it any more.
void take_out(rank_state& me, unexpected_message& m) {
  me.lists.remove(m);
  set_congestion(me);
}

}  // namespace

message_status communicator::probe(int from, int tag) const {
  if (from == proc_null) return {};
  const accounted_call call("probe", __builtin_return_address(0));
  return status_of(wait_here(calling_rank("probe"), *state_, from, tag, "probe"));
}

std::optional<message_status> communicator::iprobe(int from, int tag) const {
  if (from == proc_null) return message_status{};
  const unexpected_message* m = look_here(calling_rank("iprobe"), *state_, from, tag, "iprobe");
  if (m == nullptr) return std::nullopt;
  return status_of(*m);
}

message communicator::mprobe(int from, int tag) const {
  if (from == proc_null) return message(state_, rank_, nullptr, {});
  const accounted_call call("mprobe", __builtin_return_address(0));
  rank_state& me = calling_rank("mprobe");
  check_is_own(*state_, rank_, me, "mprobe");
  unexpected_message& m = wait_here(me, *state_, from, tag, "mprobe");
  take_out(me, m);
  return message(state_, rank_, &m, status_of(m));
}

std::optional<message> communicator::improbe(int from, int tag) const {
  if (from == proc_null) return message(state_, rank_, nullptr, {});
  rank_state& me = calling_rank("improbe");
  check_is_own(*state_, rank_, me, "improbe");
  unexpected_message* m = look_here(me, *state_, from, tag, "improbe");
  if (m == nullptr) return std::nullopt;
  take_out(me, *m);
  return message(state_, rank_, m, status_of(*m));
}

namespace {

template <class Room>
// `c` is null where the message has been moved out.
message_status receive_taken(const communicator_state* c, const message_status& status,
                             unexpected_message*& taken, const Room& into) {
  rank_state& me = calling_rank("message::recv");
  if (taken == nullptr) {
    if (status.source == proc_null) return status;
    throw error(formatted(
        "rank {}: a message from rank {}, tag {}, was received a second time, or from an object "
        "that it had been moved out of: it is received once, by whoever holds it",
        me.number, status.source, status.tag));
  }
  me.home->check_stopped();
  operation op;
  op.match = {c->context, status.source, status.tag};
  set_memory(op, into);
  op.owner = &me;
  completion_counter copied{1, nullptr};
  op.counter = &copied;
  receive_unexpected(*me.home, op, std::exchange(taken, nullptr));
  trace_wait(trace_kind::wait_recv, me, copied,
             {"message::recv", c->context, status.source, status.tag, into.size()});
  check_result(op);
  return op.result;
}

}  // namespace

message_status message::receive(std::span<std::byte> into) {
  return receive_taken(state_.get(), status_, taken_, into);
}
message_status message::receive(const segments& into) {
  return into.contiguous() ? receive(into.flat())
                           : receive_taken(state_.get(), status_, taken_, into);
}

void message::refuse_elements(std::size_t element_bytes) const {
  throw error("rank " + std::to_string(self_) + ": a receive of elements of " +
              std::to_string(element_bytes) + " bytes got a message of " +
              std::to_string(status_.bytes) + " bytes from rank " + std::to_string(status_.source) +
              ", tag " + std::to_string(status_.tag) +
              ", which is no multiple: receive it as elements of the type that was sent");
}

void message::refuse_value(std::size_t value_bytes) const {
  throw error("rank " + std::to_string(self_) + ": a receive of one value of " +
              std::to_string(value_bytes) + " bytes got a message of " +
              std::to_string(status_.bytes) + " bytes from rank " + std::to_string(status_.source) +
              ", tag " + std::to_string(status_.tag) + ": send and receive the same type");
}

message::~message() {
  if (taken_ == nullptr) return;
  rank_state& me = *state_->at(self_).rank;
  if (me.watch != nullptr) look_at_dropped(*me.of->checks, me, *taken_);
  if (taken_->rts && !me.home->owner().stopping()) finish_rendezvous(*me.home, taken_->rts);
  free_unexpected(me, taken_);
}

}  // namespace weft
