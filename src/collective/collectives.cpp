// Collectives. Ranks of one worker meet first, without atomics; the last to arrive speaks for them
// to the other workers, through sequenced dropboxes (Pure section 4.2.1). For data that do not fit
// there the ranks show each other their buffers, and each moves its part itself (Pure section 4.2.2).
// docs/protocols/collectives.md has the proof. Here are those that only move; broadcasts.cpp and
// reductions.cpp have the others.
#include <span>
#include <string>
#include <vector>

#include "collective/buffer_exposure.hpp"
#include "collective/collectives.hpp"
#include "job/accounted_call.hpp"

namespace weft {
namespace detail {

void meet(communicator_state& c, int rank, const char* name) {
  collective_turn(c, rank, {name, no_root, true, 0}).meet();
}

}  // namespace detail

using namespace detail;

namespace {

[[gnu::cold]] void wrong_size(const char* call, std::size_t is, std::size_t should,
                              const char* what) {
  throw error(std::string(call) + ": the " + what + " has " + std::to_string(is) +
              " bytes but must have " + std::to_string(should));
}

std::size_t sum(const std::vector<std::size_t>& counts, std::size_t end) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < end; ++i) total += counts[i];
  return total;
}

// Parts of different lengths, one after the other: what a rank shows are the lengths, too.
[[nodiscard]] auto counted_parts(std::size_t element_bytes) {
  return [element_bytes](const member& m, int reader) {
    const auto& counts = *static_cast<const std::vector<std::size_t>*>(m.more);
    const auto r = static_cast<std::size_t>(reader);
    return std::span(static_cast<const std::byte*>(m.in) + sum(counts, r) * element_bytes,
                     counts[r] * element_bytes);
  };
}

// One count for each rank, and together no more than `elements`.
void check_counts(const char* call, const communicator_state& c,
                  const std::vector<std::size_t>& counts, std::size_t elements) {
  if (counts.size() != c.members.size())
    throw error(std::string(call) + " got " + std::to_string(counts.size()) +
                " counts: one for each of the " + std::to_string(c.members.size()) + " ranks");
  std::size_t left = elements;
  for (const std::size_t count : counts) {
    if (count > left)
      throw error(std::string(call) + ": the counts exceed the input of " +
                  std::to_string(elements) + " elements");
    left -= count;
  }
}
}  // namespace

void communicator::check_same_size(std::size_t in, std::size_t out, const char* call) const {
  if (in != out)
    throw error(std::string(call) + ": the input has " + std::to_string(in) +
                " elements and the output implies " + std::to_string(out) + ": they must be equal");
}

void communicator::barrier() const {
  note_call_site(__builtin_return_address(0));
  collective_turn(*state_, rank_, {"barrier", no_root, true, 0}).meet();
}

void communicator::bcast_bytes(std::span<std::byte> data, int root) const {
  note_call_site(__builtin_return_address(0));
  broadcast(*state_, rank_, data, root, "bcast");
}

void communicator::reduce_elements(const void* in, void* out, const reduction& how, int root,
                                   const char* name) const {
  note_call_site(__builtin_return_address(0));
  detail::reduce(*state_, rank_, in, out, how, root, name);
}

void communicator::scan_elements(const void* in, void* out, const reduction& how,
                                 bool inclusive) const {
  detail::scan(*state_, rank_, in, out, how, inclusive, inclusive ? "scan" : "exscan");
}

void communicator::reduce_scatter_elements(const void* in, void* out, const reduction& how) const {
  detail::reduce_scatter(*state_, rank_, in, out, how, {}, "reduce_scatter");
}

void communicator::gather_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                int root) const {
  note_call_site(__builtin_return_address(0));
  communicator_state& c = *state_;
  const char* name = root == no_root ? "allgather" : "gather";
  const bool receives = root == no_root || root == rank_;
  if (receives && out.size() != in.size() * c.members.size())
    wrong_size(name, out.size(), in.size() * c.members.size(), "output");
  parts take{0, receives ? c.size() : 0};
  take.base = out.data();
  take.stride = static_cast<std::ptrdiff_t>(in.size());
  take.bytes = in.size();
  const input_apart from(in, receives ? out : byte_view(),
                         receives && in.data() == take.row(rank_));
  parts give{0, c.size()};
  give.base = const_cast<std::byte*>(from.data());  // It is only read.
  give.bytes = in.size();
  exchange(c, rank_,
           {.call = {name, root, true, in.size()}, .only_reader = root, .part_bytes = in.size()},
           give, take);
}

