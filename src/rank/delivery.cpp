// The receiver's side of the message path and the mail between workers: unexpected messages, rendezvous requests,
// the shared copy, and the handlers. docs/protocols/messages.md has the states.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "rank/messages.hpp"
#include "rank/remote.hpp"
#include "trace/tool_events.hpp"

namespace weft::detail {
namespace {

struct rts_payload {
  envelope from;
  std::uint32_t unused;
  rendezvous_request rts;
};

// Unexpected messages up to this size use memory again: many of them may come.
constexpr std::size_t spare_message_bytes = 64;

[[gnu::noinline]] void note_unexpected(const rank_state& to, const envelope& from) {
  profile::came_unexpected(to.number, name_of_message(from, to.number));
  if (base_context(from.context) == from.context)  // Not one of weft's own.
    tell_tool({told_kind::message_unexpected, to.number, {}, from.source, from.tag, nullptr});
}

unexpected_message* make_unexpected(rank_state& to, const envelope& from, std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > spare_message_bytes) {
    memory = ::operator new(sizeof(unexpected_message) + bytes);
  } else if (unexpected_message* spare = to.spare_messages; spare != nullptr) {
    to.spare_messages = spare->in_order.next;
    memory = spare;
  } else {
    memory = ::operator new(sizeof(unexpected_message) + spare_message_bytes);
  }
  if (tracing()) [[unlikely]]
    note_unexpected(to, from);
  auto* m = new (memory) unexpected_message;
  m->from = from;
  m->bytes = bytes;
  return m;
}

void add_unexpected(worker& here, rank_state& to, unexpected_message* m) {
  if ((m->from.context & hidden_context) != 0 && is_of_broken(to, m->from)) [[unlikely]]
    return refuse(here, to, m);
  // Relaxed: what comes sooner is dropped by the mail. What leaders say to each other in a collective ends with that.
  if (to.shared->communicators->any_revoked.load(std::memory_order_relaxed)) [[unlikely]]
    if ((m->rts || (m->from.context & hidden_context) == 0) && is_of_revoked(to, m->from.context))
      return refuse(here, to, m);
  ++to.counts.unexpected;
  to.lists.add(*m);
  set_congestion(to);
  for (probe_wait* p = to.probes.front(); p != nullptr; p = decltype(to.probes)::after(*p))
    here.complete(p->any);
}

}  // namespace

void free_unexpected(rank_state& at, unexpected_message* m) noexcept {
  if (m->bytes <= spare_message_bytes) {
    m->in_order.next = std::exchange(at.spare_messages, m);
  } else {
    m->~unexpected_message();
    ::operator delete(m);
  }
}

void drop_unexpected(rank_state& at, unexpected_message* m) noexcept {
  delete m->rts.remote;
  free_unexpected(at, m);
}

void ask_finished(rank_state& me, const peer& to) {
  worker& here = *me.home;
  const auto asks = static_cast<std::uint32_t>(me.number);
  if (to.worker == remote_worker) return me.shared->ways->ask_finished(here, to, asks);
  const std::int32_t asker = here.index();
  here.post(to.worker, mail_finished_asked, asks, std::as_bytes(std::span(&asker, 1)));
}

void set_congestion(rank_state& r) noexcept {
  const bool too_many = r.lists.waiting_bytes() > unexpected_bytes_max;
  // Relaxed: a hint to senders.
  if (too_many == r.congested.load(std::memory_order_relaxed)) return;
  r.congested.store(too_many, std::memory_order_relaxed);
  if (r.shared->ways != nullptr && !too_many) r.shared->ways->tell_relaxed(r);
}

void complete_withdrawn(worker& here, operation& op) noexcept {
  op.result.source = withdrawn_source;
  if (op.failed) op.result.bytes = failed_bytes;  // Asked back when its communicator was revoked.
  complete(here, op);
}

void finish_rendezvous(worker& here, const rendezvous_request& rts) {
  if (rts.remote != nullptr)
    rts.remote->ways->finish(here, rts.remote);
  else if (rts.worker == here.index())
    complete(here, *rts.sender);
  else
    here.post(rts.worker, mail_finished, 0, std::as_bytes(std::span(&rts.sender, 1)));
}

