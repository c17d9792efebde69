// Non-blocking collectives: each is the blocking one, on a fiber of its own beside the rank's code.
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "collective/collective_turn.hpp"
#include "collective/collectives.hpp"
#include "rank/messages.hpp"
#include "rank/request_watch.hpp"

namespace weft {
namespace detail {

void wait_for_turn(worker& here, member& m, std::uint64_t ticket, const wait_description& why) {
  if (m.waiting == nullptr)
    m.waiting = std::make_unique<std::map<std::uint64_t, completion_counter*>>();
  completion_counter comes{1, nullptr};
  struct place {
    member& of;
    const std::map<std::uint64_t, completion_counter*>::iterator at;
    ~place() { of.waiting->erase(at); }
  } const mine{m, m.waiting->emplace(ticket, &comes).first};
  here.wait(comes, why);
  here.check_stopped();  // The one before may have ended by unwinding.
}

static diagnosis::race_watch::collective named(const communicator_state& c,
                                               std::uint64_t turn) noexcept {
  return {c.context, c.to(0).number, c.size(), turn};
}
void note_entered(const rank_state& me, const communicator_state& c, std::uint64_t turn) {
  if (diagnosis::race_watch* const races = me.watch->races(); races != nullptr)
    races->entered(me.number, named(c, turn));
}
void note_left(const rank_state& me, const communicator_state& c, std::uint64_t turn) noexcept {
  if (diagnosis::race_watch* const races = me.watch->races(); races != nullptr)
    races->left(me.number, named(c, turn));
}

void tell_next(worker& here, member& m) noexcept {
  if (m.waiting->empty()) return;
  const auto& [ticket, comes] = *m.waiting->begin();
  if (ticket == m.next_ticket()) here.complete(*comes);
}

request start_activity(const shared_handle<communicator_state>& state, std::function<void()> body) {
  rank_state& me = calling_rank("a non-blocking call");
  me.home->check_stopped();
  kept_operation* op = take_kept(me);
  op->what = operation::kind::collective;
  op->communicator = state;
  op->active = true;
  watch_start(*op);
  op->body = std::move(body);
  op->runner.identity = &me;
  op->runner.is_urgent = true;
  op->runner.argument = op;
  op->runner.body = [](void* argument) {
    auto& self = *static_cast<kept_operation*>(argument);
    try {
      self.body();
    } catch (...) {  // The job's stop too: a wait must not take this for complete.
      self.failure = std::current_exception();
    }
  };
  // Completed once its fiber is gone: then the operation may be freed.
  op->runner.reclaimed = [](fiber& ended) {
    auto& self = *static_cast<kept_operation*>(ended.argument);
    if (tracing()) [[unlikely]]
      profile::ended_beside(self.owner->number, &ended, self.counter);
    self.complete = true;
    if (self.counter != nullptr) ended.home->complete(*self.counter);
  };
  if (tracing()) [[unlikely]]
    profile::start_beside(me.number, &op->runner);
  me.home->spawn(op->runner);
  return request(op);
}

request start_collective(const shared_handle<communicator_state>& state, int rank,
                         std::function<void()> body) {
  rank_state& me = calling_rank("a non-blocking collective");
  check_is_own(*state, rank, me, "a non-blocking collective");
  me.home->check_stopped();
  const std::uint64_t ticket = state->at(rank).tickets;
  request started = start_activity(state, [c = state, rank, ticket, &me, run = std::move(body)] {
    member& self = c->at(rank);
    if (ticket != self.next_ticket())
      wait_for_turn(*me.home, self, ticket, {"non-blocking collective", c->context});
    self.has_turn = true;
    // A call that is refused before it begins has had its turn all the same.
    struct turn_end {
      worker& here;
      member& m;
      ~turn_end() {
        if (!std::exchange(m.has_turn, false)) return;
        ++m.refused;
        if (m.waiting != nullptr) tell_next(here, m);
      }
    } const ended{*me.home, self};
    run();
  });
  // No sooner: one that could not start would keep those after it waiting.
  ++state->at(rank).tickets;
  return started;
}

}  // namespace detail

request communicator::start_collective(void* body, void (*run)(void*),
                                       void (*destroy)(void*)) const {
  return detail::start_collective(
      state_, rank_, [run, kept = std::shared_ptr<void>(body, destroy)] { run(kept.get()); });
}

}  // namespace weft
