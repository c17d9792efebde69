// Runs a recorded pattern again as it was, with a part of it changed: what is waited for comes when its cause does,
// and what overlapped does not count. Nothing is believed to be waited for but what the record shows.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "breakdown/pattern.hpp"

namespace weft::breakdown {

struct replay_change {
  // Computation that a call at such a place ends takes so many times what it took; the last that fits counts.
  struct scaled {
    std::string place;  // Part of the name that `place_name` gives; empty: all.
    double times = 1;
    bool is_whole = false;  // Only at the place of just that name.
  };
  std::vector<scaled> computation;
  double transfers = 1;  // What messages and collectives take when all are there.
  double evenness =
      0;  // 1: before the calls of each place every rank computes what they do in the mean.
  double more_ns = 0;  // Each message takes so much more, a collective that for each of its rounds.
};

// What the last rank's end hangs on, or who makes others wait: nanoseconds by place.
struct place_cost {
  std::string place;
  double ns = 0;
  double indirect_ns =
      0;  // The part of a delay that came by way of others, which waited themselves.
};

class replay {
 public:
  // `p` outlives this.
  explicit replay(const pattern& p);

  // Until the last rank ends.
  [[nodiscard]] double run(const replay_change& change = {}) const;
  // The chain of steps that ends last, the longest parts first.
  [[nodiscard]] std::vector<place_cost> critical_path() const;
  // The computation of others that waits were for.
  [[nodiscard]] std::vector<place_cost> delays() const;
  // How much more each message may take until the run takes `loss` (0.01: 1 %) longer; infinity: any.
  [[nodiscard]] double tolerance_ns(double loss) const;

 private:
  struct id {
    std::int32_t rank = -1, number = -1;
  };
  struct node {
    id step;
    id cause;  // The message or receive that it waited for, if any; the latest of them.
    // Messages and receives until last_message, and then the rank that ran before on its worker.
    std::int32_t first_cause = 0, last_message = 0, last_cause = 0;
    double residue = 0;  // What it took when all that it waits for was there.
    double duration = 0;
  };

  void order();
  void find_causes();
  void find_residues();
  [[nodiscard]] const step& of(const id& i) const noexcept;
  [[nodiscard]] double begun_of(const id& i) const noexcept;
  [[nodiscard]] id came_by(const id& i) const noexcept;
  [[nodiscard]] bool needs_meeting(const step& s, std::int32_t rank) const noexcept;
  [[nodiscard]] int rounds_of(const step& s) const noexcept;
  [[nodiscard]] const node* node_at(const id& i) const noexcept;
  // When each step ends, by rank and number; `latest` takes what it waited for last.
  double evaluate(const replay_change& change, std::vector<id>* latest) const;
  // One for each rank and place: its computation there would take so many times what it takes; empty: as much.
  [[nodiscard]] std::vector<double> shares_of_mean(double evenness) const;
  void charge(int rank, double from, double until, int depth, std::vector<place_cost>& to) const;

  const pattern& p_;
  std::vector<std::size_t> first_;  // The number of each rank's first step, counted over all.
  std::vector<node> nodes_;         // They are in the order of their ends.
  std::vector<std::int32_t> at_;    // The node of each step, counted over all.
  std::vector<id> causes_;
  struct arrival {
    double last = -1;  // When the last that counts came.
    id who;
  };
  std::vector<arrival> meetings_;
};

// "MPI_Recv in main at a.c:12", or "end" for what no call ends.
[[nodiscard]] std::string place_name(const pattern& p, std::int32_t place);
// Whether that part of a place's name means it: a number is whole, and so is "end". The empty part means all places.
[[nodiscard]] bool is_named_by(std::string_view name, std::string_view part) noexcept;

}  // namespace weft::breakdown