namespace {

// Copies bytes [begin, end) of the message from the sender's memory to the receive's.
void copy_part(const operation& receive, const rendezvous_request& from, std::size_t begin,
               std::size_t end) {
  const trace_span copying(trace_kind::copy, receive.owner->number,
                           static_cast<std::int64_t>(end - begin));
  const bool sender_in_a_row = from.data != nullptr;
  if (sender_in_a_row && receive.layout == nullptr) {
    std::memcpy(receive.data + begin, from.data + begin, end - begin);
    return;
  }
  const segments room({receive.data, receive.bytes});
  const segments data({from.data, from.bytes});
  copy_segments(receive.layout != nullptr ? *receive.layout : room,
                sender_in_a_row ? data : *from.sender->layout, begin, end);
}

// A long copy as a detached loop, whose chunks other workers steal.
struct shared_copy {
  loop chunks;
  std::size_t bytes;
  std::size_t chunk_bytes;
  operation* receive;
  envelope source;
  rendezvous_request rts;

  static void run(void* self, std::int64_t first, std::int64_t last) {
    const auto& c = *static_cast<const shared_copy*>(self);
    const std::size_t begin = static_cast<std::size_t>(first) * c.chunk_bytes;
    const std::size_t end = std::min(c.bytes, static_cast<std::size_t>(last) * c.chunk_bytes);
    copy_part(*c.receive, c.rts, begin, end);
  }
  static void ended(worker& here, void* self) {
    const std::unique_ptr<shared_copy> c(static_cast<shared_copy*>(self));
    if (here.owner().stopping()) return;  // Both ranks may have unwound.
    finish_rendezvous(here, c->rts);
    complete_receive(here, *c->receive, packed_envelope(c->source), c->rts.bytes);
  }
};

void receive_rendezvous(worker& here, operation& op, const envelope& from,
                        const rendezvous_request& rts) {
  if (tracing()) [[unlikely]]
    profile::took_rts(op.owner->number, name_of_message(from, op.owner->number), &op);
  if (rts.remote != nullptr) {
    rts.remote->ways->receive(here, op, from, rts.remote);
    return;
  }
  const std::size_t bytes = std::min<std::size_t>(op.bytes, rts.bytes);
  if (bytes >= shared_copy_bytes_min && here.owner().worker_count() > 1) {
    // Two chunks for each worker that may come, so that a late one still gets a share; more cost more than they gain.
    const auto chunks = static_cast<std::size_t>(2 * std::min(here.owner().worker_count(), 8));
    const std::size_t chunk =
        std::clamp<std::size_t>(bytes / chunks / 4096 * 4096, 16 * 1024, 256 * 1024);
    const auto count = static_cast<std::int64_t>((bytes + chunk - 1) / chunk);
    auto* c = new shared_copy{
        {&shared_copy::run, nullptr, count, true, true}, bytes, chunk, &op, from, rts};
    c->chunks.body = c;
    if (here.open_detached(c->chunks, &shared_copy::ended, c)) return;
    delete c;  // All slots of this worker are in use.
  }
  if (bytes != 0) copy_part(op, rts, 0, bytes);
  finish_rendezvous(here, rts);
  complete_receive(here, op, packed_envelope(from), rts.bytes);
}

}  // namespace

void receive_unexpected(worker& here, operation& op, unexpected_message* m) {
  if (m->rts) {
    receive_rendezvous(here, op, m->from, m->rts);
  } else {
    fill(op, byte_view(m->data(), m->bytes));
    complete_receive(here, op, packed_envelope(m->from), m->bytes);
  }
  free_unexpected(*op.owner, m);
}

void fill_laid_out(const operation& op, const segments& data) {
  const std::size_t bytes = std::min(op.bytes, data.size());
  if (op.layout != nullptr)
    copy_segments(*op.layout, data, 0, bytes);
  else
    copy_segments(segments({op.data, op.bytes}), data, 0, bytes);
}

void tell_received_traced(worker& here, operation& op) {
  const message_name name{op.match.context, op.result.source, op.result.tag, op.owner->number};
  profile::received(op.owner->number, name, op.result.bytes, &op, op.counter);
  tell_received(here, op);
}

void deliver_into(worker& here, operation& op, packed_envelope from, byte_view data) {
  stages::pass(stages::point::matched);
  fill(op, data);
  stages::pass(stages::point::copied);
  complete_receive(here, op, from, data.size());
  stages::pass(stages::point::told);
}
void deliver_into(worker& here, operation& op, packed_envelope from, const segments& data) {
  fill(op, data);
  complete_receive(here, op, from, data.size());
}

