// Ranks that wait for a process that has died: their calls fail, or the job ends.
#include <optional>
#include <string>
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
  const int process = address_of(to.number).process;
  throw error("rank " + std::to_string(me.number) + ": rank " + std::to_string(to.number) +
              " cannot be reached: its process " + std::to_string(process) + " on host " +
              between_.job().host_of(process) + " is dead");
}

bool remote_messaging::is_dead(const rank_state& r, std::uint32_t context, int rank) const {
  if (rank < 0 || !between_.any_has_died()) return false;
  const int number = world_number(r, base_context(context), rank);
  return number >= 0 && !remote::port::of(*r.home).is_alive(address_of(number).process);
}

bool remote_messaging::is_lost(const rank_state& r, const envelope& wanted) const {
  return survives() && is_dead(r, wanted.context, wanted.source);
}

bool is_lost(const rank_state& me, const envelope& wanted) {
  return me.shared->ways != nullptr && me.shared->ways->is_lost(me, wanted);
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
      if (is_lost(*r, op.match)) lost.push_back(&op);
    });
    for (operation* op : lost) {
      r->lists.withdraw(*op);
      fail(here, *op);
      any = true;
    }
    for (probe_wait* p = r->probes.front(); p != nullptr; p = decltype(r->probes)::after(*p)) {
      if (p->any.pending == 0 || !is_lost(*r, p->wanted)) continue;
      here.complete(p->any);
      any = true;
    }
  }
  return any;
}

}  // namespace weft::detail
