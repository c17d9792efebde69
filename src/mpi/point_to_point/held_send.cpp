#include "mpi/point_to_point/held_send.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "diagnosis/checks.hpp"
#include "job/held_waits.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

// What is given back unless the wait lets the operation go.
struct kept_copy {
  rank_state& of;
  kept_operation* op;
  ~kept_copy() {
    if (op != nullptr) free_kept(of, op);
  }
};

// Goes on like a buffered send: nobody waits for it any more.
void let_go(state& me, kept_copy& sent) {
  kept_operation* const op = std::exchange(sent.op, nullptr);
  op->counter = nullptr;
  op->detached = true;
  me.rank.detached.push_back(*op);
  --me.holds_left;
}

}  // namespace

void send_held(state& me, const route& to, const segments& data, const char* call) {
  rank_state& r = me.rank;
  r.home->begin_call();
  const peer& there = to.comm->shared->to(to.peer);
  const envelope from = to.of_send();
  kept_copy sent{r, take_kept(r)};
  kept_operation& op = *sent.op;
  op.copy = std::make_unique<std::byte[]>(data.size());
  copy_out(op.copy.get(), data);
  set_memory(op, byte_view(op.copy.get(), data.size()));
  // Never at once, as a synchronous send.
  (void)send_now(r, there, from, byte_view(op.copy.get(), data.size()), send_mode::synchronous);
  describe_send(op, r, from, to.peer, there.worker);
  op.mode = send_mode::synchronous;
  op.number = 0;  // Of no attached buffer.
  send_rts(*r.home, there, from, op);
  const held_waits::hold held(*r.of->held);
  // To itself: nobody else could begin the receive.
  const bool is_to_itself = there.rank == &r;
  if (!is_to_itself)
    r.home->wait_until([&] { return op.complete || held.is_let_go(); },
                       {call, from.context, to.peer, to.tag, data.size()});
  if (op.complete) {
    if (is_bad(op)) [[unlikely]]
      fail_message(op, to.comm->peers_first);
    return;
  }
  if (is_to_itself || held.was_quiescent_since())
    me.unsafe_sends.push_back(
        {&op,
         formatted("rank {} sends {} bytes to {}, tag {}, by {} in {}, before {}: the program "
                   "goes on only while such messages are buffered, which MPI does not "
                   "promise: receive first, or call MPI_Sendrecv, MPI_Isend or MPI_Bsend",
                   r.number, data.size(), me.name_of_source(from.context, to.peer), to.tag, call,
                   diagnosis::place_mark,
                   is_to_itself ? "it begins the receive" : "any rank would go on"),
         diagnosis::calls_here()});
  let_go(me, sent);
}

namespace {

// A receiver may have received without having said so yet. The wait for its answer ends after this time, since it may be computing.
constexpr std::uint64_t answer_ns_max = 200'000'000;

void hear_of_received(state& me) {
  rank_state& r = me.rank;
  std::vector<peer> asked;
  for (int number = 0; number < me.world->peers_count; ++number) {
    const peer& to = me.world->shared->to(number);
    const auto is_there = [&](const peer& p) { return p.worker == to.worker; };
    // Messages within this worker are delivered by the call itself, so it is not asked.
    if (to.worker != r.home->index() && std::ranges::none_of(asked, is_there)) asked.push_back(to);
  }
  const std::uint32_t told_before = r.finishes_told;
  for (const peer& to : asked) ask_finished(r, to);
  r.home->wait_until([&] { return r.finishes_told - told_before >= asked.size(); }, answer_ns_max,
                     {"MPI_Finalize (sends that are checked)"});
}

bool is_received(const state& me, const operation* op) {
  const auto& waiting = me.rank.detached;
  const operation* left = waiting.front();
  while (left != nullptr && left != op) left = waiting.after(*left);
  return left == nullptr;
}

}  // namespace

void tell_unsafe_sends(state& me) {
  if (me.unsafe_sends.empty()) return;
  hear_of_received(me);
  // One that nobody has received is told of as such.
  for (auto& [op, text, place] : std::exchange(me.unsafe_sends, {}))
    if (is_received(me, op))
      me.rank.of->checks->add(
          {diagnosis::finding::kind::warning, std::move(text), {std::move(place)}});
}

}  // namespace weft::mpi