bool deliver_words_behind_first(worker& here, rank_state& to, packed_envelope from,
                                byte_view data) {
  // The first receive wants the message but takes no words: take_or_keep() gives it the message.
  if (matches(to.lists.first_in_row()->match, from)) return false;
  const std::uint32_t at = to.lists.search_behind_first(from);
  if (at == match_lists::no_place || !takes_words(to.lists.in_row(at), data)) return false;
  give_words(here, *to.lists.take_out_of_row(at), from, data);
  return true;
}

namespace {
template <class Data>
void take_or_keep_any(worker& here, rank_state& to, packed_envelope from, const Data& data) {
  if (operation* op = to.lists.take_posted(from); op != nullptr)
    return deliver_into(here, *op, from, data);
  unexpected_message* m = make_unexpected(to, from.unpacked(), data.size());
  copy_out(m->data(), data);
  add_unexpected(here, to, m);
}
}  // namespace

void take_or_keep(worker& here, rank_state& to, packed_envelope from, byte_view data) {
  take_or_keep_any(here, to, from, data);
}
void take_or_keep(worker& here, rank_state& to, packed_envelope from, const segments& data) {
  take_or_keep_any(here, to, from, data);
}

bool find_unexpected(rank_state& me, operation& op) {
  unexpected_message* m = me.lists.find(op.match);
  if (m == nullptr) return false;
  if (me.of->how.schedule && op.match.source == any_source)
    m = me.home->pick(
        m, [&](auto* at) { return match_lists::find_next(op.match, match_lists::after(*at)); },
        [](const auto& a, const auto& b) { return a.from.source == b.from.source; });
  me.lists.remove(*m);
  set_congestion(me);
  receive_unexpected(*me.home, op, m);
  return true;
}

void deliver_rts(worker& here, rank_state& to, const envelope& from,
                 const rendezvous_request& rts) {
  if (operation* op = to.lists.take_posted(packed_envelope(from)); op != nullptr) {
    receive_rendezvous(here, *op, from, rts);
    return;
  }
  unexpected_message* m = make_unexpected(to, from, 0);
  m->rts = rts;
  add_unexpected(here, to, m);
}

void deliver_early(worker& here, rank_state& to, const envelope& from, byte_view data,
                   const rendezvous_request& rts, early_sender sender) {
  if (operation* op = to.lists.take_posted(packed_envelope(from)); op != nullptr)
    return rts ? receive_rendezvous(here, *op, from, rts)
               : deliver_into(here, *op, packed_envelope(from), data);
  unexpected_message* m = make_unexpected(to, from, data.size());
  m->rts = rts;
  m->early = sender;
  copy_out(m->data(), data);
  add_unexpected(here, to, m);
}

namespace {

[[gnu::noinline]] void deliver_mail_on_slow_path(worker& here, record_header header,
                                                 const std::byte* payload) {
  const auto [from, data] = mailed_message::read(header, payload);
  deliver(here, rank_of(here, mailed_message::receiver_of(header)), from, data);
}

// All but the commonest case is one call with the same arguments, so that the commonest case saves no registers.
void on_eager(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]]
    return;
  stages::pass(stages::point::seen);
  const auto [from, data] = mailed_message::read(header, payload);
  rank_state& to = rank_of(here, mailed_message::receiver_of(header));
  operation* const first = are_words(data.size()) ? take_first_for_words(to, from, data) : nullptr;
  if (first == nullptr) [[unlikely]]
    return deliver_mail_on_slow_path(here, header, payload);
  stages::pass(stages::point::matched);
  give_words(here, *first, from, data);
}

void on_rts(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]]
    return;
  rts_payload message;
  std::memcpy(&message, payload, sizeof message);
  deliver_rts(here, rank_of(here, header.target()), message.from, message.rts);
}

struct withdraw_payload {
  operation* sender;
  int worker;
  std::uint32_t number;
};

// The target of the mail that a sender has its data back.
constexpr std::uint32_t is_withdrawn = 0, is_refused = 1;

// The memory of an operation is used again, so the address alone may mean a later send: the number decides.
bool drop_rts_of(const withdraw_payload& asked, rank_state& to) {
  return drop_rts(to, [&](const rendezvous_request& rts) {
    return rts.sender == asked.sender && rts.number == asked.number;
  });
}

