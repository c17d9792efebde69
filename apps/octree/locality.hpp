// What one locality holds of the star, and what it does in a step. Knows nothing of how messages travel.
//
// A sub-step: each stage of each own node is run once, when all that arrives for it has been placed by receive() or
// by a neighbour here; then what it made is packed for each link that begins there. Different nodes may be
// run at the same time, by different threads. No result depends on the order, nor on who holds which node.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "octree/binary.hpp"
#include "octree/gravity.hpp"
#include "octree/hydro.hpp"
#include "octree/plan.hpp"
#include "octree/tree.hpp"

namespace octree {

// Of the leaves, added in their order.
struct totals {
  double mass = 0, first_star = 0, second_star = 0;
  double lost = 0;  // Mass that has left the domain.
  vec3 momentum{};
  double kinetic = 0, internal = 0, gravitational = 0;
  [[nodiscard]] double energy() const noexcept { return kinetic + internal + gravitational; }
};
inline constexpr std::size_t totals_values = 10;

// A leaf for pictures and files; cells with the last axis fastest.
struct leaf_record {
  node_key key = 0;
  std::int64_t owner = 0;
  std::array<float, cells> density, potential;
  std::array<float, 3 * cells> velocity;  // [axis][cell]
};
static_assert(std::is_trivially_copyable_v<leaf_record>);

// Values of a transfer's message.
[[nodiscard]] constexpr std::size_t values_of(const transfer& t) noexcept {
  return t.change == transfer::how::coarser ? fields * cells / 8 + 1 : fields * cells + 1;
}

class locality {
 public:
  // Every locality makes the same tree; `here` is its own number.
  locality(const binary& start, const refinement& how, int here, int localities);

  [[nodiscard]] const tree& nodes() const noexcept { return *tree_; }
  [[nodiscard]] const plan& links() const noexcept { return *plan_; }
  [[nodiscard]] int here() const noexcept { return here_; }
  [[nodiscard]] bool owns(int node) const noexcept { return (*tree_)[node].owner == here_; }
  // In the order of the tree.
  [[nodiscard]] const std::vector<int>& own_nodes() const noexcept { return own_nodes_; }
  [[nodiscard]] const std::vector<int>& own_leaves() const noexcept { return own_leaves_; }
  [[nodiscard]] bool has_stage(int node, stage s) const noexcept {
    return (*tree_)[node].is_leaf() || (s != stage::flux && s != stage::update);
  }

  // --- A sub-step --------------------------------------------------------------------------------
  // Before each of the three: its number, and the length of the step.
  void begin(int runge_kutta_stage, double dt) noexcept;
  // Where a density is no longer positive, check() says so; the sub-step goes on, so that nobody waits for it.
  void run(int node, stage s);
  // After a sub-step. Throws weft::error.
  void check() const;
  // What `l.from`, an own node, has made for it; `out` has l.size doubles.
  void pack(const link& l, std::span<double> out);
  // Where what arrives for `l.to`, an own node, is placed.
  [[nodiscard]] std::span<double> inbox(const link& l) noexcept;
  // Seconds that run() and pack() have taken here, of all threads together.
  [[nodiscard]] double busy_seconds() const noexcept {
    return 1e-9 *
           static_cast<double>(busy_ns_.load(std::memory_order_relaxed));  // Relaxed: a sum is all.
  }
  void count_busy(std::int64_t nanoseconds) noexcept {
    busy_ns_.fetch_add(nanoseconds, std::memory_order_relaxed);  // Relaxed: a sum is all.
  }

  // The largest signal of the own leaves: the next step is the Courant number over the largest of all.
  [[nodiscard]] double signal() const noexcept;
  // Only the field of the present densities: for checks and the first picture.
  void prepare_field() noexcept { field_only_ = true; }

  // --- Regridding --------------------------------------------------------------------------------
  // For each own leaf what it wishes, and the mass that it has lost, which from now on counts for all.
  [[nodiscard]] std::vector<double> wishes() const;
  // With those of all leaves.
  [[nodiscard]] std::unique_ptr<tree> next_tree(std::span<const double> wishes_of_all) const;
  void pack(const transfer& t, std::span<double> out) const;
  // Between begin and end blocks arrive, in any order, at the same time for different transfers.
  void begin_regrid(std::unique_ptr<tree> next, std::span<const double> wishes_of_all);
  void place(const transfer& t, std::span<const double> block);
  [[nodiscard]] const tree& next() const noexcept { return *next_tree_; }
  void end_regrid();

  // --- Looking at it -----------------------------------------------------------------------------
  // For each own leaf totals_values numbers.
  [[nodiscard]] std::vector<double> parts_of_totals() const;
  [[nodiscard]] totals add(std::span<const double> parts_of_all) const;
  // Of the own leaves, or of those of them that lie on the upper side of the plane z = 0.
  [[nodiscard]] std::vector<leaf_record> records(bool of_plane) const;
  // For each own leaf; all bits of its state, and of its place.
  [[nodiscard]] std::vector<std::uint64_t> hashes() const;
  [[nodiscard]] const leaf_state& leaf(int node) const noexcept {
    return *data_[static_cast<std::size_t>(node)].leaf;
  }
  [[nodiscard]] leaf_state& leaf(int node) noexcept {
    return *data_[static_cast<std::size_t>(node)].leaf;
  }

 private:
  struct node_data {
    std::unique_ptr<leaf_state> leaf;
    std::unique_ptr<moment_block> moments;
    std::unique_ptr<field_block> field;
    std::vector<double> inbox;
  };

  void adopt(std::unique_ptr<tree> t);
  void run_stage(int node, stage s);
  void gather(int node);
  void flux(int node);
  void interact(int node);
  void descend(int node);
  void update(int node);
  [[nodiscard]] std::span<const double> arrived(const link& l) const noexcept;
  [[nodiscard]] node_data& data(int node) noexcept { return data_[static_cast<std::size_t>(node)]; }

  refinement how_;
  int here_;
  std::unique_ptr<tree> tree_, next_tree_;
  std::unique_ptr<plan> plan_;
  std::vector<node_data> data_, next_data_;
  std::vector<int> own_nodes_, own_leaves_;
  int stage_ = 0;
  double dt_ = 0;
  bool field_only_ = false;
  double lost_before_ = 0;  // By leaves of earlier trees.
  std::atomic<std::int64_t> busy_ns_{0};
  std::atomic<int> unsound_{-1};  // A leaf.
};

// Of all leaves' hashes, in their order.
[[nodiscard]] std::uint64_t hash_of(std::span<const std::uint64_t> of_leaves) noexcept;

}  // namespace octree
