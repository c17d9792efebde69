// Messages between ranks. Short ones travel through the mailbox of the two workers; of long ones
// the sender offers the address, and the receiver copies once, helped by the sender and by idle
// ranks. Between ranks of one worker nothing travels: the sender writes into the posted receive.
// docs/protocols/messages.md has the states.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "base/assert.hpp"
#include "rank/state.hpp"
#include "trace/trace.hpp"

namespace weft {
namespace detail {
namespace {

struct eager_payload {
  envelope from;
};
struct offer_payload {
  envelope from;
  std::uint32_t unused;
  offer offered;
};

// The commonest size without a call.
[[gnu::always_inline]] inline void copy_short(void* to, const void* from, std::size_t bytes) {
  if (bytes == 8) [[likely]]
    std::memcpy(to, from, 8);
  else if (bytes != 0)
    std::memcpy(to, from, bytes);
}

// Short messages, of which many may come, use their memory again.
constexpr std::size_t spare_message_bytes = 64;

[[gnu::noinline]] unexpected_message* make_unexpected(rank_state& to, const envelope& from,
                                                      const void* data, std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > spare_message_bytes) {
    memory = ::operator new(sizeof(unexpected_message) + bytes);
  } else if (unexpected_message* spare = to.spare_messages; spare != nullptr) {
    to.spare_messages = spare->in_order.next;
    memory = spare;
  } else {
    memory = ::operator new(sizeof(unexpected_message) + spare_message_bytes);
  }
  auto* m = new (memory) unexpected_message;
  m->from = from;
  m->bytes = bytes;
  if (bytes != 0) std::memcpy(m->data(), data, bytes);
  return m;
}

void free_unexpected(rank_state& at, unexpected_message* m) noexcept {
  if (m->bytes <= spare_message_bytes) {
    m->in_order.next = std::exchange(at.spare_messages, m);
  } else {
    m->~unexpected_message();
    ::operator delete(m);
  }
}

void set_congestion(rank_state& r) noexcept {
  const bool too_many = r.lists.waiting_bytes() > unexpected_bytes_max;
  // Relaxed: senders take it as advice.
  if (too_many != r.congested.load(std::memory_order_relaxed))
    r.congested.store(too_many, std::memory_order_relaxed);
}

[[gnu::always_inline]] inline void complete(worker& here, operation& op) noexcept {
  op.complete = true;
  if (kept_operation* kept = as_kept(&op); kept != nullptr && kept->detached) [[unlikely]] {
    op.owner->detached.remove(op);
    delete kept;
    return;
  }
  if (op.counter != nullptr) here.complete(*op.counter);
}

[[gnu::always_inline]] inline void complete_receive(worker& here, operation& op, const envelope& from, std::size_t bytes) {
  op.result = {from.source, from.tag, bytes};
  rank_counts& counts = op.owner->counts;
  ++counts.received;
  counts.received_bytes += bytes;
  trace_instant(trace_kind::recv, op.owner->number, from.source);
  complete(here, op);
}

// Tells the sender of an offer that its data are no longer needed.
void finish_offer(worker& here, const offer& offered) {
  if (offered.worker == here.index())
    complete(here, *offered.sender);
  else
    here.post(offered.worker, mail_finished, 0, std::as_bytes(std::span(&offered.sender, 1)));
}

// A long copy as a loop of its own.
struct shared_copy {
  loop chunks;
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
  std::size_t chunk_bytes;
  operation* receive;
  envelope source;
  offer offered;