// Mail keeps its order, so the rendezvous request has come before this.
void on_withdraw(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]]
    return;
  withdraw_payload asked{};
  std::memcpy(&asked, payload, sizeof asked);
  if (drop_rts_of(asked, rank_of(here, header.target())))
    here.post(asked.worker, mail_withdrawn, is_withdrawn,
              std::as_bytes(std::span(&asked.sender, 1)));
}

void on_withdrawn(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]]
    return;
  operation* sender = nullptr;
  std::memcpy(&sender, payload, sizeof sender);
  sender->failed = sender->failed || header.target() == is_refused;
  complete_withdrawn(here, *sender);
}

void on_finished(worker& here, record_header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]]
    return;
  operation* sender = nullptr;
  std::memcpy(&sender, payload, sizeof sender);
  complete(here, *sender);
}

// Mail keeps its order: the asker reads everything that this worker has told it before the answer.
void on_finished_asked(worker& here, record_header header, const std::byte* payload) {
  std::int32_t asker = 0;
  std::memcpy(&asker, payload, sizeof asker);
  here.post(asker, mail_finished_told, header.target(), {});
}

void on_finished_told(worker& here, record_header header, const std::byte*) {
  ++rank_of(here, header.target()).finishes_told;
}

// Waits until the mailbox has room: the receiver's worker empties it in any of its waits.
[[gnu::noinline]] worker::mail_room wait_for_room(worker& here, int to, std::size_t bytes,
                                                  const wait_description& what) {
  worker::mail_room room;
  while (!(room = here.try_reserve(to, bytes)))
    here.wait_until([&] { return static_cast<bool>(here.try_reserve(to, bytes)); }, what);
  return room;
}

[[gnu::noinline]] worker::mail_room wait_with_message(worker& here, const peer& to,
                                                      std::size_t record, const envelope& from,
                                                      std::size_t bytes) {
  const auto& me = *static_cast<const rank_state*>(worker::caller());
  const auto c = find_communicator(me, base_context(from.context));
  const int rank = c != nullptr ? static_cast<int>(&to - c->peers.data()) : to.number;
  return wait_for_room(here, to.worker, record,
                       {"send (mailbox full)", from.context, rank, from.tag, bytes});
}

// Reserves room for `before` bytes and the data; waits for it.
[[gnu::always_inline]] inline worker::mail_room reserve(worker& here, const peer& to,
                                                        packed_envelope from, std::size_t bytes,
                                                        std::size_t before) {
  worker::mail_room room = here.try_reserve(to.worker, before + bytes);
  if (!room) [[unlikely]]
    room = wait_with_message(here, to, before + bytes, from.unpacked(), bytes);
  return room;
}

template <class Data>
[[gnu::noinline]] void send_whole(worker& here, const peer& to, packed_envelope from,
                                  const Data& data) {
  const worker::mail_room room = reserve(here, to, from, data.size(), sizeof(envelope));
  from.write(room.payload());
  copy_out(room.payload() + sizeof(envelope), data);
  here.send_reserved(room, to.worker, mail_eager_whole, static_cast<std::uint32_t>(to.number));
}

template <class Data>
[[gnu::always_inline]] inline void send_through_mailbox(worker& here, const peer& to,
                                                        packed_envelope from, const Data& data) {
  if (!mailed_message::has_room_for(from.context())) [[unlikely]]
    return send_whole(here, to, from, data);
  const worker::mail_room room =
      reserve(here, to, from, data.size(), mailed_message::bytes_before_data);
  stages::pass(stages::point::reserved);
  copy_out(mailed_message::begin(room.payload(), from), data);
  stages::pass(stages::point::packed);
  here.send_reserved(room, to.worker, mail_eager,
                     mailed_message::target_of(from.context(), to.number));
  stages::pass(stages::point::published);
}

}  // namespace

void send_eager(worker& here, const peer& to, packed_envelope from, byte_view data) {
  send_through_mailbox(here, to, from, data);
}
void send_eager(worker& here, const peer& to, packed_envelope from, const segments& data) {
  send_through_mailbox(here, to, from, data);
}

namespace {

// Memory of packed messages for the next ones that are as long: programs send the same sizes over and over. A thread keeps the
// last few.
class packed_memory {
 public:
  [[nodiscard]] std::byte* take(std::size_t bytes) {
    const auto found = std::ranges::find_if(
        kept_, [&](const block& b) { return b.memory != nullptr && b.bytes == bytes; });
    return found != kept_.end() ? found->memory.release() : new std::byte[bytes];
  }
  void give(std::byte* memory, std::size_t bytes) noexcept {
    block& oldest = kept_[next_++ % kept_.size()];
    oldest.memory.reset(memory);
    oldest.bytes = bytes;
  }

