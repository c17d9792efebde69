// The protocol of agreements, as one subgroup of a communicator runs it: what it says after what it has heard. It knows no workers,
// no messages and no locks, so that tests/model/agreement_model.cpp can try every order of messages and deaths.
//
// The first living subgroup coordinates. docs/protocols/agreement.md has the messages and the proof.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft::detail {

// So many agreements of one communicator may be under way.
inline constexpr std::uint64_t agreements_ahead_max = 4096;

// A set of subgroups of a communicator, by their indexes.
class subgroup_set {
 public:
  subgroup_set() = default;
  explicit subgroup_set(std::size_t subgroups, bool all = false)
      : words_((subgroups + 63) / 64, all ? ~std::uint64_t{0} : 0) {}
  [[nodiscard]] bool has(int subgroup) const noexcept {
    return (words_[static_cast<std::size_t>(subgroup) / 64] >> (subgroup % 64) & 1) != 0;
  }
  void add(int subgroup) noexcept {
    words_[static_cast<std::size_t>(subgroup) / 64] |= std::uint64_t{1} << (subgroup % 64);
  }
  void add(const subgroup_set& others) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= others.words_[i];
  }
  void keep(const subgroup_set& others) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= others.words_[i];
  }
  [[nodiscard]] bool is_part_of(const subgroup_set& other) const noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((words_[i] & ~other.words_[i]) != 0) return false;
    return true;
  }
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return words_; }
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

// What the ranks say, and what they agree on.
struct agreed_value {
  std::uint32_t flags = ~std::uint32_t{0};  // All bits that all have set.
  std::uint32_t kinds =
      0;  // Of the calls: two bits mean that the ranks have called different ones.
  std::uint32_t context = 0;  // For the communicator of the living.
  subgroup_set dead;          // Those that anybody knew to be dead.
  subgroup_set acknowledged;  // Those of which everybody had acknowledged that.
  void combine(const agreed_value& other) noexcept {
    flags &= other.flags;
    kinds |= other.kinds;
    dead.add(other.dead);
    acknowledged.keep(other.acknowledged);
  }
};
enum agreement_kind : std::uint32_t { agreement_on_flags = 1, agreement_on_living = 2 };

enum class agreement_step : std::uint32_t { state, proposal, acceptance, decision };

// What one subgroup tells another of an agreement.
struct agreement_said {
  std::uint64_t number = 0;
  agreement_step what = agreement_step::state;
  // The subgroup whose proposal the value is; -1: what the sender's own ranks say.
  std::int32_t ballot = -1;
  bool is_decided = false;
  agreed_value value;
};

// One agreement.
struct one_agreement {
  explicit one_agreement(std::size_t subgroups)
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
  bool has_value = false;     // It is decided: `value` changes no more.
  // What the ranks here say; from the first proposal on that proposal.
  agreed_value value;
  std::int32_t ballot = -1;
  int coordinator = -1;  // The subgroup that knows the state here.
  // While this subgroup coordinates.
  bool proposes = false;
  std::vector<state> states;
  std::vector<bool> accepted;
};

// Those of a communicator, numbered from 1. Of `Surroundings` each call uses is_alive(subgroup), whether it lives as far as is known
// here; new_context(), for a communicator of the living; and decided(instance), called once for each.
template <class Instance>
class agreement_series {
 public:
  struct letter {
    int to;  // The subgroup.
    agreement_said what;
  };
  using outbox = std::vector<letter>;

  agreement_series() = default;
  agreement_series(const agreement_series& other)
      : here_(other.here_),
        subgroups_(other.subgroups_),
        ranks_here_(other.ranks_here_),
        open_(other.open_),
        decided_(other.decided_) {
    for (auto& [number, one] : open_) one = std::make_shared<Instance>(*one);
  }
  agreement_series& operator=(const agreement_series&) = delete;

  // Called once, before all others.
  void know(int here, std::size_t subgroups, std::size_t ranks_here) {
    here_ = here;
    subgroups_ = subgroups;
    ranks_here_ = ranks_here;
  }
  [[nodiscard]] int here() const noexcept { return here_; }
  [[nodiscard]] int subgroups() const noexcept { return static_cast<int>(subgroups_); }
  [[nodiscard]] std::uint64_t decided() const noexcept { return decided_; }
  [[nodiscard]] const std::map<std::uint64_t, std::shared_ptr<Instance>>& open() const noexcept {
    return open_;
  }