  static void run(void* self, std::int64_t first, std::int64_t last) {
    const auto& c = *static_cast<const shared_copy*>(self);
    const std::size_t begin = static_cast<std::size_t>(first) * c.chunk_bytes;
    const std::size_t end = std::min(c.bytes, static_cast<std::size_t>(last) * c.chunk_bytes);
    std::memcpy(c.to + begin, c.from + begin, end - begin);
  }
  static void ended(worker& here, void* self) {
    const std::unique_ptr<shared_copy> c(static_cast<shared_copy*>(self));
    if (here.owner().stopping()) return;  // Both ranks may have unwound.
    finish_offer(here, c->offered);
    complete_receive(here, *c->receive, c->source, c->offered.bytes);
  }
};

void receive_offered(worker& here, operation& op, const envelope& from, const offer& offered) {
  const std::size_t bytes = std::min<std::size_t>(op.bytes, offered.bytes);
  if (bytes >= shared_copy_bytes_min && here.owner().worker_count() > 1) {
    const std::size_t chunk =
        std::clamp<std::size_t>(bytes / 16 / 4096 * 4096, 16 * 1024, 256 * 1024);
    const auto count = static_cast<std::int64_t>((bytes + chunk - 1) / chunk);
    auto* c = new shared_copy{
        {&shared_copy::run, nullptr, count, true, true}, op.data, offered.data, bytes, chunk, &op,
        from, offered};
    c->chunks.body = c;
    if (here.open_detached(c->chunks, &shared_copy::ended, c)) return;
    delete c;  // All slots of this worker are in use.
  }
  if (bytes != 0) std::memcpy(op.data, offered.data, bytes);
  finish_offer(here, offered);
  complete_receive(here, op, from, offered.bytes);
}

void receive_unexpected(worker& here, operation& op, unexpected_message* m) {
  if (m->offered.sender != nullptr) {
    receive_offered(here, op, m->from, m->offered);
  } else {
    const std::size_t bytes = std::min(op.bytes, m->bytes);
    if (bytes != 0) std::memcpy(op.data, m->data(), bytes);
    complete_receive(here, op, m->from, m->bytes);
  }
  free_unexpected(*op.owner, m);
}

[[gnu::noinline]] void keep(worker& here, rank_state& to, unexpected_message* m) {
  ++to.counts.unexpected;
  to.lists.add(*m);
  set_congestion(to);
  if (to.probing != nullptr) here.complete(*to.probing);
}

// A short message for a rank of this worker: into the posted receive, or kept.
[[gnu::always_inline]] inline void deliver(worker& here, rank_state& to, const envelope& from,
                                           const void* data, std::size_t bytes) {
  if (operation* op = to.lists.take_posted(from); op != nullptr) [[likely]] {
    copy_short(op->data, data, std::min(op->bytes, bytes));
    complete_receive(here, *op, from, bytes);
    return;
  }
  keep(here, to, make_unexpected(to, from, data, bytes));
}

void deliver_offer(worker& here, rank_state& to, const envelope& from, const offer& offered) {
  if (operation* op = to.lists.take_posted(from); op != nullptr) {
    receive_offered(here, *op, from, offered);
    return;
  }
  unexpected_message* m = make_unexpected(to, from, nullptr, 0);
  m->offered = offered;
  keep(here, to, m);
}

rank_state& rank_of(worker& here, std::uint32_t number) noexcept {
  return *static_cast<rank_state* const*>(here.owner().tenant())[number];
}

void on_eager(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]] return;
  envelope from;
  std::memcpy(&from, payload, sizeof from);
  deliver(here, rank_of(here, header.target), from, payload + sizeof from,
          header.size - sizeof from);
}

void on_offer(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]] return;
  offer_payload message;
  std::memcpy(&message, payload, sizeof message);
  deliver_offer(here, rank_of(here, header.target), message.from, message.offered);
}

void on_finished(worker& here, record_header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]] return;
  operation* sender = nullptr;
  std::memcpy(&sender, payload, sizeof sender);
  complete(here, *sender);
}

// Waits until the mailbox has room: the receiver's worker empties it in any of its waits.
worker::ring::word* reserve(worker& here, int to, std::size_t bytes, const wait_description& what) {
  for (;;) {
    worker::ring::word* room = here.try_reserve(to, bytes);
    if (room != nullptr) [[likely]] return room;
    here.wait_until([&] { return here.try_reserve(to, bytes) != nullptr; }, what);
  }
}

