// Every order of events in jobs of two and three processes whose network delays messages and lets them overtake each other:
// the coordinator is told of a deadlock if there is one, and never if there is none. The state of a job is a value, and
// all states that can be reached are visited once.
#include "runtime/quiescence_agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

// What a rank does: sends a message to a process, or waits for one from anybody.
struct step {
  int to;  // -1: waits.
};
constexpr step await{-1};
using scripts = std::vector<std::vector<step>>;

// What is done wrongly, to see that the check finds it.
enum class fault {
  none,
  sent_is_counted_late,  // A message is counted after it has left, and its process has gone on to wait.
  received_is_counted_early,  // A message is counted, and its rank does not know yet that it may go on.
  one_sent_is_not_counted,
  one_received_is_not_counted,
  one_received_is_counted_twice,
  sums_are_not_compared,
  nobody_is_asked,                   // The first look is believed.
  any_answer_confirms,               // Without the counts.
  old_answers_confirm,               // Of a round that has ended.
  statements_are_not_numbered,       // The one that comes last counts.
  looks_are_made_while_a_rank_runs,  // Both: one of them at rest would do.
};

struct message {
  enum class kind { of_rank, quiet, confirm, confirmed } what;
  int from;
  int to;
  message_counts counts{};
  std::uint32_t number = 0;
  std::uint64_t round = 0;
  [[nodiscard]] std::string text() const {
    return std::to_string(static_cast<int>(what)) + ',' + std::to_string(from) + ',' +
           std::to_string(to) + ',' + std::to_string(counts.sent) + ',' +
           std::to_string(counts.received) + ',' + std::to_string(number) + ',' +
           std::to_string(round) + ' ';
  }
};

struct process {
  std::size_t at = 0;  // The step of its rank.
  int in_hand = 0;     // By a fault: messages that have been counted and not been acted upon,
  int uncounted = 0;   // and those that have left uncounted.
  int inbox = 0;
  message_counts counts;
  message_counts told;
  bool has_told = false;
  bool is_asked = false;
  std::uint64_t round = 0;
  std::uint32_t statement = 0;
  bool has_missed = false;  // The one message of a fault.
};

struct job {
  std::vector<process> processes;
  std::vector<message> under_way;
  quiescence_agreement agreement;
  std::vector<std::uint32_t> heard;  // By statements_are_not_numbered.
  std::vector<message_counts> last_heard;
  bool is_agreed = false;
};

class exploration {
 public:
  exploration(scripts of, fault wrong) : scripts_(std::move(of)), fault_(wrong) {}

  // What is wrong, empty: nothing.
  std::string run() {
    job first{
        std::vector<process>(scripts_.size()), {}, quiescence_agreement(scripts_.size()), {}, {}};
    first.heard.resize(scripts_.size());
    first.last_heard.resize(scripts_.size());
    visit(first);
    while (!to_visit_.empty() && wrong_.empty()) {
      const job next = std::move(to_visit_.front());
      to_visit_.pop_front();
      expand(next);
    }
    return wrong_;
  }
  [[nodiscard]] std::size_t states() const noexcept { return seen_.size(); }

 private:
  void visit(const job& j) {
    if (seen_.insert(name(j)).second) to_visit_.push_back(j);
  }
  static std::string name(const job& j) {
    std::string text;
    for (const process& p : j.processes) {
      text += std::to_string(p.at) + ',' + std::to_string(p.inbox) + ',' +
              std::to_string(p.counts.sent) + ',' + std::to_string(p.counts.received) + ',' +
              std::to_string(p.told.sent) + ',' + std::to_string(p.told.received) + ',' +
              std::to_string(p.has_told) + std::to_string(p.is_asked) + ',' +
              std::to_string(p.round) + ',' + std::to_string(p.statement) + ',' +
              std::to_string(p.in_hand) + ',' + std::to_string(p.uncounted) +
              std::to_string(p.has_missed) + ';';
    }
    std::vector<std::string> messages;
    for (const message& m : j.under_way) messages.push_back(m.text());
    std::sort(messages.begin(), messages.end());
    for (const std::string& m : messages) text += m;
    for (const quiescence_agreement::said& s : j.agreement.all_said())
      text += std::to_string(s.quiet) + std::to_string(s.confirmed) + ',' +
              std::to_string(s.counts.sent) + ',' + std::to_string(s.counts.received) + ',' +
              std::to_string(s.number) + ';';
    return text + std::to_string(j.agreement.is_asking()) + ',' +
           std::to_string(j.agreement.round()) + (j.is_agreed ? "!" : "");
  }

