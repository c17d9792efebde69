// The messages and collectives of ranks as the base face of a job (job/face.hpp).
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "collective/agreements.hpp"
#include "collective/broken_communicator.hpp"
#include "collective/calls.hpp"
#include "collective/remote_subgroups.hpp"
#include "job/report.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"
#include "rank/request_watch.hpp"
#include "rank/start.hpp"

namespace weft::detail {
namespace {

// Ranks meet in every collective but a small broadcast, which its root leaves alone, and what only neighbours
// say to each other. So a member that has ended and is past the collective in which another one waits has
// called something else instead.
std::string left_behind(const job_rank& r, const communicator_state& c) {
  // Relaxed, here and in the other: all workers are parked.
  if (c.failed.load(std::memory_order_relaxed)) return {};
  const auto own = std::ranges::find_if(c.members, [&](const member& m) { return m.rank == &r; });
  if (own == c.members.end() || own->acting != own->turn) return {};
  const auto index = [&](const member& m) { return static_cast<int>(&m - c.members.data()); };
  for (const member& other : c.members) {
    if (other.rank == nullptr || !other.rank->ended || other.turn <= own->turn) continue;
    if (other.acting + 1 != other.turn)
      continue;  // Its last was refused: `call` is of another one.
    if (other.turn == own->turn + 1) {
      if (!is_same(own->call, other.call))
        return mismatch(c, index(*own), own->call, index(other), other.call);
    } else if (own->call.root == no_root && own->call.same_size) {  // Not of neighbours.
      return formatted(
          "collective mismatch on {}: rank {} calls {} as number {}, but rank {} has "
          "ended after {} collectives, the last a {}: all ranks must call the same collectives in "
          "the same order, with the same sizes",
          name_of(c), index(*own), described(own->call), own->turn + 1, index(other), other.turn,
          described(other.call));
    }
  }
  return {};
}

// The text about a communicator whose ranks have not called the same collectives, whether it lives or has gone away; empty
// when there is none. With `--on-failure error` nothing is compared: ranks that go on after an error may leave calls out.
std::string unequal_ends(const messaging& of) {
  if (of.in_job.how.on_failure == "error") return {};
  communicator_list& listed = *of.communicators;
  const std::lock_guard hold(listed.lock);
  std::string text = listed.unequal;
  for (const auto& [context, c] : listed.by_context)
    if (text.empty()) text = unequal_calls(*c);
  return text;
}

struct messaging_with_collectives final : messaging {
  using messaging::messaging;
  bool end_operations_with_dead(worker& here) override {
    bool any = messaging::end_operations_with_dead(here);
    any |= break_communicators_with_dead(here, *this);
    return agreed->go_on_without_dead(here) || any;
  }
  [[nodiscard]] std::string reason_of_deadlock() override {
    std::string reason = unmet_broadcast(in_job);
    for (const auto& r : in_job.ranks) {
      if (!reason.empty()) break;
      const wait_description* const what = wait_of(*r);
      if (what == nullptr || what->context == wait_description::in_words ||
          what->subject == nullptr)
        continue;
      reason = left_behind(*r, *static_cast<const communicator_state*>(what->subject));
    }
    return reason;
  }
  [[nodiscard]] std::string wrong_at_end() override {
    const std::string text = ways != nullptr ? unmet_broadcast(in_job) : "";
    return text.empty() ? unequal_ends(*this) : text;
  }
};

std::unique_ptr<face_job> begin(job& j, handler_numbers& of_messages) {
  auto made = std::make_unique<messaging_with_collectives>(j);
  for (const auto& r : j.ranks) {
    auto& mine = static_cast<rank_state&>(*r);
    mine.shared = made.get();
    if (j.checks == nullptr) continue;
    mine.watch = std::make_shared<request_watch>();
    if (j.node_of_process.empty())
      mine.watch->look_for_races(
          diagnosis::race_watch::of(*j.checks, static_cast<int>(j.places.size())));
  }
  std::vector<int> numbers(j.places.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  made->world = communicator_state::make(*made, numbers, 0);
  const auto agreements_by = [&](remote::handlers* with) {
    made->agreed = {new agreements(*made, with), [](agreements* a) { delete a; }};
  };
  if (of_messages.between() != nullptr) {
    remote::handlers handlers(of_messages);
    made->ways.publish(new remote_messaging(*made, handlers),
                       [](remote_messaging* w) { delete w; });
    made->subgroups.publish(new remote_subgroups(*made->ways, handlers),
                            [](remote_subgroups* s) { delete s; });
    agreements_by(&handlers);
  } else {
    agreements_by(nullptr);
  }
  return made;
}

const auto mail = mail_of_ranks(&on_broken, &on_question);
const face as_face{.slot = base_slot,
                   .name = "messages",
                   .mail = mail,
                   .begin = &begin,
                   .columns = columns_of_ranks,
                   .is_for_other = &is_for_other_rank,
                   .make_rank = &make_rank_state};
const std::size_t registered = register_face(as_face);

}  // namespace

bool has_face_of_ranks() noexcept {
  return registered == base_slot;
}

}  // namespace weft::detail
