// What programs ask of statuses, and set in them.
#include "mpi/object/status.hpp"

#include <limits>

#include "mpi/datatype/datatype_elements.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

// MPI_UNDEFINED where the number does not fit.
template <class Number>
Number fitting(MPI_Count value) noexcept {
  return value > static_cast<MPI_Count>(std::numeric_limits<Number>::max())
             ? static_cast<Number>(MPI_UNDEFINED)
             : static_cast<Number>(value);
}

template <class Number>
void get_count(const MPI_Status* status, MPI_Datatype datatype, Number* count) {
  check_not_null(status, "status");
  check_not_null(count, "count");
  const datatype_object& type = checked_datatype(datatype);
  const std::uint64_t bytes = bytes_of_status(*status);
  if (type.size == 0)
    *count = bytes == 0 ? 0 : static_cast<Number>(MPI_UNDEFINED);
  else if (bytes % type.size != 0)
    *count = static_cast<Number>(MPI_UNDEFINED);
  else
    *count = fitting<Number>(static_cast<MPI_Count>(bytes / type.size));
}

template <class Number>
void get_elements(const MPI_Status* status, MPI_Datatype datatype, Number* count) {
  check_not_null(status, "status");
  check_not_null(count, "count");
  const MPI_Count elements =
      basic_elements_in(checked_datatype(datatype), bytes_of_status(*status));
  *count =
      elements == MPI_UNDEFINED ? static_cast<Number>(MPI_UNDEFINED) : fitting<Number>(elements);
}

void set_elements(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  check_not_null(status, "status");
  check_count(count);
  set_status_bytes(*status, bytes_of_elements(checked_datatype(datatype), count));
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Get_count,
                  (const MPI_Status* status, MPI_Datatype datatype, int* count)) {
  return in_call(
      "MPI_Get_count", MPI_COMM_SELF, [&](state&) { get_count(status, datatype, count); }, status,
      datatype, count);
}
WEFT_MPI_FUNCTION(int, MPI_Get_count_c,
                  (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)) {
  return in_call(
      "MPI_Get_count_c", MPI_COMM_SELF, [&](state&) { get_count(status, datatype, count); }, status,
      datatype, count);
}

WEFT_MPI_FUNCTION(int, MPI_Get_elements,
                  (const MPI_Status* status, MPI_Datatype datatype, int* count)) {
  return in_call(
      "MPI_Get_elements", MPI_COMM_SELF, [&](state&) { get_elements(status, datatype, count); },
      status, datatype, count);
}
WEFT_MPI_FUNCTION(int, MPI_Get_elements_c,
                  (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)) {
  return in_call(
      "MPI_Get_elements_c", MPI_COMM_SELF, [&](state&) { get_elements(status, datatype, count); },
      status, datatype, count);
}
WEFT_MPI_FUNCTION(int, MPI_Get_elements_x,
                  (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)) {
  return in_call(
      "MPI_Get_elements_x", MPI_COMM_SELF, [&](state&) { get_elements(status, datatype, count); },
      status, datatype, count);
}

WEFT_MPI_FUNCTION(int, MPI_Status_set_elements,
                  (MPI_Status * status, MPI_Datatype datatype, int count)) {
  return in_call(
      "MPI_Status_set_elements", MPI_COMM_SELF,
      [&](state&) { set_elements(status, datatype, count); }, status, datatype, count);
}
WEFT_MPI_FUNCTION(int, MPI_Status_set_elements_c,
                  (MPI_Status * status, MPI_Datatype datatype, MPI_Count count)) {
  return in_call(
      "MPI_Status_set_elements_c", MPI_COMM_SELF,
      [&](state&) { set_elements(status, datatype, count); }, status, datatype, count);
}
WEFT_MPI_FUNCTION(int, MPI_Status_set_elements_x,
                  (MPI_Status * status, MPI_Datatype datatype, MPI_Count count)) {
  return in_call(
      "MPI_Status_set_elements_x", MPI_COMM_SELF,
      [&](state&) { set_elements(status, datatype, count); }, status, datatype, count);
}

WEFT_MPI_FUNCTION(int, MPI_Test_cancelled, (const MPI_Status* status, int* flag)) {
  return in_call(
      "MPI_Test_cancelled", MPI_COMM_SELF,
      [&](state&) {
        check_not_null(status, "status");
        check_not_null(flag, "flag");
        *flag = status->MPI_internal[status_cancelled_word];
      },
      status, flag);
}
WEFT_MPI_FUNCTION(int, MPI_Status_set_cancelled, (MPI_Status * status, int flag)) {
  return in_call(
      "MPI_Status_set_cancelled", MPI_COMM_SELF,
      [&](state&) {
        check_not_null(status, "status");
        status->MPI_internal[status_cancelled_word] = flag != 0 ? 1 : 0;
      },
      status, flag);
}

#define MEMBER(name, member)                                                              \
  WEFT_MPI_FUNCTION(int, MPI_Status_get_##name, (const MPI_Status* status, int* value)) { \
    return in_call(                                                                       \
        "MPI_Status_get_" #name, MPI_COMM_SELF,                                           \
        [&](state&) {                                                                     \
          check_not_null(status, "status");                                               \
          check_not_null(value, #name);                                                   \
          *value = status->member;                                                        \
        },                                                                                \
        status, value);                                                                   \
  }                                                                                       \
  WEFT_MPI_FUNCTION(int, MPI_Status_set_##name, (MPI_Status * status, int value)) {       \
    return in_call(                                                                       \
        "MPI_Status_set_" #name, MPI_COMM_SELF,                                           \
        [&](state&) {                                                                     \
          check_not_null(status, "status");                                               \
          status->member = value;                                                         \
        },                                                                                \
        status, value);                                                                   \
  }
MEMBER(source, MPI_SOURCE)
MEMBER(tag, MPI_TAG)
MEMBER(error, MPI_ERROR)
