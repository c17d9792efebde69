// Tags of messages that follow a header. Whoever takes one has it alone until it is given back, also when the numbers
// begin again: a parcel may take long.
#pragma once
#include <cstddef>
#include <limits>
#include <unordered_set>
#include <vector>

namespace weft::detail {

// The last tag, where an MPI has more: a test lets the numbers begin again soon. Set while no job runs.
inline int mpi_tag_last = std::numeric_limits<int>::max();
// Longer chunks go in parts of so many bytes: an MPI counts them in an int. A test makes it small, likewise.
inline std::size_t mpi_part_bytes_max = std::size_t{1} << 30;
// What is posted at once.
inline std::size_t mpi_post_bytes_max = std::numeric_limits<int>::max();

class mpi_tags {
 public:
  // Tags run from `first`, which is above 0, to `last`. `reuses`: what was given back is taken before a new one, as the first version of HPX's port does;
  // else the next number is.
  mpi_tags(int first, int last, bool reuses) noexcept
      : first_(first), last_(last), reuses_(reuses), newest_(first - 1) {}

  // 0 when all are taken.
  [[nodiscard]] int take() {
    if (!given_back_.empty()) {
      const int tag = given_back_.back();
      given_back_.pop_back();
      taken_.insert(tag);
      return tag;
    }
    if (taken_.size() > static_cast<std::size_t>(last_ - first_)) return 0;
    do newest_ = newest_ >= last_ ? first_ : newest_ + 1;
    while (!taken_.insert(newest_).second);
    return newest_;
  }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_.size(); }
  // What nobody has taken is no matter.
  void give_back(int tag) {
    if (taken_.erase(tag) != 0 && reuses_) given_back_.push_back(tag);
  }

 private:
  const int first_, last_;
  const bool reuses_;
  int newest_;
  std::unordered_set<int> taken_;
  std::vector<int> given_back_;
};

}  // namespace weft::detail
