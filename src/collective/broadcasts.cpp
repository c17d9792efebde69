// Broadcasts. The root of a small one publishes it and goes on; who waits in vain asks it whether
// it is in the same call. A large one is moved by those who want it.
#include <cstring>
#include <span>

#include "collective/broken_communicator.hpp"
#include "collective/buffer_exposure.hpp"
#include "collective/calls.hpp"
#include "collective/collectives.hpp"
#include "collective/peer_failure.hpp"
#include "collective/remote_subgroups.hpp"

namespace weft::detail {
namespace {

[[nodiscard]] broadcast_question question_of(std::uint64_t turn, const collective_call& call,
                                             int rank) noexcept {
  broadcast_question asked{turn, call.bytes, call.root, rank};
  std::strncpy(asked.name, call.name, sizeof asked.name - 1);
  return asked;
}

struct question_in_mail {
  std::uint32_t context;
  std::int32_t rank;  // Who is asked.
  broadcast_question asked;
};

// A small broadcast whose root does not come: who has looked in vain for long asks it, once,
// whether it is in the same call. Of a root in another process the leader asks; the other ranks of its process ask the
// leader.
class root_query {
 public:
  root_query(communicator_state& c, collective_turn& turn, int rank,
             const collective_call& call) noexcept
      : c_(c), here_(turn.here()), asked_(question_of(turn.self().turn, call, rank)) {
    const int leader = c.local()[0];
    whom_ = c.at(call.root).rank != nullptr || rank == leader ? call.root : leader;
  }
  void look() {
    if (++looks_ == looks_max && whom_ != asked_.rank) ask();
  }

 private:
  static constexpr int looks_max = 8;

  [[gnu::noinline]] void ask() {
    const peer& there = c_.to(whom_);
    if (there.worker == remote_worker)
      c_.of.subgroups->ask(here_, c_, whom_, asked_);
    else if (there.worker == here_.index())
      answer(here_, c_, whom_, asked_);
    else
      mail();
  }
  void mail() {
    const question_in_mail question{c_.context, whom_, asked_};
    here_.post(c_.to(whom_).worker, mail_question, static_cast<std::uint32_t>(c_.to(whom_).number),
               std::as_bytes(std::span(&question, 1)));
  }

  communicator_state& c_;
  worker& here_;
  const broadcast_question asked_;
  int whom_;
  int looks_ = 0;
};

}  // namespace

// A rank that is in another call than the one who asks will not come to it: all ranks call the same
// collectives, so those with the same number of calls before them are the same.
void answer(worker& here, communicator_state& c, int rank, const broadcast_question& asked) {
  member& m = c.at(rank);
  if (asked.turn < m.turn) return;  // It was there, and has gone on.
  if (m.acting != asked.turn) {
    if (asked.turn < m.asked.turn) m.asked = asked;  // Until it comes.
  } else if (!is_same(call_of(asked), m.call)) {
    break_communicator(here, c,
                       encoded_mismatch(mismatch(c, asked.rank, call_of(asked), rank, m.call)));
  }
}

void on_question(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]]
    return;
  question_in_mail question;
  std::memcpy(&question, payload, sizeof question);
  const rank_state& to = rank_of(here, header.target());
  // The rank that asked may have ended, and the communicator may be gone.
  const auto c = find_communicator(to, question.context);
  if (c != nullptr && c->at(question.rank).rank == &to)
    answer(here, *c, question.rank, question.asked);
}

collective_call call_of(const broadcast_question& asked) noexcept {
  return {asked.name, asked.root, true, asked.bytes};
}

