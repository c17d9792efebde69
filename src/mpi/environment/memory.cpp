// MPI_Alloc_mem and MPI_Free_mem: memory of the C library that begins at a cache line. Hints are not used.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Alloc_mem, (MPI_Aint size, MPI_Info info, void* baseptr)) {
  return in_call(
      "MPI_Alloc_mem", MPI_COMM_SELF,
      [&](state&) {
        check_not_null(baseptr, "baseptr");
        if (size < 0) fail(MPI_ERR_ARG, "size {} is negative", size);
        constexpr std::size_t line = 64;
        const auto wanted = std::max<std::size_t>(static_cast<std::size_t>(size), 1);
        void* const memory = wanted > std::numeric_limits<std::size_t>::max() - line
                                 ? nullptr
                                 : std::aligned_alloc(line, (wanted + line - 1) / line * line);
        if (memory == nullptr) fail(MPI_ERR_NO_MEM, "there are no {} bytes of memory", size);
        *static_cast<void**>(baseptr) = memory;
      },
      size, info, baseptr);
}

WEFT_MPI_FUNCTION(int, MPI_Free_mem, (void* base)) {
  return in_call(
      "MPI_Free_mem", MPI_COMM_SELF, [&](state&) { std::free(base); }, base);
}
