// The functions of the ABI chapter. A program asks for the sizes of MPI's types in C, for those of Fortran's types, and for
// the values of Fortran's .true. and .false. Fortran's are gfortran's; the functions that set them are refused.
#include <cstring>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

void add_size(info_object& info, const char* key, std::size_t size) {
  info.entries.emplace_back(key, std::to_string(size));
}

std::size_t size_of(MPI_Datatype type) {
  return find_predefined(type)->size;
}

void describe_fortran(info_object& info) {
  add_size(info, "mpi_logical_size", size_of(MPI_LOGICAL));
  add_size(info, "mpi_integer_size", size_of(MPI_INTEGER));
  add_size(info, "mpi_real_size", size_of(MPI_REAL));
  add_size(info, "mpi_double_precision_size", size_of(MPI_DOUBLE_PRECISION));
  for (const char* type :
       {"logical1", "logical2", "logical4", "logical8", "logical16", "integer1", "integer2",
        "integer4", "integer8", "integer16", "real2", "real4", "real8", "real16", "complex4",
        "complex8", "complex16", "complex32", "double_complex"})
    info.entries.emplace_back("mpi_" + std::string(type) + "_supported", "true");
}

void check_logical_size(int size) {
  if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)
    fail(MPI_ERR_ARG, "logicals have 1, 2, 4, 8 or 16 bytes, not {}", size);
}

template <class Fill>
int new_info(const char* call, MPI_Info* info, const Fill& fill) {
  return in_call_at_any_time(call, [&](state& me) {
    check_not_null(info, "info");
    info_object& made = me.infos.make();
    fill(made);
    *info = handle_of(made);
  });
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Abi_get_info, (MPI_Info * info)) {
  return new_info("MPI_Abi_get_info", info, [](info_object& made) {
    add_size(made, "mpi_aint_size", sizeof(MPI_Aint));
    add_size(made, "mpi_count_size", sizeof(MPI_Count));
    add_size(made, "mpi_offset_size", sizeof(MPI_Offset));
  });
}

WEFT_MPI_FUNCTION(int, MPI_Abi_get_fortran_info, (MPI_Info * info)) {
  return new_info("MPI_Abi_get_fortran_info", info, describe_fortran);
}

WEFT_MPI_FUNCTION(int, MPI_Abi_set_fortran_info, (MPI_Info info)) {
  return in_call_at_any_time(
      "MPI_Abi_set_fortran_info",
      [&](state& me) {
        (void)checked_info(me, info);
        fail(MPI_ERR_ABI,
             "the types of Fortran are known already: MPI_Abi_get_fortran_info tells them");
      },
      info);
}

WEFT_MPI_FUNCTION(int, MPI_Abi_get_fortran_booleans,
                  (int logical_size, void* logical_true, void* logical_false, int* is_set)) {
  return in_call_at_any_time(
      "MPI_Abi_get_fortran_booleans",
      [&](state&) {
        check_logical_size(logical_size);
        check_not_null(logical_true, "logical_true");
        check_not_null(logical_false, "logical_false");
        check_not_null(is_set, "is_set");
        const auto size = static_cast<std::size_t>(logical_size);
        std::memset(logical_true, 0, size);
        std::memset(logical_false, 0, size);
        static_cast<char*>(logical_true)[0] = 1;  // The lowest byte comes first.
        *is_set = 1;
      },
      logical_size, logical_true, logical_false, is_set);
}

WEFT_MPI_FUNCTION(int, MPI_Abi_set_fortran_booleans,
                  (int logical_size, void* logical_true, void* logical_false)) {
  return in_call_at_any_time(
      "MPI_Abi_set_fortran_booleans",
      [&](state&) {
        check_logical_size(logical_size);
        fail(MPI_ERR_ABI, "the logical values of Fortran are known already: they are 1 and 0");
      },
      logical_size, logical_true, logical_false);
}