  // A rank here calls its agreement of that number. The last one has to be followed by go_on().
  struct called {
    std::shared_ptr<Instance> one;
    bool by_all;  // Now all ranks here have.
  };
  [[nodiscard]] called call(std::uint64_t number, const agreed_value& mine) {
    const std::shared_ptr<Instance> one = at(number);
    one->value.combine(mine);
    return {one, ++one->came == ranks_here_};
  }
  // Called after a call, and after a death.
  template <class Surroundings>
  void go_on(Surroundings& around, outbox& out) {
    for (bool again = true; again;) {
      again = false;
      if (const auto last = open_.find(decided_); last != open_.end())
        (void)go_on_with(*last->second, around, out);
      const auto next = open_.find(decided_ + 1);
      if (next == open_.end()) return;
      Instance& one = *next->second;
      if (one.came == ranks_here_) one.has_all_here = true;
      again = one.has_all_here && go_on_with(one, around, out);
    }
  }
  // What subgroup `from` has said.
  template <class Surroundings>
  void take(int from, const agreement_said& said, Surroundings& around, outbox& out) {
    if (said.number + 1 < decided_ || said.number > decided_ + agreements_ahead_max) return;
    if (said.number < decided_ && !open_.contains(said.number)) return;
    const std::shared_ptr<Instance> kept = at(said.number);
    Instance& one = *kept;
    const auto believe = [&](std::int32_t ballot) {
      one.ballot = ballot;
      one.value = said.value;
    };
    switch (said.what) {
      case agreement_step::state:
        if (one.has_value) {
          if (!said.is_decided) tell(from, agreement_step::decision, one, out);
        } else if (said.is_decided && one.has_all_here) {
          believe(said.ballot);
          decide(one, around);
          tell_living(agreement_step::decision, one, around, out);
        } else {
          one.states[static_cast<std::size_t>(from)] = {true, said.is_decided, said.ballot,
                                                        said.value};
        }
        break;
      case agreement_step::proposal:
        if (!one.has_all_here || one.has_value || from < one.ballot) break;
        believe(from);
        tell(from, agreement_step::acceptance, one, out);
        break;
      case agreement_step::acceptance:
        if (one.proposes) one.accepted[static_cast<std::size_t>(from)] = true;
        break;
      case agreement_step::decision:
        if (!one.has_all_here || one.has_value) break;
        believe(said.ballot);
        decide(one, around);
        break;
    }
    go_on(around, out);
  }

 private:
  [[nodiscard]] std::shared_ptr<Instance> at(std::uint64_t number) {
    auto& one = open_[number];
    if (one == nullptr) {
      one = std::make_shared<Instance>(subgroups_);
      one->number = number;
    }
    return one;
  }
  template <class Surroundings>
  void decide(Instance& one, Surroundings& around) {
    one.has_value = true;
    decided_ = one.number;
    around.decided(one);
    // All that live had decided those before, since they have begun this one.
    open_.erase(open_.begin(), open_.lower_bound(one.number));
  }
  static void tell(int to, agreement_step what, const Instance& one, outbox& out) {
    out.push_back({to, {one.number, what, one.ballot, one.has_value, one.value}});
  }
  template <class Surroundings>
  void tell_living(agreement_step what, const Instance& one, const Surroundings& around,
                   outbox& out) const {
    for (int s = 0; s < subgroups(); ++s)
      if (s != here_ && around.is_alive(s)) tell(s, what, one, out);
  }
  // True when it has been decided by this.
  template <class Surroundings>
  bool go_on_with(Instance& one, Surroundings& around, outbox& out) {
    int coordinator = 0;
    while (coordinator != here_ && !around.is_alive(coordinator)) ++coordinator;
    if (one.coordinator != coordinator) {
      const bool is_first = std::exchange(one.coordinator, coordinator) < 0;
      one.proposes = false;
      if (coordinator != here_)
        tell(coordinator, agreement_step::state, one, out);
      else if (one.has_value && !is_first)
        tell_living(agreement_step::decision, one, around, out);
    }
    if (coordinator != here_ || one.has_value) return false;
    const auto all_living = [&](const auto& holds) {
      for (int s = 0; s < subgroups(); ++s)
        if (s != here_ && around.is_alive(s) && !holds(static_cast<std::size_t>(s))) return false;
      return true;
    };
    if (!one.proposes) {
      if (!all_living([&](std::size_t s) { return one.states[s].has_come; })) return false;
      make_proposal(one, around);
      one.ballot = here_;
      one.proposes = true;
      std::fill(one.accepted.begin(), one.accepted.end(), false);
      tell_living(agreement_step::proposal, one, around, out);
    }
    if (!all_living([&](std::size_t s) { return one.accepted[s]; })) return false;
    decide(one, around);
    tell_living(agreement_step::decision, one, around, out);
    return true;
  }
  template <class Surroundings>
  void make_proposal(Instance& one, Surroundings& around) const {
    // A value that somebody may have decided is the one of the last proposal.
    for (const one_agreement::state& theirs : one.states)
      if (theirs.has_come && theirs.ballot > one.ballot) {
        one.ballot = theirs.ballot;
        one.value = theirs.value;
      }
    if (one.ballot >= 0) return;
    for (const one_agreement::state& theirs : one.states)
      if (theirs.has_come) one.value.combine(theirs.value);
    for (int s = 0; s < subgroups(); ++s)
      if (s != here_ && !around.is_alive(s)) one.value.dead.add(s);
    if ((one.value.kinds & agreement_on_living) != 0) one.value.context = around.new_context();
  }

  int here_ = -1;
  std::size_t subgroups_ = 0;
  std::size_t ranks_here_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Instance>> open_;  // And the last one that is decided.
  std::uint64_t decided_ = 0;                                // All up to this one.
};

}  // namespace weft::detail
