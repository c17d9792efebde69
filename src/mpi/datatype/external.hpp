// "external32", the representation that all machines share: of packed data, and of files.
#pragma once
#include <cstddef>

#include "mpi/object/datatype.hpp"

namespace weft::mpi {

// The bytes of one element there.
[[nodiscard]] std::size_t external32_size(const datatype_object& type);
// Convert `elements` elements that lie packed in the order of the datatype, without gaps, on both sides.
void to_external32(std::byte* there, const std::byte* here, const datatype_object& type,
                   std::size_t elements);
void from_external32(std::byte* here, const std::byte* there, const datatype_object& type,
                     std::size_t elements);

}  // namespace weft::mpi