void communicator::scatter_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                 int root) const {
  note_call_site(__builtin_return_address(0));
  communicator_state& c = *state_;
  if (rank_ == root && in.size() != out.size() * c.members.size())
    wrong_size("scatter", in.size(), out.size() * c.members.size(), "input");
  parts give{0, rank_ == root ? c.size() : 0};
  give.base = const_cast<std::byte*>(in.data());  // It is only read.
  give.stride = static_cast<std::ptrdiff_t>(out.size());
  give.bytes = out.size();
  const input_apart from(rank_ == root ? in : byte_view(), out, out.data() == give.row(rank_));
  give.base = const_cast<std::byte*>(from.data());
  parts take{root, 1};
  take.base = out.data();
  take.bytes = out.size();
  exchange(c, rank_,
           {.call = {"scatter", root, true, out.size()},
            .only_owner = root,
            .per_reader = true,
            .part_bytes = out.size()},
           give, take);
}

void communicator::alltoall_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                  std::size_t element_bytes) const {
  note_call_site(__builtin_return_address(0));
  communicator_state& c = *state_;
  if (in.size() != out.size()) wrong_size("alltoall", out.size(), in.size(), "output");
  const std::size_t whole = c.members.size() * element_bytes;
  if (in.size() % whole != 0) wrong_size("alltoall", in.size(), in.size() / whole * whole, "input");
  const std::size_t block = in.size() / c.members.size();
  const input_apart from(in, out, false);
  parts give{0, c.size()};
  give.base = const_cast<std::byte*>(from.data());  // It is only read.
  give.stride = static_cast<std::ptrdiff_t>(block);
  give.bytes = block;
  parts take = give;
  take.base = out.data();
  exchange(
      c, rank_,
      {.call = {"alltoall", no_root, true, in.size()}, .per_reader = true, .part_bytes = block},
      give, take);
}

std::vector<std::byte> communicator::gatherv_bytes(std::span<const std::byte> in, int root,
                                                   std::vector<std::size_t>& bytes) const {
  communicator_state& c = *state_;
  std::vector<std::byte> all;
  const exposure what{.part = &whole, .only_reader = root, .known = sizes::of_each};
  show_and_move(c, rank_, {root == no_root ? "allgatherv" : "gatherv", root, false, in.size()},
                {in.data(), nullptr, in.size()}, what, [&](const auto& shown_by) {
                  if (root != no_root && root != rank_) return;
                  for (int r = 0; r < c.size(); ++r) {
                    const auto part = shown_by.part(r);
                    all.insert(all.end(), part.begin(), part.end());
                    bytes.push_back(part.size());
                  }
                });
  return all;
}

std::vector<std::byte> communicator::scatterv_bytes(std::span<const std::byte> in,
                                                    const std::vector<std::size_t>& counts,
                                                    std::size_t element_bytes, int root) const {
  communicator_state& c = *state_;
  if (rank_ == root) {
    check_counts("scatterv", c, counts, in.size() / element_bytes);
  }
  std::vector<std::byte> mine;
  const exposure what{.part = counted_parts(element_bytes),
                      .only_owner = root,
                      .per_reader = true,
                      .known = sizes::of_each};
  show_and_move(c, rank_, {"scatterv", root, false, 0}, {in.data(), nullptr, in.size(), &counts},
                what, [&](const auto& all) {
                  const auto part = all.part(root);
                  mine.assign(part.begin(), part.end());
                });
  return mine;
}

std::vector<std::byte> communicator::alltoallv_bytes(std::span<const std::byte> in,
                                                     const std::vector<std::size_t>& counts,
                                                     std::size_t element_bytes,
                                                     std::vector<std::size_t>& arrived) const {
  communicator_state& c = *state_;
  check_counts("alltoallv", c, counts, in.size() / element_bytes);
  std::vector<std::byte> all;
  const exposure what{
      .part = counted_parts(element_bytes), .per_reader = true, .known = sizes::of_each};
  show_and_move(c, rank_, {"alltoallv", no_root, false, in.size()},
                {in.data(), nullptr, in.size(), &counts}, what, [&](const auto& shown_by) {
                  for (int r = 0; r < c.size(); ++r) {
                    const auto part = shown_by.part(r);
                    all.insert(all.end(), part.begin(), part.end());
                    arrived.push_back(part.size());
                  }
                });
  return all;
}
}  // namespace weft