  [[nodiscard]] const step* next_step(const job& j, std::size_t p) const {
    const process& of = j.processes[p];
    return of.at < scripts_[p].size() ? &scripts_[p][of.at] : nullptr;
  }
  [[nodiscard]] bool can_go_on(const job& j, std::size_t p) const {
    const step* const next = next_step(j, p);
    return next != nullptr && (next->to >= 0 || j.processes[p].inbox > 0);
  }
  [[nodiscard]] bool is_dead_end(const job& j) const {
    for (std::size_t p = 0; p < j.processes.size(); ++p)
      if (can_go_on(j, p) || (j.processes[p].in_hand != 0 && next_step(j, p) != nullptr))
        return false;
    return std::none_of(j.under_way.begin(), j.under_way.end(),
                        [](const message& m) { return m.what == message::kind::of_rank; });
  }
  [[nodiscard]] quiescence_agreement::deaths nobody_is_dead() const {
    return {std::vector<bool>(scripts_.size()), {}};
  }
  bool misses_one(process& p, fault which) const {
    return fault_ == which && !std::exchange(p.has_missed, true);
  }

  void expand(const job& j) {
    bool any = false;
    for (std::size_t p = 0; p < j.processes.size(); ++p) {
      if (can_go_on(j, p)) any = true, go_on(j, p);
      if (j.processes[p].in_hand + j.processes[p].uncounted != 0) any = true, catch_up(j, p);
      any |= speak(j, p);
    }
    for (std::size_t m = 0; m < j.under_way.size(); ++m) any = true, arrive(j, m);
    if (!any && !j.is_agreed) wrong_ = "nothing goes on, and nobody says so: " + name(j);
  }

  void go_on(job j, std::size_t number) {
    process& p = j.processes[number];
    const step next = scripts_[number][p.at++];
    if (next.to < 0) {
      --p.inbox;
      return visit(j);
    }
    if (fault_ == fault::sent_is_counted_late)
      ++p.uncounted;
    else if (!misses_one(p, fault::one_sent_is_not_counted))
      ++p.counts.sent;
    j.under_way.push_back({message::kind::of_rank, static_cast<int>(number), next.to});
    visit(j);
  }
  void catch_up(job j, std::size_t number) {
    process& p = j.processes[number];
    p.inbox += std::exchange(p.in_hand, 0);
    p.counts.sent += static_cast<std::uint64_t>(std::exchange(p.uncounted, 0));
    visit(j);
  }

  // All workers were parked, and the last of them says so.
  bool speak(job j, std::size_t number) {
    process& p = j.processes[number];
    const bool rests = !can_go_on(j, number);
    const bool is_same = p.has_told && p.told == p.counts;
    if (is_same && !p.is_asked) return false;
    if (!rests && fault_ != fault::looks_are_made_while_a_rank_runs) return false;
    message said{
        message::kind::quiet, static_cast<int>(number), 0, p.counts, ++p.statement, p.round};
    if (is_same) said.what = message::kind::confirmed;
    p.told = p.counts;
    p.has_told = true;
    p.is_asked = false;
    // The coordinator's own goes to itself at once.
    if (number == 0)
      hear(j, said);
    else
      j.under_way.push_back(said);
    visit(j);
    return true;
  }

  void arrive(job j, std::size_t which) {
    const message m = j.under_way[which];
    j.under_way.erase(j.under_way.begin() + static_cast<std::ptrdiff_t>(which));
    process& to = j.processes[static_cast<std::size_t>(m.to)];
    switch (m.what) {
      case message::kind::of_rank:
        if (!misses_one(to, fault::one_received_is_not_counted)) ++to.counts.received;
        if (misses_one(to, fault::one_received_is_counted_twice)) ++to.counts.received;
        ++(fault_ == fault::received_is_counted_early ? to.in_hand : to.inbox);
        break;
      case message::kind::confirm:
        ask(to, m.round);
        break;
      default:
        hear(j, m);
    }
    visit(j);
  }
  static void ask(process& who, std::uint64_t round) {
    if (round < who.round) return;
    who.round = round;
    who.is_asked = true;
  }

