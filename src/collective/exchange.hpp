// The one form of all collectives that only move data: each rank gives parts to some ranks and takes
// parts of some. Where both share memory, the one that takes copies from layout to layout.
#pragma once
#include <cstddef>
#include <functional>

#include "rank/communicator_state.hpp"
#include "rank/messages.hpp"
#include "weft/layout.hpp"

namespace weft::detail {

// One part for each of the ranks first, first + 1, ..., and none for the rest.
struct parts {
  int first = 0;
  int count = 0;
  // Bytes in a row, from each to the next at one distance ...
  std::byte* base = nullptr;
  std::ptrdiff_t stride = 0;
  std::size_t bytes = 0;  // Of each.
  // ... or layouts: that of rank first + place.
  segments (*laid_out)(const void* of, int place) = nullptr;
  const void* of = nullptr;

  // The same for all; the layout must live until the exchange has ended.
  [[nodiscard]] static parts all_alike(const segments& layout, int first, int count) noexcept {
    parts p{first, count};
    p.laid_out = [](const void* one, int) { return *static_cast<const segments*>(one); };
    p.of = &layout;
    return p;
  }
  [[nodiscard]] bool has(int rank) const noexcept { return rank >= first && rank < first + count; }
  [[nodiscard]] segments at(int rank) const {
    if (!has(rank)) return {};
    if (laid_out != nullptr) return laid_out(of, rank - first);
    return segments({base + stride * (rank - first), bytes});
  }

  // Of a rank that has a part. Its bytes in a row; null: they have a layout.
  [[nodiscard]] const std::byte* row(int rank) const noexcept {
    return laid_out == nullptr ? base + stride * (rank - first) : nullptr;
  }
  // All of the part to bytes in a row, and from there.
  void get(int rank, std::byte* to, std::size_t bytes_of_part) const {
    if (laid_out == nullptr) [[likely]]
      copy_short(to, row(rank), bytes_of_part);
    else if (bytes_of_part != 0)
      copy_out(to, at(rank));
  }
  void put(int rank, const std::byte* from, std::size_t bytes_of_part) const {
    if (laid_out == nullptr) [[likely]]
      copy_short(base + stride * (rank - first), from, bytes_of_part);
    else if (bytes_of_part != 0)
      copy_segments(at(rank), segments({from, bytes_of_part}), 0, bytes_of_part);
  }
};

// What a rank takes of another one is not what that gives.
struct unequal_parts {
  int giver;
  std::size_t gives;
  int only_taker;  // The only one to which it gives anything; no_root: there are several, or it is not known.
  int taker;
  std::size_t takes;
};
// Throws what that means, where it means more than it says.
using explanation = std::function<void(const unequal_parts&)>;

// Whether all parts have as many bytes as one's own.
enum class sizes { of_all, of_each };

struct exchange_plan {
  collective_call call;
  int only_owner = no_root;  // No_root: all give.
  int only_reader = no_root;
  bool per_reader = false;  // Otherwise a rank gives the same to all.
  sizes known = sizes::of_all;
  std::size_t part_bytes = 0;  // When known.
  bool leaves_own = false;     // What a rank gives to itself is where it belongs.
  // Not null: what is given to a rank that does not take it is an error, too, of which all ranks are told.
  const explanation* explain = nullptr;
};

// A part that is not as long as its taker expects throws weft::error on all ranks of its process.
void exchange(communicator_state& c, int rank, const exchange_plan& plan, const parts& give,
              const parts& take);

}  // namespace weft::detail
