// In a checked job: memory from which a call sends and into which it receives, and which is in part the same. Of what
// lies in a row; layouts may be entwined, and are not compared.
#pragma once
#include "collective/exchange.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {

// Adds a finding to the job's when it is so.
void note_overlap(state& me, const char* call, const detail::parts& given,
                  const detail::parts& taken);

// Of a contiguous datatype.
[[nodiscard]] inline detail::parts one_part(const void* buffer, MPI_Count count,
                                            const datatype_object& type) {
  detail::parts p{0, 1};
  p.base = static_cast<std::byte*>(const_cast<void*>(buffer));  // It is not written.
  p.bytes = bytes_of(count, type);
  return p;
}

}  // namespace weft::mpi
