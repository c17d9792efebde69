// The one form of all collectives that only move data: each rank gives parts to some ranks and takes parts of some.
// Within a process the taker copies, from layout to layout.
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
  // Either bytes in a row, each part `stride` bytes behind the one before ...
  std::byte* base = nullptr;
  std::ptrdiff_t stride = 0;
  std::size_t bytes = 0;  // The size of each part.
  // ... or layouts: laid_out(of, place) is the layout of rank first + place.
  segments (*laid_out)(const void* of, int place) = nullptr;
  const void* of = nullptr;

  // One layout for the parts of all ranks. It lives until the exchange has ended.
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

  // The bytes of a rank that has a part; null: the part has a layout.
  [[nodiscard]] const std::byte* row(int rank) const noexcept {
    return laid_out == nullptr ? base + stride * (rank - first) : nullptr;
  }
  // Copy a whole part to bytes in a row, and from bytes in a row.
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

// The error that `taker` expects another size than `giver` gives.
struct unequal_parts {
  int giver;
  std::size_t gives;
  int only_taker;  // The only one to which it gives anything; no_root: there are several, or it is not known.
  int taker;
  std::size_t takes;
};
// A caller's function that throws a better error than exchange() would, if it has one.
using explanation = std::function<void(const unequal_parts&)>;

// What a rank knows of the sizes of parts: of_all, all parts have the same; of_each, only of its own.
enum class sizes { of_all, of_each };

struct exchange_plan {
  collective_call call;
  int only_owner = no_root;   // no_root: all give.
  int only_reader = no_root;  // no_root: all take.
  bool per_reader = false;    // False: a rank gives the same part to all.
  sizes known = sizes::of_all;
  std::size_t part_bytes = 0;  // With sizes::of_all.
  bool leaves_own = false;     // In place: what a rank gives to itself is where it belongs.
  // Not null: a part for a rank that does not take it is an error, too, and all ranks are told.
  const explanation* explain = nullptr;
};

// Called by every rank of the communicator. When a part has not the size that its taker expects, all ranks of the
// taker's process throw weft::error.
void exchange(communicator_state& c, int rank, const exchange_plan& plan, const parts& give,
              const parts& take);

}  // namespace weft::detail
