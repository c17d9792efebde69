// How the coordinator learns from what the processes of a job say that none of them can go on. It sends nothing itself: the
// caller carries statements and questions, in any order (termination.cpp). docs/protocols/processes.md has the proof;
// tests/model/quiescence_agreement_model.cpp checks it in every order of events.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Messages of ranks that a process has sent to and received from living processes.
struct message_counts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  bool operator==(const message_counts&) const = default;
};

class quiescence_agreement {
 public:
  // What a process says: that all its workers were parked at a moment, with these counts; or that its ranks have ended.
  struct statement {
    message_counts counts;
    std::string_view
        dead;  // The processes that it knows to be dead, in a form that can be compared.
    std::uint32_t
        number;  // Statements of a process overtake each other. The numbers may wrap around.
  };
  // What the coordinator knows about deaths.
  struct deaths {
    std::vector<bool> is_dead;
    std::string list;  // In the form of statement::dead.
  };

  // What is known of a process.
  struct said {
    bool quiet = false;
    bool confirmed = false;  // In this round.
    message_counts counts;
    std::string dead;
    std::uint32_t number = 0;
  };

  explicit quiescence_agreement(std::size_t processes) : said_(processes) {}

  // Take a statement. False: a newer one has come from that process before. A process that has ended was not quiescent when it spoke, and its statement says so.
  bool note_ended(std::size_t process, const statement& what) {
    if (!is_news(process, what)) return false;
    said_[process].quiet = false;
    return true;
  }
  bool note_quiet(std::size_t process, const statement& what) {
    if (!is_news(process, what)) return false;
    said_[process].quiet = true;
    return true;
  }
  // Takes the answer of a process to the question of `round`: its workers were all parked once more, with the counts that it
  // had said. True: all have answered so. Then nobody can go on, and no message is under way.
  bool note_confirmed(std::size_t process, const statement& what, std::uint64_t round,
                      const deaths& known) {
    said& by = said_[process];
    const bool is_same = by.quiet && by.counts == what.counts && by.dead == what.dead;
    const bool is_answer = is_same && is_asking_ && round == round_;
    const bool was_asking = is_asking_;
    if (!is_news(process, what)) return false;
    by.quiet = true;  // Its statement that it was quiet may still be under way.
    if (!is_same) return false;
    is_asking_ = was_asking;
    if (!is_answer) return false;
    by.confirmed = true;
    if (!all(known, [](const said& one) { return one.confirmed; })) return false;
    is_asking_ = false;
    return true;
  }
  // True: all have said that they were quiet, with counts that leave no message under way, and a round has begun, in which
  // the caller asks all of them whether they still are.
  bool may_ask(const deaths& known) {
    if (is_asking_ || !none_under_way(known)) return false;
    if (!all(known, [&](const said& one) { return one.quiet && one.dead == known.list; }))
      return false;
    for (said& one : said_) one.confirmed = false;
    is_asking_ = true;
    ++round_;
    return true;
  }
  // Whether the counts of the living say that no message is under way.
  [[nodiscard]] bool none_under_way(const deaths& known) const {
    message_counts sum;
    for (std::size_t p = 0; p < said_.size(); ++p) {
      if (known.is_dead[p]) continue;
      sum.sent += said_[p].counts.sent;
      sum.received += said_[p].counts.received;
    }
    return sum.sent == sum.received;
  }
  // A death has become known: what was said before tells nothing.
  void forget_round() noexcept { is_asking_ = false; }

  [[nodiscard]] std::uint64_t round() const noexcept { return round_; }
  [[nodiscard]] bool is_asking() const noexcept { return is_asking_; }
  [[nodiscard]] const std::vector<said>& all_said() const noexcept { return said_; }
  // The round of another coordinator: those of this process, should it become one, are later.
  void follow_round(std::uint64_t round) noexcept { round_ = round; }

 private:
  template <class Is>
  [[nodiscard]] bool all(const deaths& known, const Is& is) const {
    for (std::size_t p = 0; p < said_.size(); ++p)
      if (!known.is_dead[p] && !is(said_[p])) return false;
    return true;
  }
  // Any newer statement that is no answer ends the round: it was about older counts.
  bool is_news(std::size_t process, const statement& what) {
    said& by = said_[process];
    if (static_cast<std::int32_t>(what.number - by.number) <= 0) return false;
    by.number = what.number;
    by.counts = what.counts;
    by.dead = what.dead;
    is_asking_ = false;
    return true;
  }

  std::vector<said> said_;
  bool is_asking_ = false;
  std::uint64_t round_ = 0;
};

}  // namespace weft
