// Looking at messages before they are received, and the messages that were taken out of the matching.
#include "rank/checks.hpp"
#include "rank/messages.hpp"

namespace weft {

using namespace detail;

namespace {

unexpected_message* wait_for_message(communicator_state& c, rank_state& me, int from, int tag,
                                     const char* call) {
  check_source(c, from, tag, call);
  const envelope wanted{c.context, from, tag};
  for (;;) {
    if (unexpected_message* m = me.lists.find(wanted); m != nullptr) return m;
    me.home->check_stopped();
    countdown any{1, nullptr};
    struct probing {
      rank_state& r;
      ~probing() { r.probing = nullptr; }
    } const guard{me};
    me.probing = &any;
    trace_wait(trace_kind::wait_recv, me, any, {call, c.context, from, tag, 0});
  }
}

message_status status_of(const unexpected_message& m) noexcept {
  return {m.from.source, m.from.tag, m.offered ? m.offered.bytes : m.bytes};
}

unexpected_message* look_for_message(communicator_state& c, rank_state& me, int from, int tag,
                                     const char* call) {
  check_source(c, from, tag, call);
  const envelope wanted{c.context, from, tag};
  if (unexpected_message* m = me.lists.find(wanted); m != nullptr) return m;
  me.home->yield();
  return me.lists.find(wanted);
}

}  // namespace

message_status communicator::probe(int from, int tag) const {
  if (from == proc_null) return {};
  return status_of(*wait_for_message(*state_, calling_rank("probe"), from, tag, "probe"));
}

std::optional<message_status> communicator::iprobe(int from, int tag) const {
  if (from == proc_null) return message_status{};
  const unexpected_message* m =
      look_for_message(*state_, calling_rank("iprobe"), from, tag, "iprobe");
  if (m == nullptr) return std::nullopt;
  return status_of(*m);
}

message communicator::mprobe(int from, int tag) const {
  if (from == proc_null) return message(state_, rank_, nullptr, {});
  rank_state& me = calling_rank("mprobe");
  unexpected_message* m = wait_for_message(*state_, me, from, tag, "mprobe");
  me.lists.remove(*m);
  set_congestion(me);
  return message(state_, rank_, m, status_of(*m));
}

std::optional<message> communicator::improbe(int from, int tag) const {
  if (from == proc_null) return message(state_, rank_, nullptr, {});
  rank_state& me = calling_rank("improbe");
  unexpected_message* m = look_for_message(*state_, me, from, tag, "improbe");
  if (m == nullptr) return std::nullopt;
  me.lists.remove(*m);
  set_congestion(me);
  return message(state_, rank_, m, status_of(*m));
}

namespace {

template <class Room>
message_status receive_taken(const communicator_state& c, const message_status& status,
                             unexpected_message*& taken, const Room& into) {
  if (taken == nullptr) return status;
  rank_state& me = calling_rank("message::recv");
  me.home->check_stopped();
  operation op;
  set_memory(op, into);
  op.owner = &me;
  countdown copied{1, nullptr};
  op.counter = &copied;
  receive_unexpected(*me.home, op, std::exchange(taken, nullptr));
  trace_wait(trace_kind::wait_recv, me, copied,
             {"message::recv", c.context, status.source, status.tag, into.size()});
  check_result(op);
  return op.result;
}

}  // namespace

message_status message::receive(std::span<std::byte> into) {
  return receive_taken(*state_, status_, taken_, into);
}
message_status message::receive(const segments& into) {
  return into.contiguous() ? receive(into.flat()) : receive_taken(*state_, status_, taken_, into);
}

message::~message() {
  if (taken_ == nullptr) return;
  rank_state& me = *state_->at(self_).rank;
  if (me.watch != nullptr) look_at_dropped(*me.of->checks, me, *taken_);
  if (taken_->offered && !me.home->owner().stopping()) finish_offer(*me.home, taken_->offered);
  free_unexpected(me, taken_);
}

}  // namespace weft
