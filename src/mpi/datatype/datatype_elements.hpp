// Basic elements of datatypes: what MPI_Get_elements counts.
#pragma once
#include <cstdint>
#include <vector>

#include "mpi/object/datatype.hpp"

namespace weft::mpi {

// How many basic elements the first `bytes` bytes of a message of `type` hold; MPI_UNDEFINED when they end within one.
[[nodiscard]] MPI_Count basic_elements_in(const datatype_object& type, std::uint64_t bytes);
// The bytes of the first `elements` basic elements.
[[nodiscard]] std::uint64_t bytes_of_elements(const datatype_object& type, MPI_Count elements);

// A datatype that is no basic element consists of parts: the list in its order, each part `count` times, and the
// whole list as often as the datatype's size says.
struct part {
  const datatype_object* type;
  std::uint64_t count;
};
[[nodiscard]] std::vector<part> parts_of(const datatype_object& type);

// The predefined datatype of which all of its data are; null: there are several, or no data.
[[nodiscard]] const datatype_object* find_only_basic(const datatype_object& type);

}  // namespace weft::mpi
