// MPI_Comm_c2f, MPI_Comm_toint and their kin: from a handle of C to the integer that stands for it in Fortran, and back.
// They return no error: what is no handle becomes one that every other function refuses. A status has the same bytes in
// both languages.
#include <cstring>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace {

template <class Handle>
Handle from_fortran(MPI_Fint number) {
  const auto at = static_cast<unsigned>(number);
  if (at < weft::mpi::handle_numbers::predefined_end)
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(at));
  const weft::mpi::state* const me = weft::mpi::find_state();
  if (me == nullptr) return Handle{};
  const auto hold = me->fortran_handles.lock(me->rank.home->is_shared());
  return reinterpret_cast<Handle>(me->fortran_handles.handle_of(number));
}

template <class Handle>
MPI_Fint to_fortran(Handle handle) {
  if (const std::uintptr_t value = weft::mpi::value_of(handle);
      value < weft::mpi::handle_numbers::predefined_end)
    return static_cast<MPI_Fint>(value);
  weft::mpi::state* const me = weft::mpi::find_state();
  if (me == nullptr) return 0;
  const auto hold = me->fortran_handles.lock(me->rank.home->is_shared());
  return me->fortran_handles.number_of(weft::mpi::value_of(handle));
}

}  // namespace

#define WEFT_MPI_CONVERSIONS(name, handle)                             \
  WEFT_MPI_FUNCTION(MPI_Fint, MPI_##name##_c2f, (handle of_c)) {       \
    return to_fortran(of_c);                                           \
  }                                                                    \
  WEFT_MPI_FUNCTION(handle, MPI_##name##_f2c, (MPI_Fint of_fortran)) { \
    return from_fortran<handle>(of_fortran);                           \
  }                                                                    \
  WEFT_MPI_FUNCTION(int, MPI_##name##_toint, (handle of_c)) {          \
    return to_fortran(of_c);                                           \
  }                                                                    \
  WEFT_MPI_FUNCTION(handle, MPI_##name##_fromint, (int number)) {      \
    return from_fortran<handle>(number);                               \
  }

WEFT_MPI_CONVERSIONS(Comm, MPI_Comm)
WEFT_MPI_CONVERSIONS(Type, MPI_Datatype)
WEFT_MPI_CONVERSIONS(Group, MPI_Group)
WEFT_MPI_CONVERSIONS(Request, MPI_Request)
WEFT_MPI_CONVERSIONS(Op, MPI_Op)
WEFT_MPI_CONVERSIONS(Info, MPI_Info)
WEFT_MPI_CONVERSIONS(Errhandler, MPI_Errhandler)
WEFT_MPI_CONVERSIONS(Message, MPI_Message)
WEFT_MPI_CONVERSIONS(File, MPI_File)
WEFT_MPI_CONVERSIONS(Session, MPI_Session)
WEFT_MPI_CONVERSIONS(Win, MPI_Win)

#define WEFT_MPI_STATUS_CONVERSION(name, From, To)              \
  WEFT_MPI_FUNCTION(int, name, (const From* given, To* made)) { \
    std::memcpy(made, given, sizeof(MPI_Status));               \
    return MPI_SUCCESS;                                         \
  }

WEFT_MPI_STATUS_CONVERSION(MPI_Status_c2f, MPI_Status, MPI_Fint)
WEFT_MPI_STATUS_CONVERSION(MPI_Status_f2c, MPI_Fint, MPI_Status)
WEFT_MPI_STATUS_CONVERSION(MPI_Status_c2f08, MPI_Status, MPI_F08_status)
WEFT_MPI_STATUS_CONVERSION(MPI_Status_f082c, MPI_F08_status, MPI_Status)
WEFT_MPI_STATUS_CONVERSION(MPI_Status_f2f08, MPI_Fint, MPI_F08_status)
WEFT_MPI_STATUS_CONVERSION(MPI_Status_f082f, MPI_F08_status, MPI_Fint)