void send_eager(worker& here, const peer& to, const envelope& from,
                std::span<const std::byte> data, const wait_description& what) {
  auto* room = reinterpret_cast<std::byte*>(
      reserve(here, to.worker, sizeof(eager_payload) + data.size(), what));
  std::memcpy(room, &from, sizeof from);
  copy_short(room + sizeof from, data.data(), data.size());
  here.send_reserved(to.worker, mail_eager, static_cast<std::uint32_t>(to.number));
}

void send_offer(worker& here, const peer& to, const envelope& from, operation& op) {
  const offer offered{&op, op.data, op.bytes, here.index()};
  if (to.worker == here.index()) {
    deliver_offer(here, *to.rank, from, offered);
    return;
  }
  const offer_payload message{from, 0, offered};
  const wait_description what{"send", from.context, static_cast<int>(to.number), from.tag,
                              op.bytes};
  auto* room = reserve(here, to.worker, sizeof message, what);
  std::memcpy(static_cast<void*>(room), &message, sizeof message);
  here.send_reserved(to.worker, mail_offer, static_cast<std::uint32_t>(to.number));
}

[[gnu::cold]] void wrong_rank(communicator_state& c, int rank, const char* call, const char* what) {
  throw error(std::string(call) + " " + what + " rank " + std::to_string(rank) +
              ": the communicator has ranks 0 to " + std::to_string(c.size() - 1));
}
[[gnu::cold]] void wrong_tag(int tag, const char* call) {
  throw error(std::string(call) + " with tag " + std::to_string(tag) +
              ": tags are 0 to 2147483647");
}

void check_destination(communicator_state& c, int to, int tag, const char* call) {
  if (to < 0 || to >= c.size()) [[unlikely]]
    wrong_rank(c, to, call, "to");
  if (tag < 0) [[unlikely]]
    wrong_tag(tag, call);
}
void check_source(communicator_state& c, int from, int tag, const char* call) {
  if ((from < 0 || from >= c.size()) && from != any_source) [[unlikely]]
    wrong_rank(c, from, call, "from");
  if (tag < 0 && tag != any_tag) [[unlikely]]
    wrong_tag(tag, call);
}

bool goes_eager(const rank_state& me, const peer& to, std::size_t bytes, send_mode mode) {
  if (mode == send_mode::synchronous || to.rank->congested.load(std::memory_order_relaxed))
    return false;
  return bytes <= me.of->how.eager_max_bytes;
}

// Sends without waiting for the receiver when that is possible. `op` describes what remains.
[[gnu::always_inline]] inline bool send_now(rank_state& me, const peer& to, const envelope& from,
              std::span<const std::byte> data, send_mode mode) {
  worker& here = *me.home;
  ++me.counts.sent;
  me.counts.sent_bytes += data.size();
  trace_instant(trace_kind::send, me.number, to.number);
  if (!goes_eager(me, to, data.size(), mode)) {
    // Within a worker a posted receive takes any size at once.
    if (to.worker != here.index() || mode == send_mode::synchronous) return false;
    operation* op = to.rank->lists.take_posted(from);
    if (op == nullptr) return false;
    const std::size_t fits = std::min(op->bytes, data.size());
    if (fits != 0) std::memcpy(op->data, data.data(), fits);
    complete_receive(here, *op, from, data.size());
    return true;
  }
  if (to.worker == here.index()) {
    deliver(here, *to.rank, from, data.data(), data.size());
    return true;
  }
  send_eager(here, to, from, data,
             {"send (mailbox full)", from.context, to.number, from.tag, data.size()});
  return true;
}

operation* take_operation(rank_state& me) {
  operation* op = me.spare;
  if (op == nullptr) [[unlikely]] return new operation;
  me.spare = op->in_list.next;
  op->in_list.next = nullptr;
  return op;
}

// At most as many as were under way at once are kept.
void give_back(operation* op) noexcept {
  if (kept_operation* kept = as_kept(op); kept != nullptr) {
    delete kept;
    return;
  }
  rank_state& me = *op->owner;
  *op = operation{};
  op->in_list.next = std::exchange(me.spare, op);
}