  void hear(job& j, const message& m) {
    const auto from = static_cast<std::size_t>(m.from);
    quiescence_agreement::statement said{m.counts, {}, m.number};
    if (fault_ == fault::statements_are_not_numbered) said.number = ++j.heard[from];
    if (fault_ == fault::sums_are_not_compared)
      said.counts.sent = said.counts.received = said.counts.sent + said.counts.received;
    if (m.what == message::kind::quiet) {
      if (j.agreement.note_quiet(from, said)) j.last_heard[from] = m.counts;
    } else {
      if (fault_ == fault::any_answer_confirms) said.counts = j.last_heard[from];
      const std::uint64_t round =
          fault_ == fault::old_answers_confirm ? j.agreement.round() : m.round;
      if (j.agreement.note_confirmed(from, said, round, nobody_is_dead())) agree(j);
      j.last_heard[from] = said.counts;
    }
    if (j.is_agreed) return;
    if (!j.agreement.may_ask(nobody_is_dead())) return;
    if (fault_ == fault::nobody_is_asked) return agree(j);
    for (std::size_t p = 1; p < j.processes.size(); ++p)
      j.under_way.push_back(
          {message::kind::confirm, 0, static_cast<int>(p), {}, 0, j.agreement.round()});
    ask(j.processes[0], j.agreement.round());
  }
  void agree(job& j) {
    j.is_agreed = true;
    if (!is_dead_end(j)) wrong_ = "a deadlock is told where there is none: " + name(j);
  }

  const scripts scripts_;
  const fault fault_;
  std::set<std::string> seen_;
  std::deque<job> to_visit_;
  std::string wrong_;
};

constexpr step to_0{0}, to_1{1}, to_2{2};

// Jobs that end in a deadlock after some messages: one way, there and back, round about, two at a time.
const std::vector<scripts> jobs{
    {{await}, {await}},
    {{to_1, await}, {await, await}},
    {{await, await}, {to_0, await}},
    {{to_1, await, await}, {await, to_0, await}},
    {{await, to_1, await}, {to_0, await, await}},
    {{to_1, to_1, await, await}, {to_0, await}},
    // A round that has begun on old counts, and an answer to it that comes in the next one.
    {{await, to_1, to_1, await, await, await}, {to_0, await, await, to_0, to_0, await}},
    {{to_1, await, await}, {await, to_0, to_0, await}},
    {{to_1, to_1, await}, {await, to_0, await}},
    {{to_1, await, to_1, await}, {await, to_0, await, await}},
    {{to_1, await}, {to_0, await}},
    {{await}, {await}, {to_1, await}},
    {{to_1, await}, {await, to_2, await}, {await, await}},
    {{await, await}, {to_2, await}, {await, to_0, await}},
    {{to_1, await, await}, {await, to_2, await}, {await, to_0, await}},
    {{await}, {to_2, await, await}, {await, to_1, await}},
    {{await}, {await, to_2, to_2, await}, {to_1, await, await}},
};

std::string first_failure(fault wrong) {
  for (const scripts& of : jobs)
    if (const std::string why = exploration(of, wrong).run(); !why.empty()) return why;
  return {};
}

TEST(quiescence_agreement_model, tells_of_a_deadlock_when_there_is_one_and_only_then) {
  std::size_t states = 0;
  for (const scripts& of : jobs) {
    exploration every_order(of, fault::none);
    EXPECT_EQ(every_order.run(), "");
    states += every_order.states();
  }
  EXPECT_GT(states, 10'000U);
}

TEST(quiescence_agreement_model, each_count_and_each_step_is_needed) {
  for (int f = 1; f <= static_cast<int>(fault::looks_are_made_while_a_rank_runs); ++f)
    EXPECT_NE(first_failure(static_cast<fault>(f)), "") << "fault " << f;
}

}  // namespace
}  // namespace weft
