#include "octree/simulation.hpp"

#include <chrono>

namespace octree {

simulation::simulation(exchange& between, const physics& p)
    : between_(between),
      physics_(p),
      own_(p.start, p.levels, between.here(), between.localities()) {
  own_.prepare_field();
  between_.substep(own_);
}

int simulation::step(int interrupted) {
  const auto begin = std::chrono::steady_clock::now();
  double most[2] = {own_.signal(), static_cast<double>(interrupted)};
  between_.largest(most);
  reductions_.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  dt_ = physics_.courant / most[0];
  for (int stage = 0; stage < 3; ++stage) {
    own_.begin(stage, dt_);
    between_.substep(own_);
    own_.check();
  }
  substeps_ += 3;
  ++steps_;
  time_ += dt_;
  return static_cast<int>(most[1]);
}

bool simulation::regrid_when_due() {
  if (physics_.regrid_every == 0 || substeps_ < physics_.regrid_every) return false;
  substeps_ = 0;
  ++regrids_;
  const std::vector<double> wishes = between_.concatenated(own_.wishes());
  std::unique_ptr<tree> next = own_.next_tree(wishes);
  const std::vector<transfer> all = transfers_between(own_.nodes(), *next);
  own_.begin_regrid(std::move(next), wishes);
  between_.move(own_, all);
  own_.end_regrid();
  return true;
}

totals simulation::measure() {
  return own_.add(between_.concatenated(own_.parts_of_totals()));
}

std::uint64_t simulation::hash() {
  return hash_of(between_.concatenated(own_.hashes()));
}

}  // namespace octree