[[gnu::cold]] void throw_truncated(const operation& op) {
  throw error("rank " + std::to_string(op.owner->number) + ": a receive of " +
              std::to_string(op.bytes) + " octets got a message of " +
              std::to_string(op.result.bytes) + " octets from rank " +
              std::to_string(op.result.source) + ", tag " + std::to_string(op.result.tag) +
              ": receive it with room for all, or with recv_vector() or probe()");
}

void check_result(const operation& op) {
  if (op.what == operation::kind::recv && op.result.bytes > op.bytes) [[unlikely]]
    throw_truncated(op);
}

[[gnu::always_inline]] inline bool start_receive(rank_state& me, operation& op) {
  if (unexpected_message* m = me.lists.find(op.match); m != nullptr) [[unlikely]] {
    if (me.of->how.schedule && op.match.source == any_source) m = me.home->pick(m, [&](auto* at) {
        return match_lists::find_next(op.match, match_lists::after(*at));
      }, [](const auto& a, const auto& b) { return a.from.source == b.from.source; });
    me.lists.remove(*m);
    set_congestion(me);
    receive_unexpected(*me.home, op, m);
    return op.complete;
  }
  me.lists.post(op);
  return false;
}

// Takes a receive back that is on a stack about to unwind.
struct posted_guard {
  rank_state& me;
  operation& op;
  ~posted_guard() {
    if (op.posted_in != nullptr) me.lists.withdraw(op);
  }
};

// Inlined into the call that waits: see worker::wait().
[[gnu::always_inline]] inline void trace_wait(trace_kind kind, rank_state& me, countdown& c, const wait_description& what,
                int victim = -1) {
  if (c.pending == 0) return;
  struct slice {
    trace_kind kind;
    int rank;
    ~slice() { trace_end(kind, rank); }
  } const in_wait{kind, me.number};
  trace_begin(kind, me.number, what.peer);
  me.home->wait(c, what, victim);
}

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

// The parts that every send fills in alike.
void describe_send(operation& op, rank_state& me, const envelope& from,
                   std::span<const std::byte> data, int peer_worker) noexcept {
  op.what = operation::kind::send;
  op.match = from;
  op.data = const_cast<std::byte*>(data.data());  // Only read: a send.
  op.bytes = data.size();
  op.owner = &me;
  op.peer_worker = peer_worker;
}

void start_persistent(rank_state& me, kept_operation& op) {
  op.complete = false;
  op.active = true;
  me.home->check_stopped();
  if (op.peer == proc_null) {
    op.result = {};
    op.complete = true;
  } else if (op.what == operation::kind::recv) {
    start_receive(me, op);
  } else {
    const peer& to = op.communicator->to(op.peer);
    if (send_now(me, to, op.match, {op.data, op.bytes}, op.mode))
      op.complete = true;
    else
      send_offer(*me.home, to, op.match, op);
  }
}

wait_description describe(const operation& op) {
  if (op.what == operation::kind::collective) {
    communicator_state* const c = static_cast<const kept_operation&>(op).communicator.get();
    return {"wait (collective)", c->context, -1, -1, 0, c};
  }
  return {op.what == operation::kind::recv ? "wait (irecv)" : "wait (isend)", op.match.context,
          op.what == operation::kind::recv ? op.match.source : -1, op.match.tag, op.bytes};
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

// After completion: status out, error thrown, operation given back unless persistent.
message_status conclude(operation*& op) {
  operation* done = op;
  const message_status result = done->result;
  done->active = false;
  done->counter = nullptr;
  struct release {
    operation*& handle;
    ~release() {
      const kept_operation* kept = as_kept(handle);
      if (kept == nullptr || !kept->persistent) give_back(std::exchange(handle, nullptr));
    }
  } const freed{op};
  if (const kept_operation* kept = as_kept(done); kept != nullptr && kept->failure != nullptr)
    std::rethrow_exception(kept->failure);
  check_result(*done);
  return result;
}

// While it lives, completions of the operations count here; whatever way the wait ends, none counts
// into a stack frame that is gone.
struct counting {
  std::vector<operation*>& operations;
  counting(std::vector<operation*>& all, countdown& c) : operations(all) {
    for (operation* op : operations) op->counter = &c;
  }
  ~counting() {
    for (operation* op : operations) op->counter = nullptr;
  }
};

}  // namespace

