// Ranks that wait for a process that has died, or on a communicator that is revoked: their calls fail, or the job ends.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rank/messages.hpp"
#include "rank/remote_wire.hpp"

namespace weft::detail {

bool remote_messaging::survives() const noexcept {
  return job_.how.on_failure == "error";
}

void remote_messaging::wait_for_the_end(worker& here) const {
  if (survives()) return;
  here.wait_until([] { return false; }, {"wait for the end, since a process has died"});
  here.check_stopped();
}

void remote_messaging::throw_dead(const rank_state& me, const peer& to) const {
  wait_for_the_end(*me.home);
  me.home->yield();  // A rank that tries again and again handles what comes.
  const int process = address_of(to.number).process;
  throw dead_partner("rank " + std::to_string(me.number) + ": rank " + std::to_string(to.number) +
                     " cannot be reached: its " + name_of_process(process) + " is dead");
}

bool remote_messaging::is_dead(const rank_state& r, std::uint32_t context, int rank) const {
  if (rank < 0 || !between_.any_has_died()) return false;
  const int number = world_number(r, base_context(context), rank);
  return number >= 0 && remote::port::is_at(*r.home) &&
         !remote::port::of(*r.home).is_alive(address_of(number).process);
}

bool remote_messaging::is_lost(const rank_state& r, const envelope& wanted) const {
  return survives() && is_dead(r, wanted.context, wanted.source);
}

known_failures& failures_known_to(communicator_state& c, int rank) {
  member& m = c.at(rank);
  if (m.failures == nullptr) m.failures = std::make_unique<known_failures>();
  std::vector<int>& known = m.failures->ranks;
  if (!c.spans_processes() || !c.of.ways->survives() || !c.of.ways->between().any_has_died())
    return *m.failures;
  const remote::port mine = remote::port::of(*m.rank->home);
  for (const subgroup& s : c.subgroups)
    if (!mine.is_alive(s.process) && std::ranges::find(known, s.members[0]) == known.end())
      known.insert(known.end(), s.members.begin(), s.members.end());
  return *m.failures;
}

namespace {

// Whether a face tells the program of failures, and the rank has not acknowledged all of those that it may know.
bool has_unacknowledged(const rank_state& me, std::uint32_t context) {
  const auto c = find_communicator(me, context);
  if (c == nullptr) return false;
  const auto mine =
      std::ranges::find_if(c->members, [&](const member& m) { return m.rank == &me; });
  if (mine->open_peers == nullptr) return false;
  const known_failures& known = failures_known_to(*c, c->rank_of(*mine));
  return known.acknowledged < known.ranks.size();
}

// Those of the program, and of calls of some ranks only; what the leaders of a collective say to each other ends with it.
bool is_of(const envelope& message, const communicator_state& c) noexcept {
  return base_context(message.context) == c.context && (message.context & hidden_context) == 0;
}

void interrupt(worker& here, operation& op) noexcept {
  fail(op);  // So that a wait that has ended does not take it for complete.
  if (completion_counter* const waits = std::exchange(op.counter, nullptr); waits != nullptr)
    here.complete(*waits);
}

}  // namespace

loss loss_of(const rank_state& me, const envelope& wanted) {
  if (is_of_revoked(me, wanted.context)) return loss::revoked;
  const remote_messaging* const ways = me.shared->ways.get();
  if (ways == nullptr) return loss::none;
  if (ways->is_lost(me, wanted)) return loss::dead;
  if (wanted.source == any_source && ways->survives() && ways->between().any_has_died() &&
      has_unacknowledged(me, base_context(wanted.context)))
    return loss::unacknowledged;
  return loss::none;
}

void end_operations_of_revoked(worker& here, communicator_state& c) {
  for (member& m : c.members) {
    if (m.rank == nullptr || m.rank->home != &here) continue;
    if (m.open_peers != nullptr) *m.open_peers = 0;
    rank_state& r = *m.rank;
    std::vector<operation*> ended;
    r.lists.each_posted([&](operation& op) {
      if (is_of(op.match, c)) ended.push_back(&op);
    });
    for (operation* op : ended) {
      r.lists.withdraw(*op);
      fail(here, *op);
    }
    // Of some the sender waits; those that have come whole are nobody's any more.
    const auto left_over = [&] {
      unexpected_message* u = r.lists.oldest();
      while (u != nullptr && !is_of(u->from, c)) u = match_lists::after(*u);
      return u;
    };
    while (unexpected_message* const u = left_over()) {
      r.lists.remove(*u);
      set_congestion(r);
      refuse(here, r, u);
    }
    for (probe_wait* p = r.probes.front(); p != nullptr; p = decltype(r.probes)::after(*p))
      if (p->any.pending != 0 && is_of(p->wanted, c)) here.complete(p->any);
  }
  if (c.of.ways != nullptr) c.of.ways->ask_back_sends(here, c);
}

void remote_messaging::ask_back_sends(worker& here, communicator_state& c) {
  std::vector<operation*> open;
  (void)sends_of(here).find_if([&](const offered_send& s) {
    if (is_of(s.op->match, c) && !s.op->failed) open.push_back(s.op);
    return false;
  });
  for (operation* op : open) {
    op->failed = true;  // So that it fails when it comes back.
    ask_back(here, c.to(op->peer), *op);
  }
}

bool remote_messaging::end_operations_with_dead(worker& here) {
  if (!survives()) return false;
  const remote::port mine = remote::port::of(here);
  bool any = sends_of(here).end_lost([&](int process) { return !mine.is_alive(process); },
                                     [&](std::optional<offered_send> sent) {
                                       operation& op = *sent->op;
                                       sent.reset();  // As in on_finished().
                                       fail(here, op);
                                     });
  for (const auto& of : job_.ranks) {
    if (of->home != &here) continue;
    auto* const r = static_cast<rank_state*>(of.get());
    std::vector<operation*> lost;
    r->lists.each_posted([&](operation& op) {
      switch (loss_of(*r, op.match)) {
        case loss::none:
          break;
        case loss::unacknowledged:
          if (!op.blocking) {  // It goes on. Who waits for it is told.
            if (op.counter == nullptr) break;
            interrupt(here, op);
            any = true;
            break;
          }
          [[fallthrough]];
        case loss::dead:
        case loss::revoked:
          lost.push_back(&op);
      }
    });
    for (operation* op : lost) {
      r->lists.withdraw(*op);
      fail(here, *op);
      any = true;
    }
    for (probe_wait* p = r->probes.front(); p != nullptr; p = decltype(r->probes)::after(*p)) {
      if (p->any.pending == 0 || !weft::detail::is_lost(*r, p->wanted)) continue;
      here.complete(p->any);
      any = true;
    }
  }
  return any;
}

}  // namespace weft::detail