 private:
  struct block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  std::array<block, 8> kept_;
  std::size_t next_ = 0;
};
thread_local packed_memory spare_packed;

}  // namespace

void free_packed(operation& op) noexcept {
  spare_packed.give(std::exchange(op.data, nullptr), op.bytes);
}

void send_rts(worker& here, const peer& to, const envelope& from, operation& op) {
  if (tracing()) [[unlikely]]
    profile::kept_for_rendezvous(op.owner->number);
  if (to.worker == remote_worker) {
    op.owner->shared->ways->send_rts(here, to, from, op);
    return;
  }
  if (op.layout != nullptr && to.worker != here.index() && op.bytes <= packed_bytes_max &&
      has_short_blocks(*op.layout)) {
    op.data = spare_packed.take(op.bytes);
    copy_out(op.data, *op.layout);
  }
  const rendezvous_request rts{&op, op.data, op.bytes, here.index(), ++op.owner->rts_sent};
  op.rts_number = rts.number;
  if (to.worker == here.index()) {
    deliver_rts(here, *to.rank, from, rts);
    return;
  }
  const rts_payload message{from, 0, rts};
  const wait_description what{call_of(op.mode), from.context, op.peer, from.tag, op.bytes};
  const worker::mail_room room = wait_for_room(here, to.worker, sizeof message, what);
  std::memcpy(room.payload(), &message, sizeof message);
  here.send_reserved(room, to.worker, mail_rts, static_cast<std::uint32_t>(to.number));
}

void ask_back(worker& here, const peer& to, operation& op) {
  if (to.worker == remote_worker) return op.owner->shared->ways->ask_back(here, to, op);
  const withdraw_payload asked{&op, here.index(), op.rts_number};
  if (to.worker == here.index()) {
    if (drop_rts_of(asked, *to.rank)) complete_withdrawn(here, op);
    return;
  }
  const worker::mail_room room = wait_for_room(
      here, to.worker, sizeof asked, {"cancel", op.match.context, op.peer, op.match.tag, op.bytes});
  std::memcpy(room.payload(), &asked, sizeof asked);
  here.send_reserved(room, to.worker, mail_withdraw, static_cast<std::uint32_t>(to.number));
}

void refuse_of_process(worker& here, const rendezvous_request& rts) {
  if (rts.worker == here.index()) return fail(here, *rts.sender);
  here.post(rts.worker, mail_withdrawn, is_refused, std::as_bytes(std::span(&rts.sender, 1)));
}

std::array<scheduler::mail_handler, mail_kinds_of_ranks> mail_of_ranks(
    scheduler::mail_handler broken, scheduler::mail_handler question) noexcept {
  std::array<scheduler::mail_handler, mail_kinds_of_ranks> all{};
  const auto set = [&](mail_kind kind, scheduler::mail_handler handler) {
    all[static_cast<std::size_t>(kind - first_mail)] = handler;
  };
  set(mail_eager, &on_eager);
  set(mail_eager_whole, &on_eager);
  set(mail_rts, &on_rts);
  set(mail_finished, &on_finished);
  set(mail_broken, broken);
  set(mail_question, question);
  set(mail_withdraw, &on_withdraw);
  set(mail_withdrawn, &on_withdrawn);
  set(mail_finished_asked, &on_finished_asked);
  set(mail_finished_told, &on_finished_told);
  return all;
}

void free_messages_of(rank_state& r) noexcept {
  while (operation* op = r.detached.front()) {
    r.detached.remove(*op);
    free_kept(r, as_kept(op));
  }
  while (operation* op = r.spare_kept) {
    r.spare_kept = op->in_list.next;
    delete static_cast<kept_operation*>(op);
  }
  while (operation* op = r.spare) {
    r.spare = op->in_list.next;
    delete op;
  }
  while (unexpected_message* m = r.lists.oldest()) {
    r.lists.remove(*m);
    drop_unexpected(r, m);
  }
  while (unexpected_message* m = r.spare_messages) {
    r.spare_messages = m->in_order.next;
    m->~unexpected_message();
    ::operator delete(m);
  }
}

}  // namespace weft::detail
