// Messages between ranks. Short ones travel through the mailbox of the two workers; of long ones
// the sender offers the address, and the receiver copies once, helped by the sender and by idle
// ranks. Between ranks of one worker nothing travels: the sender writes into the posted receive.
// docs/protocols/messages.md has the states.
#include <cstring>
#include <string>

#include "rank/messages.hpp"

namespace weft {
namespace detail {

void throw_not_a_rank(const char* call) {
  const worker* here = worker::current();
  if (here == nullptr || here->identity() == nullptr)
    throw error(std::string(call) + " was called outside of a rank: call it in the body that " +
                "weft::run() runs, on the rank's own thread");
  throw error(std::string(call) + " was called by a chunk of a loop, which may run on another " +
              "worker: communicate before or after the loop");
}

[[gnu::cold]] void wrong_rank(communicator_state& c, int rank, const char* call, const char* what) {
  throw error(std::string(call) + " " + what + " rank " + std::to_string(rank) +
              ": the communicator has ranks 0 to " + std::to_string(c.size() - 1));
}
[[gnu::cold]] void wrong_tag(int tag, const char* call) {
  throw error(std::string(call) + " with tag " + std::to_string(tag) +
              ": tags are 0 to 2147483647");
}

namespace {

[[gnu::always_inline]] inline message_status receive(communicator_state& c, std::span<std::byte> into, int from, int tag) {
  rank_state& me = calling_rank("recv");
  me.home->perturb();
  if (from == proc_null) return {};
  check_source(c, from, tag, "recv");
  operation op;
  op.match = {c.context, from, tag};
  op.data = into.data();
  op.bytes = into.size();
  op.owner = &me;
  countdown arrival{1, nullptr};
  op.counter = &arrival;
  me.home->check_stopped();
  if (!start_receive(me, op)) {
    const posted_guard guard{me, op};
    trace_wait(trace_kind::wait_recv, me, arrival, {"recv", c.context, from, tag, into.size()},
               from >= 0 ? c.to(from).worker : -1);
  }
  check_result(op);
  return op.result;
}

void send_buffered(const std::shared_ptr<communicator_state>& c, rank_state& me, const peer& there,
                   const envelope& from, std::span<const std::byte> data) {
  if (send_now(me, there, from, data, send_mode::standard)) return;
  auto* op = new kept_operation;
  op->kept = true;
  op->detached = true;
  op->communicator = c;
  op->copy = std::make_unique<std::byte[]>(data.size());
  std::memcpy(op->copy.get(), data.data(), data.size());
  describe_send(*op, me, from, {op->copy.get(), data.size()}, there.worker);
  me.detached.push_back(*op);
  send_offer(*me.home, there, from, *op);
}

kept_operation* make_persistent(const std::shared_ptr<communicator_state>& c, rank_state& me,
                                operation::kind what, int peer, std::byte* data,
                                std::size_t bytes, const envelope& match) {
  auto* op = new kept_operation;
  op->kept = true;
  op->persistent = true;
  op->communicator = c;
  op->what = what;
  op->peer = peer;
  op->owner = &me;
  op->data = data;
  op->bytes = bytes;
  op->match = match;
  if (peer >= 0) op->peer_worker = c->to(peer).worker;
  return op;
}

}  // namespace
}  // namespace detail

using namespace detail;

void communicator::send_bytes(std::span<const std::byte> data, int to, int tag,
                              send_mode mode) const {
  rank_state& me = calling_rank("send");
  me.home->perturb();
  me.home->check_stopped();
  if (to == proc_null) return;
  communicator_state& c = *state_;
  check_destination(c, to, tag, "send");
  const peer& there = c.to(to);
  const envelope from{c.context, rank_, tag};
  if (mode == send_mode::buffered) {
    send_buffered(state_, me, there, from, data);
    return;
  }
  if (send_now(me, there, from, data, mode)) [[likely]]
    return;
  operation op;
  describe_send(op, me, from, data, there.worker);
  countdown taken{1, nullptr};
  op.counter = &taken;
  send_offer(*me.home, there, from, op);
  trace_wait(trace_kind::wait_send, me, taken,
             {mode == send_mode::synchronous ? "ssend" : "send", c.context, to, tag, data.size()},
             there.worker);
}

message_status communicator::recv_bytes(std::span<std::byte> into, int from, int tag) const {
  return receive(*state_, into, from, tag);
}

message_status communicator::recv_exactly(std::span<std::byte> into, int from, int tag) const {
  const message_status got = receive(*state_, into, from, tag);
  if (got.bytes != into.size() && from != proc_null) [[unlikely]]
    throw error("rank " + std::to_string(rank_) + ": a receive of one value of " +
                std::to_string(into.size()) + " octets got a message of " +
                std::to_string(got.bytes) + " octets from rank " + std::to_string(got.source) +
                ", tag " + std::to_string(got.tag) + ": send and receive the same type");
  return got;
}

request communicator::isend_bytes(std::span<const std::byte> data, int to, int tag,
                                  send_mode mode) const {
  rank_state& me = calling_rank("isend");
  me.home->perturb();
  me.home->check_stopped();
  if (to == proc_null) return request();
  check_destination(*state_, to, tag, "isend");
  // A message that goes at once needs no operation.
  const peer& there = state_->to(to);
  const envelope from{state_->context, rank_, tag};
  if (send_now(me, there, from, data, mode)) return request();
  operation* op = take_operation(me);
  describe_send(*op, me, from, data, there.worker);
  op->active = true;
  send_offer(*me.home, there, from, *op);
  return request(op);
}

request communicator::irecv_bytes(std::span<std::byte> into, int from, int tag) const {
  rank_state& me = calling_rank("irecv");
  me.home->perturb();
  me.home->check_stopped();
  if (from == proc_null) return request();
  check_source(*state_, from, tag, "irecv");
  operation* op = take_operation(me);
  op->match = {state_->context, from, tag};
  op->data = into.data();
  op->bytes = into.size();
  op->owner = &me;
  op->active = true;
  if (from >= 0) op->peer_worker = state_->to(from).worker;
  start_receive(me, *op);
  return request(op);
}

request communicator::send_init_bytes(std::span<const std::byte> data, int to, int tag) const {
  rank_state& me = calling_rank("send_init");
  if (to != proc_null) check_destination(*state_, to, tag, "send_init");
  return request(make_persistent(state_, me, operation::kind::send, to,
                                 const_cast<std::byte*>(data.data()),  // Only read: a send.
                                 data.size(), {state_->context, rank_, tag}));
}

request communicator::recv_init_bytes(std::span<std::byte> into, int from, int tag) const {
  rank_state& me = calling_rank("recv_init");
  if (from != proc_null) check_source(*state_, from, tag, "recv_init");
  return request(make_persistent(state_, me, operation::kind::recv, from, into.data(), into.size(),
                                 {state_->context, from, tag}));
}

}  // namespace weft
