// The star's steps, on one locality of several, over any exchange.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "octree/exchange.hpp"

namespace octree {

struct physics {
  binary start = make_binary();
  refinement levels;
  double courant = 0.4;   // Of the longest step that is stable for one axis.
  int regrid_every = 15;  // Sub-steps; 0: never.
};

class simulation {
 public:
  // Collective, as all of this.
  simulation(exchange& between, const physics& p);

  // `interrupted` of any locality is what all return.
  int step(int interrupted = 0);
  // After a step: when it is due. True: there is a new tree.
  bool regrid_when_due();

  [[nodiscard]] int steps() const noexcept { return steps_; }
  [[nodiscard]] double time() const noexcept { return time_; }
  [[nodiscard]] double last_dt() const noexcept { return dt_; }
  [[nodiscard]] int regrids() const noexcept { return regrids_; }
  [[nodiscard]] totals measure();
  [[nodiscard]] std::uint64_t hash();
  // How long reductions of dt have taken, seconds each.
  [[nodiscard]] const std::vector<double>& reductions() const noexcept { return reductions_; }
  [[nodiscard]] locality& own() noexcept { return own_; }
  [[nodiscard]] exchange& between() noexcept { return between_; }

 private:
  exchange& between_;
  physics physics_;
  locality own_;
  int steps_ = 0, regrids_ = 0, substeps_ = 0;
  double time_ = 0, dt_ = 0;
  std::vector<double> reductions_;
};

}  // namespace octree
