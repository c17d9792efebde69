// What an MPI_Datatype stands for: the layout of its bytes, its bounds, and how it was made.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpi/object/handles.hpp"
#include "weft/layout.hpp"

namespace weft::mpi {

struct datatype_object;
struct sections_of_call;  // mpi/datatype/section.hpp

// How a datatype was made: the answer of MPI_Type_get_contents.
struct construction {
  int combiner = MPI_COMBINER_NAMED;
  bool large = false;  // Made by a function whose name ends in _c.
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<datatype_object*> types;  // Each counts a holder.
};

struct datatype_object : object {
  using handle = MPI_Datatype;
  static constexpr object_kind own_kind = object_kind::datatype;

  std::size_t size = 0;  // Bytes of data in one element.
  // Elements are `size` bytes in a row from their address on, and follow each other without a gap.
  bool contiguous = false;
  bool committed = false;
  // Set by MPI_Type_create_resized, MPI_LB or MPI_UB somewhere below.
  bool explicit_lower = false;
  bool explicit_upper = false;
  std::ptrdiff_t lower = 0;
  std::ptrdiff_t extent = 0;
  std::ptrdiff_t true_lower = 0;
  std::ptrdiff_t true_extent = 0;
  std::size_t alignment = 1;  // That of its most strictly aligned basic element.
  detail::segments where;     // The layout of one element at address 0.
  // The number of basic elements in one element, and their size; 0: their sizes differ.
  std::size_t basic_count = 0;
  std::size_t basic_size = 0;

  std::shared_ptr<const construction> made;  // Null: predefined.
  int holders = 1;  // References: the program's handle, and datatypes made of this one.
  std::string name;
  const datatype_object* basic = nullptr;  // For a parametrized one: its predefined equivalent.
  int basic_class = 0;  // For a predefined one: its class for MPI_Type_match_size.
  // Set: a call's own, for a section of a Fortran array. When it is not committed, `name` says why the section does not fit.
  std::shared_ptr<const sections_of_call> sections;
};

// The predefined datatypes, by the lowest byte of their handles. Filled in when the library is loaded, constant
// afterwards.
extern datatype_object predefined_types[256];
// The sizes of predefined datatypes without gaps, for calls that need nothing else; 0 for other handles.
extern std::uint8_t predefined_sizes[256];
[[nodiscard]] inline std::size_t size_without_gaps(MPI_Datatype type) noexcept {
  return value_of(type) >> 8 == 2 ? predefined_sizes[value_of(type) & 0xff] : 0;
}

[[nodiscard]] MPI_Datatype predefined_handle(const datatype_object& type) noexcept;
// Null when the handle is no predefined datatype.
[[nodiscard]] inline datatype_object* find_predefined(MPI_Datatype type) noexcept {
  datatype_object& t = predefined_types[value_of(type) & 0xff];
  return value_of(type) >> 8 == 2 && t.kind == object_kind::datatype ? &t : nullptr;
}

}  // namespace weft::mpi
