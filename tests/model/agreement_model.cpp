// Every order of messages and deaths in agreements of two to four processes: all that decide one decide the same, all that live
// decide, and what they decide has what all that live have said. A process may die at any time, and what it has sent last may never
// come, to some and not to others. The state of a job is a value, and all states that can be reached are visited once.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collective/agreement_protocol.hpp"

namespace weft::detail {
namespace {

// What is done wrongly, to see that the check finds it.
enum class fault {
  none,
  nobody_has_to_accept,           // A proposal is decided at once.
  not_all_states_are_waited_for,  // Some that live have said nothing.
  proposals_are_forgotten,        // By those that have taken them.
  values_are_not_told,            // A new coordinator does not learn that others have decided.
  one_alone_is_told_the_decision,
  deaths_are_not_followed,  // Nobody looks for the next coordinator.
};

struct process {
  agreement_series<one_agreement> series;
  bool is_dead = false;
  std::vector<bool> known_dead;
  std::uint64_t called = 0;
  std::map<std::uint64_t, agreed_value> got;
};

struct job {
  std::vector<process> all;
  std::map<std::pair<int, int>, std::deque<agreement_said>> ways;  // From, to: in order.
  int deaths = 0;
};

struct surroundings {
  process& of;
  [[nodiscard]] bool is_alive(int other) const {
    return !of.known_dead[static_cast<std::size_t>(other)];
  }
  [[nodiscard]] std::uint32_t new_context() const {
    return 100 + static_cast<std::uint32_t>(of.series.here());
  }
  void decided(const one_agreement& one) const { of.got.emplace(one.number, one.value); }
};

std::string text_of(const subgroup_set& set) {
  std::string text;
  for (const std::uint64_t word : set.words()) text += std::to_string(word) + '.';
  return text;
}
std::string text_of(const agreed_value& v) {
  return std::to_string(v.flags) + ',' + std::to_string(v.context) + ',' + text_of(v.dead) +
         text_of(v.acknowledged);
}

class exploration {
 public:
  exploration(int processes, std::uint64_t agreements, int deaths_max, fault wrong)
      : agreements_(agreements), deaths_max_(deaths_max), fault_(wrong) {
    for (int p = 0; p < processes; ++p) {
      process& made = first_.all.emplace_back();
      made.series.know(p, static_cast<std::size_t>(processes), 1);
      made.known_dead.resize(static_cast<std::size_t>(processes));
    }
  }

  // What is wrong, empty: nothing.
  std::string run() {
    visit(first_);
    while (!to_visit_.empty() && wrong_.empty()) {
      const job next(to_visit_.back());
      to_visit_.pop_back();
      expand(next);
    }
    return wrong_;
  }
  [[nodiscard]] std::size_t states() const noexcept { return seen_.size(); }

 private:
  using outbox = agreement_series<one_agreement>::outbox;

  static std::string name(const job& j) {
    std::string text;
    for (const process& p : j.all) {
      text += p.is_dead ? '#' : '-';
      if (p.is_dead) {  // What it knew matters no more, but for what it decided.
        for (const auto& [number, value] : p.got) text += text_of(value) + '!';
        continue;
      }
      for (const bool dead : p.known_dead) text += dead ? '1' : '0';
      text += std::to_string(p.called) + ',' + std::to_string(p.series.decided());
      for (const auto& [number, value] : p.got) text += text_of(value) + '!';
      for (const auto& [number, one] : p.series.open()) {
        text += std::to_string(number) + ':' + std::to_string(one->came) +
                std::to_string(one->has_all_here) + std::to_string(one->has_value) +
                text_of(one->value) + ',' + std::to_string(one->ballot) + ',' +
                std::to_string(one->coordinator) + ',' + std::to_string(one->proposes);
        for (const one_agreement::state& s : one->states)
          if (s.has_come)
            text += '(' + std::to_string(s.ballot) + std::to_string(s.is_decided) +
                    text_of(s.value) + ')';
          else
            text += '.';
        for (const bool accepted : one->accepted) text += accepted ? 'a' : '.';
      }
    }
    for (const auto& [way, messages] : j.ways) {
      if (messages.empty()) continue;
      text += '/' + std::to_string(way.first) + std::to_string(way.second);
      for (const agreement_said& m : messages)
        text += std::to_string(static_cast<int>(m.what)) + std::to_string(m.number) + ',' +
                std::to_string(m.ballot) + std::to_string(m.is_decided) + text_of(m.value);
    }
    return text;
  }

