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

// As it travels. The words of the two sets follow.
struct agreements::message_head {
  std::uint64_t number;
  agreement_step what;
  std::int32_t ballot;
  std::uint32_t flags;
  std::uint32_t kinds;
  std::uint32_t context;
  std::uint32_t is_decided;
};

// One agreement, as the ranks of this process see it.
struct agreements::instance : one_agreement {
  using one_agreement::one_agreement;
  published<bool> is_decided;  // Published after `value`, which its readers read without the lock.
  std::weak_ptr<record> of;
};

struct agreements::record {
  std::uint64_t name = 0;
  std::uint32_t context = 0;
  bool is_known = false;
  int leader_worker = -1;
  agreements* owner = nullptr;
  std::vector<int> processes;  // Of the subgroups.
  std::vector<int> leaders;    // Their numbers in the world.
  std::vector<int> workers;
  std::vector<std::uint64_t> called;  // By rank: agreements begun.
  agreement_series<instance> series;
  // Agreements to which the ranks of this process have all come, raised with the lock: their leader speaks for them.
  published<std::uint64_t> complete_here;
  // Of a communicator that this process has not made yet: the process and the words of the message.
  std::vector<std::pair<int, std::vector<std::byte>>> early;

  [[nodiscard]] int subgroup_of(int process) const noexcept {
    const auto at = std::ranges::find(processes, process);
    return at == processes.end() ? -1 : static_cast<int>(at - processes.begin());
  }
  [[nodiscard]] bool reaches_other_jobs() const noexcept {
    const remote_messaging* const ways = owner->of_.ways.get();
    return ways != nullptr && std::ranges::any_of(processes, [ways](int process) {
             return ways->is_of_other_job(process);
           });
  }
};

// What the protocol asks of the leader's worker.
struct agreements::surroundings {
  const record& r;
  worker& here;
  [[nodiscard]] bool is_alive(int subgroup) const {
    return remote::port::of(here).is_alive(r.processes[static_cast<std::size_t>(subgroup)]);
  }
  [[nodiscard]] std::uint32_t new_context() const {
    messaging& of = r.owner->of_;
    return r.reaches_other_jobs() ? draw_joined_contexts(of, 1) : of.take_contexts(1);
  }
  void decided(instance& one) const {
    one.is_decided.publish(true);
    for (const int w : r.workers) r.owner->of_.in_job.workers->at(w).notify();
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
  r.series.know(c.here, c.subgroups.size(), c.local().size());
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
  if (of_.ways == nullptr || at->second->series.subgroups() == 1) {
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
    const auto called = r->series.call(++r->called[static_cast<std::size_t>(rank)], mine);
    one = called.one;
    if (one->of.expired()) one->of = r;  // Its readers have been here before.
    complete = called.by_all;
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

void agreements::pack(const record& r, const agreement_series<instance>::outbox& said,
                      outbox& out) {
  for (const auto& [to, one] : said) {
    const message_head head{one.number,
                            one.what,
                            one.ballot,
                            one.value.flags,
                            one.value.kinds,
                            one.value.context,
                            one.is_decided ? 1u : 0u};
    letter made{r.leaders[static_cast<std::size_t>(to)], r.context, {}};
    const auto append = [&](std::span<const std::byte> part) {
      made.text.insert(made.text.end(), part.begin(), part.end());
    };
    append(std::as_bytes(std::span(&head, 1)));
    append(std::as_bytes(one.value.dead.words()));
    append(std::as_bytes(one.value.acknowledged.words()));
    out.push_back(std::move(made));
  }
}

void agreements::go_on(record& r, worker& here, outbox& out) {
  agreement_series<instance>::outbox said;
  surroundings around{r, here};
  r.series.go_on(around, said);
  pack(r, said, out);
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
  surroundings around{r, here};
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
        head.ballot < -1 || head.ballot >= r.series.subgroups()) {
      all_good = false;
      continue;
    }
    std::memcpy(value.dead.words().data(), said.data() + sizeof head, set_bytes);
    std::memcpy(value.acknowledged.words().data(), said.data() + sizeof head + set_bytes,
                set_bytes);
    agreement_series<instance>::outbox answers;
    r.series.take(from, {head.number, head.what, head.ballot, head.is_decided != 0, value}, around,
                  answers);
    pack(r, answers, out);
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