void set_mail_handlers(scheduler& workers) {
  workers.set_handler(mail_eager, &on_eager);
  workers.set_handler(mail_offer, &on_offer);
  workers.set_handler(mail_finished, &on_finished);
}

void throw_not_a_rank(const char* call) {
  const worker* here = worker::current();
  if (here == nullptr || here->identity() == nullptr)
    throw error(std::string(call) + " was called outside of a rank: call it in the body that " +
                "weft::run() runs, on the rank's own thread");
  throw error(std::string(call) + " was called by a chunk of a loop, which may run on another " +
              "worker: communicate before or after the loop");
}

void free_messages_of(rank_state& r) noexcept {
  while (operation* op = r.detached.front()) {
    r.detached.remove(*op);
    delete as_kept(op);
  }
  while (operation* op = r.spare) {
    r.spare = op->in_list.next;
    delete op;
  }
  while (unexpected_message* m = r.lists.oldest()) {
    r.lists.remove(*m);
    free_unexpected(r, m);
  }
  while (unexpected_message* m = r.spare_messages) {
    r.spare_messages = m->in_order.next;
    m->~unexpected_message();
    ::operator delete(m);
  }
}

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

// --- Requests ------------------------------------------------------------------------------------

bool request::active() const noexcept { return operation_ != nullptr && operation_->active; }

void request::release() noexcept {
  operation& op = *operation_;
  if (!op.active || op.complete) {
    give_back(&op);
    return;
  }
  rank_state& me = *op.owner;
  if (op.posted_in != nullptr && (std::uncaught_exceptions() > 0 || me.home->owner().stopping())) {
    me.lists.withdraw(op);  // A receive that nothing has matched leaves no trace.
    give_back(&op);
    return;
  }
  // A rank that unwinds leaves a buffer behind that its partner may be reading or writing. Whether
  // somebody catches the exception or not: the job cannot go on.
  if (std::uncaught_exceptions() > 0 || me.home->owner().stopping()) {
    if (!me.home->owner().stopping())
      me.of->abandon("rank " + std::to_string(me.number) +
                     " left a request behind that was still active, while an exception passed: "
                     "wait() for it or cancel() it before its buffer goes away");
    me.home->stop_and_wait();
    // Nothing is delivered any more; a collective's own fiber unwinds first.
    if (op.what == operation::kind::collective)
      me.home->wait_until([&] { return op.complete; }, describe(op), false);
    give_back(&op);
    return;
  }
  std::fprintf(stderr,
               "weft: rank %d destroyed a request that is still active (%s, peer %d, tag %d): "
               "wait() for it first, its buffer is still in use\n",
               op.owner->number, describe(op).call, describe(op).peer, op.match.tag);
  std::abort();
}

message_status request::wait() {
  if (operation_ == nullptr || !operation_->active) return {};
  if (!operation_->complete) {
    rank_state& me = calling_rank("wait");
    me.home->check_stopped();
    countdown c{1, nullptr};
    operation_->counter = &c;
    struct uncount {
      operation* op;
      ~uncount() { op->counter = nullptr; }
    } const guard{operation_};
    trace_wait(operation_->what == operation::kind::recv ? trace_kind::wait_recv
                                                         : trace_kind::wait_send,
               me, c, describe(*operation_), operation_->peer_worker);
  }
  return conclude(operation_);
}

bool request::test(message_status* status) {
  if (operation_ == nullptr || !operation_->active) return true;
  if (!operation_->complete) {
    calling_rank("test").home->yield();
    if (!operation_->complete) return false;
  }
  const message_status result = conclude(operation_);
  if (status != nullptr) *status = result;
  return true;
}

