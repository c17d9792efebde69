// A variable of the program, in C or Fortran, that gets the handle of a communicator when a request of its is complete.
#pragma once
#include "mpi/object/state.hpp"

namespace weft::mpi {

inline void give(state&, MPI_Comm handle, MPI_Comm* to) {
  *to = handle;
}
inline void give(state& me, MPI_Comm handle, MPI_Fint* to) {
  const auto hold = me.fortran_handles.lock(me.rank.home->is_shared());
  *to = is_predefined(handle) ? static_cast<MPI_Fint>(value_of(handle))
                              : me.fortran_handles.number_of(value_of(handle));
}

}  // namespace weft::mpi
