#include "collective/agreements.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ranges>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "collective/joining.hpp"
#include "collective/meetings.hpp"
#include "collective/new_communicators.hpp"
#include "collective/peer_failure.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"
#include "rank/remote.hpp"
#include "rank/source_validation.hpp"
#include "remote/words.hpp"
#include "sync/published.hpp"

namespace weft::detail {

subgroup_set::subgroup_set(std::size_t subgroups, bool all)
    : words_((subgroups + 63) / 64, all ? ~std::uint64_t{0} : 0) {}
void subgroup_set::add(const subgroup_set& others) noexcept {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= others.words_[i];
}
void subgroup_set::keep(const subgroup_set& others) noexcept {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= others.words_[i];
}
bool subgroup_set::is_part_of(const subgroup_set& other) const noexcept {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if ((words_[i] & ~other.words_[i]) != 0) return false;
  return true;
}

void agreed_value::combine(const agreed_value& other) noexcept {
  flags &= other.flags;
  kinds |= other.kinds;
  dead.add(other.dead);
  acknowledged.keep(other.acknowledged);
}

// As it travels. The words of the two sets follow.
struct agreements::message_head {
  std::uint64_t number;
  step what;
  std::int32_t
      ballot;  // The subgroup whose proposal the value is; -1: what the sender's own ranks say.
  std::uint32_t flags;
  std::uint32_t kinds;
  std::uint32_t context;
  std::uint32_t is_decided;
};

// One agreement, as the ranks of this process see it.
struct agreements::instance {
  explicit instance(std::size_t subgroups)
      : value{.dead = subgroup_set(subgroups), .acknowledged = subgroup_set(subgroups, true)},
        states(subgroups),
        accepted(subgroups) {}
  struct state {
    bool has_come = false;
    bool is_decided = false;
    std::int32_t ballot = -1;
    agreed_value value;
  };
  std::uint64_t number = 0;
  std::size_t came = 0;       // The ranks here that have called.
  bool has_all_here = false;  // They have all called, and the agreement before this one is decided.
  // What the ranks here say; from the first proposal on that proposal.
  agreed_value value;
  std::int32_t ballot = -1;
  int coordinator = -1;  // The subgroup that knows the state here.
  // While this subgroup coordinates.
  bool proposes = false;
  std::vector<state> states;
  std::vector<bool> accepted;
  published<bool> is_decided;  // Published after `value`, which its readers read without the lock.
  std::weak_ptr<record> of;
};

struct agreements::record {
  std::uint64_t name = 0;
  std::uint32_t context = 0;
  bool is_known = false;
  int here = -1;
  std::size_t ranks_here = 0;
  int leader_worker = -1;
  agreements* owner = nullptr;
  std::vector<int> processes;  // Of the subgroups.
  std::vector<int> leaders;    // Their numbers in the world.
  std::vector<int> workers;
  std::vector<std::uint64_t> called;                        // By rank: agreements begun.
  std::map<std::uint64_t, std::shared_ptr<instance>> open;  // And the last one that is decided.
  std::uint64_t decided = 0;                                // All up to this one.
  // Agreements to which the ranks of this process have all come, raised with the lock: their leader speaks for them.
  published<std::uint64_t> complete_here;
  // Of a communicator that this process has not made yet: the process and the words of the message.
  std::vector<std::pair<int, std::vector<std::byte>>> early;

