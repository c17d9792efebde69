// What an MPI_Datatype stands for: where its bytes are, as the layouts of weft say it, what the
// standard says about it, and how it was made.
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

// How a datatype was made: what MPI_Type_get_contents tells.
struct construction {
  int combiner = MPI_COMBINER_NAMED;
  bool large = false;  // By a function whose name ends in _c.
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<datatype_object*> types;  // Held.
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
  std::size_t alignment = 1;  // Of its most strictly aligned basic element.
  detail::segments where;     // Of one element at address 0.
  // Basic elements in one, and the size that all of them have; 0: they differ.
  std::size_t basic_count = 0;
  std::size_t basic_size = 0;

  std::shared_ptr<const construction> made;  // Null: predefined.
  int holders = 1;  // The program's handle, and datatypes made of this one.
  std::string name;
  const datatype_object* basic = nullptr;  // Of a parametrized one: the predefined one that it is.
  int basic_class = 0;  // Of a predefined one, what MPI_Type_match_size looks for.
};

// The predefined ones by the last two digits of their values; filled in when the library is loaded,
// not written afterwards.
extern datatype_object predefined_types[256];
// Of those whose elements have no gaps the size, for calls that need nothing else of them; 0: others.
extern std::uint8_t predefined_sizes[256];
[[nodiscard]] inline std::size_t size_without_gaps(MPI_Datatype type) noexcept {
  return value_of(type) >> 8 == 2 ? predefined_sizes[value_of(type) & 0xff] : 0;
}

[[nodiscard]] MPI_Datatype predefined_handle(const datatype_object& type) noexcept;
// Null when the value is none.
[[nodiscard]] inline datatype_object* find_predefined(MPI_Datatype type) noexcept {
  datatype_object& t = predefined_types[value_of(type) & 0xff];
  return value_of(type) >> 8 == 2 && t.kind == object_kind::datatype ? &t : nullptr;
}

}  // namespace weft::mpi