  void visit(const job& j) {
    check(j);
    if (seen_.insert(name(j)).second) to_visit_.emplace_back(j);
  }

  void check(const job& j) {
    std::map<std::uint64_t, const agreed_value*> known;
    for (const process& p : j.all)
      for (const auto& [number, value] : p.got) {
        const agreed_value*& first = known.try_emplace(number, &value).first->second;
        if (text_of(*first) != text_of(value))
          wrong_ = "two processes have decided differently: " + text_of(*first) + " and " +
                   text_of(value);
        for (std::size_t other = 0; other < j.all.size(); ++other) {
          if (value.dead.has(static_cast<int>(other)) && !j.all[other].is_dead)
            wrong_ = "a process that lives is agreed to be dead";
          if ((value.flags >> other & 1) != 0 && !j.all[other].is_dead)
            wrong_ = "what a process that lives has said is missing";
        }
      }
  }

  // Process `p` does something, after which it sends. It may die at any point of that.
  template <class Act>
  void step(const job& before, int p, const Act& act) {
    job next(before);
    process& self = next.all[static_cast<std::size_t>(p)];
    surroundings around{self};
    outbox out;
    act(self, around, out);
    for (auto& [number, one] : self.series.open()) {
      if (fault_ == fault::nobody_has_to_accept && one->proposes && !one->has_value)
        one->accepted.assign(one->accepted.size(), true);
      if (fault_ == fault::proposals_are_forgotten && !one->proposes && !one->has_value)
        one->ballot = -1;
      if (fault_ == fault::not_all_states_are_waited_for && one->coordinator == p &&
          !one->proposes && !one->has_value)
        for (one_agreement::state& s : one->states)
          if (!s.has_come) {
            s.has_come = true;
            s.value = agreed_value{.dead = subgroup_set(before.all.size()),
                                   .acknowledged = subgroup_set(before.all.size(), true)};
          }
    }
    if (fault_ == fault::nobody_has_to_accept || fault_ == fault::not_all_states_are_waited_for)
      self.series.go_on(around, out);
    alter(out);
    for (const auto& letter : out)
      if (!next.all[static_cast<std::size_t>(letter.to)].is_dead)
        next.ways[{p, letter.to}].push_back(letter.what);
    visit(next);
  }

  void alter(outbox& out) const {
    bool has_told = false;
    std::erase_if(out, [&](agreement_series<one_agreement>::letter& one) {
      const bool is_state = one.what.what == agreement_step::state;
      if (fault_ == fault::values_are_not_told && is_state && one.what.is_decided) return true;
      return fault_ == fault::one_alone_is_told_the_decision &&
             one.what.what == agreement_step::decision && std::exchange(has_told, true);
    });
  }

  // Of what is under way from the dead to each other one a part may come: none of its messages overtakes another.
  void visit_deaths(const job& before, int p, int receiver) {
    if (receiver == static_cast<int>(before.all.size())) {
      job died(before);
      ++died.deaths;
      died.all[static_cast<std::size_t>(p)].is_dead = true;
      for (auto& [way, messages] : died.ways)
        if (way.second == p) messages.clear();
      return visit(died);
    }
    visit_deaths(before, p, receiver + 1);
    const auto at = before.ways.find({p, receiver});
    const std::size_t count = at == before.ways.end() ? 0 : at->second.size();
    for (std::size_t kept = 0; kept < count; ++kept) {
      job cut(before);
      cut.ways.at({p, receiver}).resize(kept);
      visit_deaths(cut, p, receiver + 1);
    }
  }