  [[nodiscard]] instance& at(std::uint64_t number, const std::shared_ptr<record>& self) {
    auto& one = open[number];
    if (one == nullptr) {
      one = std::make_shared<instance>(processes.size());
      one->number = number;
      one->of = self;
    }
    return *one;
  }
  [[nodiscard]] int subgroup_of(int process) const noexcept {
    const auto at = std::ranges::find(processes, process);
    return at == processes.end() ? -1 : static_cast<int>(at - processes.begin());
  }
  [[nodiscard]] bool is_alive(const worker& on, int subgroup) const {
    return subgroup == here ||
           remote::port::of(on).is_alive(processes[static_cast<std::size_t>(subgroup)]);
  }
  [[nodiscard]] int subgroups() const noexcept { return static_cast<int>(processes.size()); }
  [[nodiscard]] bool reaches_other_jobs() const noexcept {
    const remote_messaging* const ways = owner->of_.ways.get();
    return ways != nullptr && std::ranges::any_of(processes, [ways](int process) {
             return ways->is_of_other_job(process);
           });
  }
};

struct agreements::letter {
  int to;  // The leader's number in the world.
  std::uint32_t context;
  std::vector<std::byte> text;
};

agreements::agreements(messaging& of, remote::handlers* handlers) : of_(of) {
  if (handlers != nullptr) register_with(*handlers);
}

void agreements::register_with(remote::handlers& handlers) {
  handler_ = handlers.add<&agreements::on_message,
                          remote::message_form{.bytes_min = sizeof(message_head)}>(*this);
  deaths_.resize(static_cast<std::size_t>(of_.in_job.workers->worker_count()));
}

// --- Records ----------------------------------------------------------------------------------------

std::shared_ptr<agreements::record> agreements::find_or_make(std::uint64_t name) {
  auto& found = by_name_[name];
  if (found != nullptr) return found;
  if (unknown_ == early_questions_max) {
    by_name_.erase(name);
    return nullptr;
  }
  ++unknown_;
  found = std::make_shared<record>();
  found->name = name;
  found->owner = this;
  return found;
}

void agreements::know(record& r, communicator_state& c) {
  if (std::exchange(r.is_known, true)) return;
  --unknown_;
  r.context = c.context;
  r.here = c.here;
  r.ranks_here = c.local().size();
  r.leader_worker = c.at(c.local()[0]).rank->home->index();
  r.workers = c.workers;
  r.called.resize(static_cast<std::size_t>(c.size()));
  for (const subgroup& s : c.subgroups) {
    r.processes.push_back(s.process);
    r.leaders.push_back(c.to(s.members[0]).number);
  }
}

void agreements::forget(std::uint64_t name) {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return;
  if (of_.ways == nullptr || at->second->subgroups() == 1) {
    by_name_.erase(at);
    return;
  }
  ended_.push_back(at->first);
  if (ended_.size() <= ended_agreements_max) return;
  by_name_.erase(ended_.front());
  ended_.erase(ended_.begin());
}

// --- The calls of ranks -------------------------------------------------------------------------------

std::shared_ptr<agreements::instance> agreements::begin(communicator_state& c, int rank,
                                                        agreement_kind kind, std::uint32_t flags) {
  worker& here = *c.at(rank).rank->home;
  const auto count = c.subgroups.size();
  if (of_.ways != nullptr && c.spans_processes() &&
      sizeof(message_head) + 2 * 8 * ((count + 63) / 64) > of_.ways->eager_bytes_max())
    throw error(formatted("{}: {} processes agree at most by messages of {} bytes", name_of(c),
                          count, of_.ways->eager_bytes_max()));
  agreed_value mine{.flags = flags,
                    .kinds = kind,
                    .dead = subgroup_set(count),
                    .acknowledged = subgroup_set(count)};
  const known_failures& known = failures_known_to(c, rank);
  const auto acknowledged = std::span(known.ranks).first(known.acknowledged);
  for (std::size_t s = 0; s < count; ++s) {
    const std::vector<int>& members = c.subgroups[s].members;
    const auto is_in = [&](std::span<const int> list) {
      return std::ranges::find(list, members.back()) != list.end();
    };
    if (is_in(known.ranks)) mine.dead.add(static_cast<int>(s));
    if (is_in(acknowledged)) mine.acknowledged.add(static_cast<int>(s));
  }
  c.has_agreed.store(true, std::memory_order_relaxed);  // Relaxed: see ~communicator_state().
  std::vector<std::uint64_t> ended;
  {
    const std::lock_guard hold(c.listed_in->lock);
    ended.swap(c.listed_in->ended_agreements);
  }
  std::shared_ptr<instance> one;
  std::shared_ptr<record> r;
  bool complete = false;
  {
    const std::lock_guard hold(lock_);
    for (const std::uint64_t name : ended) forget(name);
    r = find_or_make(meeting_name(c.context, c.to(c.local()[0]).number));
    if (r == nullptr)
      throw error(
          formatted("{}: others agree on more than {} communicators of which this process "
                    "knows nothing",
                    name_of(c), early_questions_max));
    know(*r, c);
    const std::uint64_t number = ++r->called[static_cast<std::size_t>(rank)];
    (void)r->at(number, r);
    one = r->open[number];
    one->value.combine(mine);
    complete = ++one->came == r->ranks_here;
    if (complete) r->complete_here.publish(r->complete_here.hint() + 1);
  }
  if (!complete) return one;
  if (r->leader_worker == here.index())
    run(*r, here);
  else
    here.owner().at(r->leader_worker).notify();
  return one;
}

const agreed_value& agreements::wait(communicator_state& c, int rank,
                                     const std::shared_ptr<instance>& one, const char* call) {
  rank_state& me = *c.at(rank).rank;
  worker& here = *me.home;
  const wait_description what{call, c.context};
  const auto r = one->of.lock();
  const bool leads = r != nullptr && rank == c.local()[0];
  for (std::uint64_t seen = 0; !one->is_decided.value();) {
    here.wait_until(
        [&] { return one->is_decided.value() || (leads && r->complete_here.value() != seen); },
        what);
    here.check_stopped();
    if (!leads) continue;
    seen = r->complete_here.value();
    r->owner->run(*r, here);
  }
  // Whoever hears of a death by the value soon hears of it otherwise, too. Then the rank's own knowledge has all of it.
  if (c.spans_processes())
    here.wait_until(
        [&] {
          const remote::port mine = remote::port::of(here);
          for (std::size_t s = 0; s < c.subgroups.size(); ++s)
            if (one->value.dead.has(static_cast<int>(s)) && mine.is_alive(c.subgroups[s].process))
              return false;
          return true;
        },
        what);
  here.check_stopped();
  return one->value;
}

// --- The protocol -------------------------------------------------------------------------------------

void agreements::decide(record& r, instance& one) {
  one.is_decided.publish(true);
  r.decided = one.number;
  // All that live had decided those before, since they have begun this one.
  r.open.erase(r.open.begin(), r.open.lower_bound(one.number));
  for (const int w : r.workers) of_.in_job.workers->at(w).notify();
}

void agreements::tell(const record& r, int subgroup, step what, const instance& one, outbox& out) {
  const message_head head{one.number,
                          what,
                          one.ballot,
                          one.value.flags,
                          one.value.kinds,
                          one.value.context,
                          one.is_decided.hint() ? 1u : 0u};
  letter made{r.leaders[static_cast<std::size_t>(subgroup)], r.context, {}};
  const auto append = [&](std::span<const std::byte> part) {
    made.text.insert(made.text.end(), part.begin(), part.end());
  };
  append(std::as_bytes(std::span(&head, 1)));
  append(std::as_bytes(one.value.dead.words()));
  append(std::as_bytes(one.value.acknowledged.words()));
  out.push_back(std::move(made));
}

void agreements::tell_living(const record& r, worker& here, step what, const instance& one,
                             outbox& out) {
  for (int s = 0; s < r.subgroups(); ++s)
    if (s != r.here && r.is_alive(here, s)) tell(r, s, what, one, out);
}

void agreements::send(worker& here, outbox& out) {
  for (const letter& one : out) of_.ways->post_to(here, one.to, one.context, handler_, one.text);
}

void agreements::run(record& r, worker& here) {
  outbox out;
  {
    const std::lock_guard hold(lock_);
    (void)take_early(r, here, out);
    go_on(r, here, out);
  }
  send(here, out);
}

void agreements::go_on(record& r, worker& here, outbox& out) {
  for (bool again = true; again;) {
    again = false;
    if (const auto last = r.open.find(r.decided); last != r.open.end())
      (void)go_on_with(r, *last->second, here, out);
    const auto next = r.open.find(r.decided + 1);
    if (next == r.open.end()) return;
    instance& one = *next->second;
    if (one.came == r.ranks_here) one.has_all_here = true;
    again = one.has_all_here && go_on_with(r, one, here, out);
  }
}

// True when it has been decided by this.
bool agreements::go_on_with(record& r, instance& one, worker& here, outbox& out) {
  int coordinator = 0;
  while (!r.is_alive(here, coordinator)) ++coordinator;
  const bool has_value = one.is_decided.hint();
  if (one.coordinator != coordinator) {
    const bool is_first = std::exchange(one.coordinator, coordinator) < 0;
    one.proposes = false;
    if (coordinator != r.here)
      tell(r, coordinator, step::state, one, out);
    else if (has_value && !is_first)
      tell_living(r, here, step::decision, one, out);
  }
  if (coordinator != r.here || has_value) return false;
  const auto all_living = [&](const auto& holds) {
    for (int s = 0; s < r.subgroups(); ++s)
      if (s != r.here && r.is_alive(here, s) && !holds(static_cast<std::size_t>(s))) return false;
    return true;
  };
  if (!one.proposes) {
    if (!all_living([&](std::size_t s) { return one.states[s].has_come; })) return false;
    // A value that somebody may have decided is the one of the last proposal.
    for (const instance::state& theirs : one.states)
      if (theirs.has_come && theirs.ballot > one.ballot) {
        one.ballot = theirs.ballot;
        one.value = theirs.value;
      }
    if (one.ballot < 0) {
      for (const instance::state& theirs : one.states)
        if (theirs.has_come) one.value.combine(theirs.value);
      for (int s = 0; s < r.subgroups(); ++s)
        if (!r.is_alive(here, s)) one.value.dead.add(s);
      if ((one.value.kinds & agreement_on_living) != 0)
        one.value.context =
            r.reaches_other_jobs() ? draw_joined_contexts(of_, 1) : of_.take_contexts(1);
    }
    one.ballot = r.here;
    one.proposes = true;
    std::fill(one.accepted.begin(), one.accepted.end(), false);
    tell_living(r, here, step::proposal, one, out);
  }
  if (!all_living([&](std::size_t s) { return one.accepted[s]; })) return false;
  decide(r, one);
  tell_living(r, here, step::decision, one, out);
  return true;
}

void agreements::take(record& r, worker& here, const message_head& head, int from,
                      const agreed_value& value, outbox& out) {
  if (head.number + 1 < r.decided || head.number > r.decided + agreements_ahead_max) return;
  if (head.number < r.decided && !r.open.contains(head.number)) return;
  instance& one = r.at(head.number, by_name_[r.name]);
  const bool has_value = one.is_decided.hint();
  const auto believe = [&](std::int32_t ballot) {
    one.ballot = ballot;
    one.value = value;
  };
  switch (head.what) {
    case step::state:
      if (has_value) {
        if (head.is_decided == 0) tell(r, from, step::decision, one, out);
      } else if (head.is_decided != 0 && one.has_all_here) {
        believe(head.ballot);
        decide(r, one);
        tell_living(r, here, step::decision, one, out);
      } else {
        one.states[static_cast<std::size_t>(from)] = {true, head.is_decided != 0, head.ballot,
                                                      value};
      }
      break;
    case step::proposal:
      if (!one.has_all_here || has_value || from < one.ballot) break;
      believe(from);
      tell(r, from, step::acceptance, one, out);
      break;
    case step::acceptance:
      if (one.proposes) one.accepted[static_cast<std::size_t>(from)] = true;
      break;
    case step::decision:
      if (!one.has_all_here || has_value) break;
      believe(head.ballot);
      decide(r, one);
      break;
  }
  go_on(r, here, out);
}

void agreements::on_message(worker& here, rank_state& to, const comm::event& happened) {
  const std::uint32_t context = remote::low_of(happened.tag);
  const auto c = find_communicator(to, context);
  outbox out;
  bool is_foreign = false;
  {
    const std::lock_guard hold(lock_);
    const auto r = find_or_make(meeting_name(context, to.number));
    if (r != nullptr) {
      if (c != nullptr && c->at(c->local()[0]).rank == &to) know(*r, *c);
      if (!r->is_known && r->early.size() == early_questions_max) r->early.erase(r->early.begin());
      r->early.emplace_back(happened.process,
                            std::vector<std::byte>(happened.data, happened.data + happened.size));
      is_foreign = !take_early(*r, here, out);
    } else {
      is_foreign = true;
    }
  }
  if (is_foreign) remote::refuse(here, happened, foreign_word);
  send(here, out);
}

bool agreements::take_early(record& r, worker& here, outbox& out) {
  if (!r.is_known) return true;
  bool all_good = true;
  for (const auto& [process, said] : std::exchange(r.early, {})) {
    message_head head;
    std::memcpy(&head, said.data(), sizeof head);
    const int from = r.subgroup_of(process);
    agreed_value value{.flags = head.flags,
                       .kinds = head.kinds,
                       .context = head.context,
                       .dead = subgroup_set(r.processes.size()),
                       .acknowledged = subgroup_set(r.processes.size())};
    const std::size_t set_bytes = value.dead.words().size_bytes();
    if (from < 0 || said.size() != sizeof head + 2 * set_bytes || head.number == 0 ||
        head.ballot < -1 || head.ballot >= r.subgroups()) {
      all_good = false;
      continue;
    }
    std::memcpy(value.dead.words().data(), said.data() + sizeof head, set_bytes);
    std::memcpy(value.acknowledged.words().data(), said.data() + sizeof head + set_bytes,
                set_bytes);
    take(r, here, head, from, value, out);
  }
  return all_good;
}

bool agreements::go_on_without_dead(worker& here) {
  if (of_.ways == nullptr || !of_.ways->survives() || !remote::port::is_at(here)) return false;
  const remote::port mine = remote::port::of(here);
  int dead = 0;
  for (int p = 0; p < mine.owner().known_processes(); ++p)
    if (p != mine.owner().process() && !mine.is_alive(p)) ++dead;
  int& noted = deaths_[static_cast<std::size_t>(here.index())];
  if (noted == dead) return false;
  noted = dead;
  outbox out;
  {
    const std::lock_guard hold(lock_);
    for (const auto& [name, r] : by_name_)
      if (r->is_known && r->leader_worker == here.index()) go_on(*r, here, out);
  }
  send(here, out);
  return true;
}

// --- Their outcome --------------------------------------------------------------------------------------

namespace {

void check_kind(const communicator_state& c, const agreed_value& value, const char* call) {
  if (value.kinds != (agreement_on_flags | agreement_on_living)) return;
  throw coded_error(formatted("{} on {}: some ranks agree, and others shrink the communicator: all "
                              "ranks must make the same calls in the same order",
                              call, name_of(c)),
                    calls_differ);
}

}  // namespace

agreement_outcome conclude_agreement(communicator_state& c, int rank,
                                     const std::shared_ptr<agreements::instance>& one,
                                     const char* call) {
  const agreed_value& value = agreements::wait(c, rank, one, call);
  check_kind(c, value, call);
  return {value.flags, !value.dead.is_part_of(value.acknowledged)};
}

communicator conclude_shrink(communicator_state& c, int rank,
                             const std::shared_ptr<agreements::instance>& one, const char* call) {
  const agreed_value& value = agreements::wait(c, rank, one, call);
  check_kind(c, value, call);
  std::vector<bool> is_dead(static_cast<std::size_t>(c.size()));
  for (std::size_t s = 0; s < c.subgroups.size(); ++s)
    if (value.dead.has(static_cast<int>(s)))
      for (const int r : c.subgroups[s].members) is_dead[static_cast<std::size_t>(r)] = true;
  std::vector<int> living;
  for (int r = 0; r < c.size(); ++r)
    if (!is_dead[static_cast<std::size_t>(r)]) living.push_back(c.to(r).number);
  return join(c.of, *c.at(rank).rank, living, value.context);
}

}  // namespace weft::detail