void request::start() {
  kept_operation* op = as_kept(operation_);
  if (op == nullptr || !op->persistent)
    throw error("start() of a request that is not persistent: make it by send_init() or recv_init()");
  if (op->active) throw error("start() of a request that is active: wait() for it first");
  start_persistent(calling_rank("start"), *op);
}

void request::cancel() {
  if (operation_ == nullptr || operation_->posted_in == nullptr) return;
  operation_->owner->lists.withdraw(*operation_);
  operation_->complete = true;
  operation_->result = {};
}

void wait_all(std::span<request> requests) {
  countdown c;
  const operation* last = nullptr;
  for (const request& r : requests) {
    if (!r.active() || r.operation_->complete) continue;
    ++c.pending;
    r.operation_->counter = &c;
    last = r.operation_;
  }
  if (c.pending != 0) {
    struct uncount {
      std::span<request> requests;
      ~uncount() {
        for (request& r : requests)
          if (r.operation_ != nullptr) r.operation_->counter = nullptr;
      }
    } const guard{requests};
    rank_state& me = calling_rank("wait_all");
    me.home->check_stopped();
    wait_description what = describe(*last);
    what.call = "wait_all";
    trace_wait(trace_kind::wait_recv, me, c, what, last->peer_worker);
  }
  // Every request is concluded before the first failure is thrown.
  std::exception_ptr failure;
  for (request& r : requests) {
    if (!r.active()) continue;
    try {
      conclude(r.operation_);
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

std::size_t wait_any(std::span<request> requests, message_status* status) {
  for (;;) {
    std::vector<operation*> pending;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!requests[i].active()) continue;
      if (!requests[i].operation_->complete) {
        pending.push_back(requests[i].operation_);
        continue;
      }
      const message_status result = conclude(requests[i].operation_);
      if (status != nullptr) *status = result;
      return i;
    }
    if (pending.empty()) return requests.size();
    rank_state& me = calling_rank("wait_any");
    me.home->check_stopped();
    countdown c{1, nullptr};
    const counting guard(pending, c);
    wait_description what = describe(*pending.front());
    what.call = "wait_any";
    trace_wait(trace_kind::wait_recv, me, c, what);
  }
}

std::vector<std::size_t> wait_some(std::span<request> requests) {
  std::vector<std::size_t> done;
  const std::size_t first = wait_any(requests);
  if (first == requests.size()) return done;
  done.push_back(first);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i == first || !requests[i].active() || !requests[i].operation_->complete) continue;
    conclude(requests[i].operation_);
    done.push_back(i);
  }
  return done;
}

bool test_all(std::span<request> requests) {
  for (const request& r : requests)
    if (r.active() && !r.operation_->complete) {
      calling_rank("test_all").home->yield();
      break;
    }
  for (const request& r : requests)
    if (r.active() && !r.operation_->complete) return false;
  wait_all(requests);
  return true;
}

// --- Probing -------------------------------------------------------------------------------------

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
  return {m.from.source, m.from.tag, m.offered.sender != nullptr ? m.offered.bytes : m.bytes};
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

message_status message::receive(std::span<std::byte> into) {
  if (taken_ == nullptr) return status_;
  rank_state& me = calling_rank("message::recv");
  me.home->check_stopped();
  operation op;
  op.data = into.data();
  op.bytes = into.size();
  op.owner = &me;
  countdown copied{1, nullptr};
  op.counter = &copied;
  receive_unexpected(*me.home, op, std::exchange(taken_, nullptr));
  trace_wait(trace_kind::wait_recv, me, copied,
             {"message::recv", state_->context, status_.source, status_.tag, into.size()});
  check_result(op);
  return op.result;
}

message::~message() {
  if (taken_ == nullptr) return;
  rank_state& me = *state_->at(self_).rank;
  if (taken_->offered.sender != nullptr && !me.home->owner().stopping())
    finish_offer(*me.home, taken_->offered);
  free_unexpected(me, taken_);
}

}  // namespace weft