namespace {

// Returns when a root has published this broadcast.
void await_broadcast(communicator_state& c, collective_turn& turn, std::uint64_t number, int rank,
                     const collective_call& call) {
  small_broadcasts& slots = *c.broadcasts;
  root_query waits(c, turn, rank, call);
  turn.here().wait_until(
      [&] {
        if (slots.sent.holds(number)) return true;
        waits.look();
        // Relaxed: it says only that nobody will publish.
        return c.broken.load(std::memory_order_relaxed);
      },
      turn.description());
  if (!slots.sent.holds(number)) [[unlikely]]
    throw_failed(c);
}

// The bytes of a small message into a contribution, and out of it.
void put(std::byte* to, std::span<std::byte> data) {
  copy_bytes(to, data.data(), data.size());
}
void put(std::byte* to, const segments& data) {
  if (data.size() != 0) copy_out(to, data);
}
void get(std::span<std::byte> data, const std::byte* from) {
  copy_bytes(data.data(), from, data.size());
}
void get(const segments& data, const std::byte* from) {
  if (data.size() != 0) copy_segments(data, segments({from, data.size()}), 0, data.size());
}

template <class Data>
void broadcast_small(communicator_state& c, int rank, const Data& data,
                     const collective_call& call) {
  collective_turn turn(c, rank, call);
  member& m = turn.self();
  const std::uint64_t number = ++m.broadcasts;
  small_broadcasts& slots = *c.broadcasts;
  if (slots.sent.meets_before(number)) turn.meet();
  m.call.history = history_with(m.call.history, call.root, data.size());
  // The root does not wait for the others.
  if (rank == call.root && slots.sent.try_take(number)) [[likely]] {
    slots.sent.publish(number, [&](contribution& to) {
      to.call = call;
      to.rank = rank;
      put(to.data, data);
    });
    turn.notify_all();
    if (c.spans_processes())
      turn.lead([&] {
        send_broadcast(c, turn.rank(), m.call, rank, number,
                       {slots.sent.content(number).data, data.size()});
      });
    return;
  }
  if (c.spans_processes() && rank == c.local()[0] && c.at(call.root).rank == nullptr) {
    std::byte arrived[small_bytes_max];
    root_query waits(c, turn, rank, call);
    turn.lead([&] {
      receive_broadcast(c, m.call, rank, number, turn.description(), {arrived, data.size()},
                        [&] { waits.look(); });
    });
    get(data, arrived);
    if (!slots.sent.try_take(number)) return;
    slots.sent.publish(number, [&](contribution& to) {
      to.call = call;
      to.rank = call.root;
      copy_bytes(to.data, arrived, data.size());
    });
    turn.notify_all();
    return;
  }
  await_broadcast(c, turn, number, rank, call);
  const contribution& sent = slots.sent.content(number);
  check_same(c, sent.rank, sent.call, rank, call);
  get(data, sent.data);
}

// `mine` is what the root gives to each, and has the room for it elsewhere. Ranks may differ in
// whether they have a layout: all go the same way.
void broadcast_large(communicator_state& c, int rank, const collective_call& call,
                     const parts& mine) {
  parts from_root = mine;
  from_root.first = call.root;
  from_root.count = 1;
  const bool is_root = rank == call.root;
  exchange(c, rank,
           {.call = call, .only_owner = call.root, .part_bytes = call.bytes, .leaves_own = true},
           is_root ? mine : parts{}, is_root ? parts{} : from_root);
}

// A communicator of one rank has no slots.
[[nodiscard]] bool is_small_broadcast(const communicator_state& c, std::size_t bytes) noexcept {
  return bytes <= small_bytes_max && c.size() != 1;
}

}  // namespace

void broadcast(communicator_state& c, int rank, std::span<std::byte> data, int root,
               const char* name) {
  const collective_call call{name, root, true, data.size()};
  if (is_small_broadcast(c, data.size())) return broadcast_small(c, rank, data, call);
  parts mine{0, c.size()};
  mine.base = data.data();
  mine.bytes = data.size();
  broadcast_large(c, rank, call, mine);
}

void broadcast(communicator_state& c, int rank, const segments& data, int root, const char* name) {
  const collective_call call{name, root, true, data.size()};
  if (is_small_broadcast(c, data.size())) return broadcast_small(c, rank, data, call);
  broadcast_large(c, rank, call, parts::all_alike(data, 0, c.size()));
}

}  // namespace weft::detail
