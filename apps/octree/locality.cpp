#include "octree/locality.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <weft/error.hpp>

namespace octree {
namespace {

// A step of FNV-1a over eight bytes at once, and a final mix, so that each bit decides about all.
class hasher {
 public:
  void add(std::uint64_t bits) noexcept {
    state_ = (state_ ^ bits) * 0x100000001b3u;
    state_ ^= state_ >> 29;
  }
  void add(std::span<const double> values) noexcept {
    for (const double v : values) add(std::bit_cast<std::uint64_t>(v));
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

class timed {
 public:
  explicit timed(locality& of) : of_(of) {}
  timed(const timed&) = delete;
  timed& operator=(const timed&) = delete;
  ~timed() {
    of_.count_busy(
        std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - begin_).count());
  }

 private:
  using clock = std::chrono::steady_clock;
  locality& of_;
  clock::time_point begin_ = clock::now();
};

}  // namespace

locality::locality(const binary& start, const refinement& how, int here, int localities)
    : how_(how), here_(here) {
  adopt(std::make_unique<tree>(make_tree(start, how, localities)));
  for (const int index : own_leaves_) {
    fill(start, (*tree_)[index], leaf(index).u);
    leaf(index).signal = signal_of(leaf(index).u, cell_width((*tree_)[index].level));
  }
}

void locality::adopt(std::unique_ptr<tree> t) {
  tree_ = std::move(t);
  plan_ = std::make_unique<plan>(*tree_);
  data_.resize(static_cast<std::size_t>(tree_->size()));
  own_nodes_.clear();
  own_leaves_.clear();
  for (int index = 0; index < tree_->size(); ++index) {
    if (!owns(index)) continue;
    own_nodes_.push_back(index);
    node_data& d = data(index);
    d.moments = std::make_unique<moment_block>();
    d.field = std::make_unique<field_block>();
    d.inbox.resize(plan_->inbox(index));
    if (!(*tree_)[index].is_leaf()) continue;
    own_leaves_.push_back(index);
    if (!d.leaf) d.leaf = std::make_unique<leaf_state>();
  }
}

void locality::begin(int runge_kutta_stage, double dt) noexcept {
  stage_ = runge_kutta_stage;
  dt_ = dt;
  field_only_ = false;
}

std::span<double> locality::inbox(const link& l) noexcept {
  return std::span(data(l.to).inbox).subspan(l.offset, l.size);
}
std::span<const double> locality::arrived(const link& l) const noexcept {
  return std::span(data_[static_cast<std::size_t>(l.to)].inbox).subspan(l.offset, l.size);
}

void locality::run(int index, stage s) {
  const timed time(*this);
  run_stage(index, s);
}

void locality::run_stage(int index, stage s) {
  switch (s) {
    case stage::gather:
      return gather(index);
    case stage::flux:
      return flux(index);
    case stage::interact:
      return interact(index);
    case stage::descend:
      return descend(index);
    case stage::update:
      return update(index);
  }
}

void locality::gather(int index) {
  const node& n = (*tree_)[index];
  node_data& d = data(index);
  if (n.is_leaf()) {
    moments_of_leaf(std::span(d.leaf->u).subspan(density * cells, cells), cell_width(n.level),
                    *d.moments);
    return;
  }
  for (int number = plan_->first_in(index); number < plan_->last_in(index); ++number)
    if (const link& l = (*plan_)[number]; l.kind == link_kind::up)
      place_up(arrived(l), l.place, *d.moments);
}

void locality::flux(int index) {
  if (field_only_) return;
  thread_local const auto whole =
      std::make_unique<std::array<std::array<double, layer_values>, faces>>();
  std::array<std::span<const double>, faces> beyond;
  for (int number = plan_->first_in(index); number < plan_->last_in(index); ++number) {
    const link& l = (*plan_)[number];
    if (fed_by(l.kind) != stage::flux) continue;
    if (l.kind == link_kind::restricted) {
      place_quarter(arrived(l), l.quarter, ghost_layers, (*whole)[l.place]);
      beyond[l.place] = (*whole)[l.place];
    } else {
      beyond[l.place] = arrived(l);
    }
  }
  find_fluxes(leaf(index), beyond, cell_width((*tree_)[index].level));
}

void locality::interact(int index) {
  thread_local const auto sources = std::make_unique<near_sources>();
  const node& n = (*tree_)[index];
  node_data& d = data(index);
  sources->clear();
  if (n.is_leaf())
    sources->place(std::span(*d.moments).first(cells), no_direction, true);
  else
    sources->place(*d.moments, no_direction, false);
  for (int number = plan_->first_in(index); number < plan_->last_in(index); ++number)
    if (const link& l = (*plan_)[number]; l.kind == link_kind::beside)
      sources->place(arrived(l), l.place, (*tree_)[l.from].is_leaf());
  octree::interact(*sources, n.is_leaf(), n.parent < 0, cell_width(n.level), *d.field);
}

void locality::descend(int index) {
  const node& n = (*tree_)[index];
  node_data& d = data(index);
  for (int number = plan_->first_in(index); number < plan_->last_in(index); ++number)
    if (const link& l = (*plan_)[number]; l.kind == link_kind::down)
      add_down(arrived(l), n.is_leaf(), cell_width(n.level), *d.field);
  if (!n.is_leaf()) return;
  // The field is the sum of m / r: its gradient is the acceleration.
  for (std::size_t i = 0; i < cells; ++i) d.leaf->potential[i] = -(*d.field)[i];
  std::copy_n(d.field->begin() + cells, 3 * cells, d.leaf->acceleration.begin());
}

void locality::update(int index) {
  if (field_only_) return;
  const node& n = (*tree_)[index];
  const double cell = cell_width(n.level);
  leaf_state& state = leaf(index);
  for (int number = plan_->first_in(index); number < plan_->last_in(index); ++number)
    if (const link& l = (*plan_)[number]; l.kind == link_kind::fluxes)
      correct_fluxes(state, l.place, l.quarter, arrived(l), cell);
  if (!octree::update(state, stage_, dt_, cell))
    unsound_.store(index, std::memory_order_relaxed);  // Relaxed: read when all stages have ended.
}

void locality::check() const {
  const int index = unsound_.load(std::memory_order_relaxed);  // Relaxed: see update().
  if (index < 0) return;
  const vec3 x = middle_of((*tree_)[index], side / 2, side / 2, side / 2);
  char text[200];
  std::snprintf(text, sizeof text,
                "the gas near (%.3f, %.3f, %.3f) has lost its positive density: the step was too "
                "long; give --courant a smaller number",
                x[0], x[1], x[2]);
  throw weft::error(text);
}

void locality::pack(const link& l, std::span<double> out) {
  const timed time(*this);
  const node& from = (*tree_)[l.from];
  switch (l.kind) {
    case link_kind::layers:
      return pack_layers(leaf(l.from).u, opposite(l.place), out);
    case link_kind::restricted:
      return pack_restricted(leaf(l.from).u, opposite(l.place), out);
    case link_kind::prolonged: {
      const auto [b, c] = axes_across(axis_of(l.place));
      const index3& at = (*tree_)[l.to].at;
      const int quarter =
          2 * (at[static_cast<std::size_t>(b)] & 1) + (at[static_cast<std::size_t>(c)] & 1);
      return pack_prolonged(leaf(l.from).u, opposite(l.place), quarter, out);
    }
    case link_kind::fluxes:
      return pack_fluxes(leaf(l.from), opposite(l.place), out);
    case link_kind::up:
      return pack_up(*data(l.from).moments, cell_width(from.level), out);
    case link_kind::beside:
      return pack_near(*data(l.from).moments, l.place, from.is_leaf(), out);
    case link_kind::down:
      return pack_down(*data(l.from).field, l.place, out);
  }
}

double locality::signal() const noexcept {
  double most = 0;
  for (const int index : own_leaves_) most = std::max(most, leaf(index).signal);
  return most;
}

std::vector<double> locality::wishes() const {
  std::vector<double> all;
  for (const int index : own_leaves_) {
    const auto first = leaf(index).u.begin() + density * cells;
    const double most = *std::max_element(first, first + cells);
    all.push_back(static_cast<double>(how_.wish_of((*tree_)[index].level, most)));
    all.push_back(leaf(index).lost);
  }
  return all;
}

std::unique_ptr<tree> locality::next_tree(std::span<const double> wishes_of_all) const {
  std::vector<wish> wishes;
  for (std::size_t i = 0; i < wishes_of_all.size(); i += 2)
    wishes.push_back(static_cast<wish>(static_cast<int>(wishes_of_all[i])));
  return std::make_unique<tree>(adapted(*tree_, wishes), tree_->localities());
}

void locality::begin_regrid(std::unique_ptr<tree> next, std::span<const double> wishes_of_all) {
  next_tree_ = std::move(next);
  for (std::size_t i = 1; i < wishes_of_all.size(); i += 2) lost_before_ += wishes_of_all[i];
  next_data_.clear();
  next_data_.resize(static_cast<std::size_t>(next_tree_->size()));
  for (const int index : next_tree_->leaves())
    if ((*next_tree_)[index].owner == here_)
      next_data_[static_cast<std::size_t>(index)].leaf = std::make_unique<leaf_state>();
}

// The last value is the signal: of leaves that are not new, so that nothing is computed again.
void locality::pack(const transfer& t, std::span<double> out) const {
  const leaf_state& from = leaf(t.from);
  out.back() = from.signal;
  switch (t.change) {
    case transfer::how::moved:
      std::ranges::copy(from.u, out.begin());
      return;
    case transfer::how::coarser:
      return restrict_block(from.u, out.first(out.size() - 1));
    case transfer::how::finer: {
      const auto block = std::make_unique<hydro_block>();
      prolong_block(from.u, t.child, *block);
      std::ranges::copy(*block, out.begin());
      return;
    }
  }
}

void locality::place(const transfer& t, std::span<const double> block) {
  leaf_state& to = *next_data_[static_cast<std::size_t>(t.to)].leaf;
  if (t.change == transfer::how::coarser) {
    place_eighth(block.first(block.size() - 1), t.child, to.u);
    return;
  }
  std::ranges::copy(block.first(block.size() - 1), to.u.begin());
  if (t.change == transfer::how::moved) to.signal = block.back();
}

void locality::end_regrid() {
  data_ = std::move(next_data_);
  adopt(std::move(next_tree_));
  for (const int index : own_leaves_)
    if (leaf(index).signal == 0)
      leaf(index).signal = signal_of(leaf(index).u, cell_width((*tree_)[index].level));
}

std::vector<double> locality::parts_of_totals() const {
  std::vector<double> all;
  for (const int index : own_leaves_) {
    const leaf_state& l = leaf(index);
    const double cell = cell_width((*tree_)[index].level), volume = cell * cell * cell;
    double sums[totals_values] = {};
    for (std::size_t i = 0; i < cells; ++i) {
      const double rho = l.u[density * cells + i];
      sums[0] += rho;
      sums[1] += l.u[first_star * cells + i];
      sums[2] += l.u[second_star * cells + i];
      double squares = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double m = l.u[(momentum_x + axis) * cells + i];
        sums[3 + axis] += m;
        squares += m * m;
      }
      const double kinetic = 0.5 * squares / rho;
      sums[6] += kinetic;
      sums[7] += l.u[energy * cells + i] - kinetic;
      sums[8] += 0.5 * rho * l.potential[i];
    }
    for (std::size_t i = 0; i < 9; ++i) all.push_back(sums[i] * volume);
    all.push_back(l.lost);
  }
  return all;
}

totals locality::add(std::span<const double> parts_of_all) const {
  totals t;
  t.lost = lost_before_;
  for (std::size_t at = 0; at < parts_of_all.size(); at += totals_values) {
    const auto part = parts_of_all.subspan(at, totals_values);
    t.mass += part[0];
    t.first_star += part[1];
    t.second_star += part[2];
    for (std::size_t axis = 0; axis < 3; ++axis) t.momentum[axis] += part[3 + axis];
    t.kinetic += part[6];
    t.internal += part[7];
    t.gravitational += part[8];
    t.lost += part[9];
  }
  return t;
}

std::vector<leaf_record> locality::records(bool of_plane) const {
  std::vector<leaf_record> all;
  for (const int index : own_leaves_) {
    const node& n = (*tree_)[index];
    if (of_plane && n.at[2] != 1 << n.level >> 1) continue;
    const leaf_state& l = leaf(index);
    leaf_record r{n.key, here_, {}, {}, {}};
    for (std::size_t i = 0; i < cells; ++i) {
      const double rho = l.u[octree::density * cells + i];
      r.density[i] = static_cast<float>(rho);
      r.potential[i] = static_cast<float>(l.potential[i]);
      for (std::size_t axis = 0; axis < 3; ++axis)
        r.velocity[axis * cells + i] =
            static_cast<float>(l.u[(momentum_x + axis) * cells + i] / rho);
    }
    all.push_back(r);
  }
  return all;
}

std::vector<std::uint64_t> locality::hashes() const {
  std::vector<std::uint64_t> all;
  for (const int index : own_leaves_) {
    hasher h;
    h.add((*tree_)[index].key);
    h.add(leaf(index).u);
    h.add(leaf(index).potential);
    h.add(leaf(index).acceleration);
    all.push_back(h.value());
  }
  return all;
}

std::uint64_t hash_of(std::span<const std::uint64_t> of_leaves) noexcept {
  hasher h;
  for (const std::uint64_t one : of_leaves) h.add(one);
  return h.value();
}

}  // namespace octree
