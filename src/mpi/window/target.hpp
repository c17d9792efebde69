// Memory of a target as a call names it: rank, displacement, count and datatype.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mpi/datatype/data.hpp"
#include "mpi/window/window.hpp"

namespace weft::mpi {

// Returns where loads and stores from here reach so many bytes; null: messages do. Throws when the window does not have them.
[[nodiscard, gnu::always_inline]] inline std::byte* reached_in(const window_object& w,
                                                               const rma::location& at,
                                                               std::size_t bytes,
                                                               MPI_Aint displacement) {
  if (std::byte* const there = w.parts->reached_or_attached(at, bytes); there != nullptr) [[likely]]
    return there;
  if (!w.parts->has(at, bytes) || w.parts->attaches_here(at.rank)) [[unlikely]]
    fail_range(w, at.rank, displacement, bytes);
  return nullptr;
}

// Count and datatype at a target: where the data lie, seen from the displacement.
struct target_layout {
  const datatype_object& type;
  std::uint64_t offset;     // Of the displacement, in the part.
  detail::segments blocks;  // Their addresses are offsets in the part.

  target_layout(const window_object& w, int target, MPI_Aint displacement, MPI_Count count,
                const datatype_object& t)
      : type(t),
        offset(w.parts->at(target, static_cast<std::uint64_t>(displacement)).offset),
        blocks(t.where.placed(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(offset)),
                              {static_cast<std::size_t>(count), t.extent})) {}
};

}  // namespace weft::mpi