  void expand(const job& j) {
    bool any = false;
    const int count = static_cast<int>(j.all.size());
    for (int p = 0; p < count; ++p) {
      const process& self = j.all[static_cast<std::size_t>(p)];
      if (self.is_dead) continue;
      if (self.called < agreements_ && self.got.size() == self.called) {
        any = true;
        step(j, p, [&](process& me, surroundings& around, outbox& out) {
          agreed_value mine{.flags = ~(std::uint32_t{1} << p),
                            .kinds = me.called % 2 == 0 ? agreement_on_living : agreement_on_flags,
                            .dead = subgroup_set(j.all.size()),
                            .acknowledged = subgroup_set(j.all.size())};
          for (int other = 0; other < count; ++other)
            if (me.known_dead[static_cast<std::size_t>(other)]) mine.dead.add(other);
          (void)me.series.call(++me.called, mine);
          me.series.go_on(around, out);
        });
      }
      for (int other = 0; other < count; ++other) {
        const auto at = j.ways.find({other, p});
        if (at != j.ways.end() && !at->second.empty()) {
          any = true;
          job next(j);
          auto& messages = next.ways.at({other, p});
          const agreement_said said = messages.front();
          messages.pop_front();
          step(next, p, [&](process& me, surroundings& around, outbox& out) {
            me.series.take(other, said, around, out);
          });
        } else if (j.all[static_cast<std::size_t>(other)].is_dead &&
                   !self.known_dead[static_cast<std::size_t>(other)]) {
          // All that came from the dead has been delivered.
          any = true;
          step(j, p, [&](process& me, surroundings& around, outbox& out) {
            me.known_dead[static_cast<std::size_t>(other)] = true;
            if (fault_ != fault::deaths_are_not_followed) me.series.go_on(around, out);
          });
        }
      }
      if (j.deaths < deaths_max_) visit_deaths(j, p, 0);
    }
    if (any) return;
    for (const process& p : j.all)
      if (!p.is_dead && p.got.size() != agreements_)
        wrong_ = "a process waits for ever for its agreement " + std::to_string(p.called);
  }

  const std::uint64_t agreements_;
  const int deaths_max_;
  const fault fault_;
  job first_;
  std::unordered_set<std::string> seen_;
  std::deque<job> to_visit_;
  std::string wrong_;
};

TEST(agreement_model, all_that_live_decide_the_same_whoever_dies_and_when) {
  struct size {
    int processes;
    std::uint64_t agreements;
    int deaths;
  };
  for (const auto [processes, agreements, deaths] :
       {size{1, 2, 0}, size{2, 3, 1}, size{3, 1, 2}, size{3, 2, 2}, size{3, 3, 1}, size{4, 1, 2}}) {
    exploration all(processes, agreements, deaths, fault::none);
    EXPECT_EQ(all.run(), "") << processes << " processes, " << agreements << " agreements, "
                             << deaths << " deaths";
    RecordProperty("states_" + std::to_string(processes) + "_" + std::to_string(agreements),
                   static_cast<int>(all.states()));
    EXPECT_GT(all.states(), static_cast<std::size_t>(processes));
  }
}

TEST(agreement_model, every_fault_is_found) {
  for (const fault wrong :
       {fault::nobody_has_to_accept, fault::not_all_states_are_waited_for,
        fault::proposals_are_forgotten, fault::values_are_not_told,
        fault::one_alone_is_told_the_decision, fault::deaths_are_not_followed}) {
    std::string found = exploration(3, 1, 2, wrong).run();
    if (found.empty()) found = exploration(3, 2, 1, wrong).run();
    EXPECT_NE(found, "") << static_cast<int>(wrong);
  }
}

}  // namespace
}  // namespace weft::detail
