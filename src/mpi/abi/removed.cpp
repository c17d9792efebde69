// Functions that MPI 3.0 has removed, for programs that still call them. Each calls the newer function in its place, so its
// errors name the newer one.
#include "mpi/object/profiling.hpp"

#define WEFT_MPI_OLD_NAME(name, parameters, now) \
  WEFT_MPI_FUNCTION(int, name, parameters) {     \
    return P##now;                               \
  }

WEFT_MPI_OLD_NAME(MPI_Address, (const void* location, MPI_Aint* address),
                  MPI_Get_address(location, address))
WEFT_MPI_OLD_NAME(MPI_Type_hvector,
                  (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                   MPI_Datatype* newtype),
                  MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype))
WEFT_MPI_OLD_NAME(MPI_Type_hindexed,
                  (int count, const int* array_of_blocklengths,
                   const MPI_Aint* array_of_displacements, MPI_Datatype oldtype,
                   MPI_Datatype* newtype),
                  MPI_Type_create_hindexed(count, array_of_blocklengths, array_of_displacements,
                                           oldtype, newtype))
WEFT_MPI_OLD_NAME(MPI_Type_struct,
                  (int count, const int* array_of_blocklengths,
                   const MPI_Aint* array_of_displacements, const MPI_Datatype* array_of_types,
                   MPI_Datatype* newtype),
                  MPI_Type_create_struct(count, array_of_blocklengths, array_of_displacements,
                                         array_of_types, newtype))
WEFT_MPI_OLD_NAME(MPI_Errhandler_create,
                  (MPI_Handler_function * handler_fn, MPI_Errhandler* errhandler),
                  MPI_Comm_create_errhandler(handler_fn, errhandler))
WEFT_MPI_OLD_NAME(MPI_Errhandler_set, (MPI_Comm comm, MPI_Errhandler errhandler),
                  MPI_Comm_set_errhandler(comm, errhandler))
WEFT_MPI_OLD_NAME(MPI_Errhandler_get, (MPI_Comm comm, MPI_Errhandler* errhandler),
                  MPI_Comm_get_errhandler(comm, errhandler))

namespace {

// The bounds of a datatype. Each function below returns one number of them.
struct bounds {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
};

// Writes what `wanted` takes of the bounds of `datatype` to `*to`. MPI_Type_get_extent checks the arguments, a null `to`
// included.
int tell(MPI_Datatype datatype, MPI_Aint* to, MPI_Aint (*wanted)(const bounds&)) {
  bounds b;
  const int error = PMPI_Type_get_extent(datatype, &b.lower, to == nullptr ? nullptr : &b.extent);
  if (error == MPI_SUCCESS && to != nullptr) *to = wanted(b);
  return error;
}

}  // namespace

WEFT_MPI_FUNCTION(int, MPI_Type_extent, (MPI_Datatype datatype, MPI_Aint* extent)) {
  return tell(datatype, extent, [](const bounds& b) { return b.extent; });
}
WEFT_MPI_FUNCTION(int, MPI_Type_lb, (MPI_Datatype datatype, MPI_Aint* displacement)) {
  return tell(datatype, displacement, [](const bounds& b) { return b.lower; });
}
WEFT_MPI_FUNCTION(int, MPI_Type_ub, (MPI_Datatype datatype, MPI_Aint* displacement)) {
  return tell(datatype, displacement, [](const bounds& b) { return b.lower + b.extent; });
}
