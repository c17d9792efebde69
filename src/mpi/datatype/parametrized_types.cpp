// Datatypes of Fortran by what their numbers can hold, as selected_int_kind and selected_real_kind choose
// them. The same arguments give the same handle, and none can be freed.
#include <algorithm>
#include <limits>

#include "mpi/datatype/datatype_builder.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

// A kind of number, and the decimal digits and exponents that it holds.
struct number_kind {
  MPI_Datatype single;
  MPI_Datatype complex;
  int precision;
  int range;
};

template <class Number>
constexpr number_kind kind_of(MPI_Datatype single, MPI_Datatype complex) {
  using limits = std::numeric_limits<Number>;
  return {single, complex, limits::digits10,
          std::min(limits::max_exponent10, -limits::min_exponent10)};
}

// The smallest comes first.
const number_kind integers[] = {{MPI_INTEGER1, MPI_DATATYPE_NULL, 0, 2},
                                {MPI_INTEGER2, MPI_DATATYPE_NULL, 0, 4},
                                {MPI_INTEGER4, MPI_DATATYPE_NULL, 0, 9},
                                {MPI_INTEGER8, MPI_DATATYPE_NULL, 0, 18},
                                {MPI_INTEGER16, MPI_DATATYPE_NULL, 0, 38}};
const number_kind reals[] = {kind_of<float>(MPI_REAL4, MPI_COMPLEX8),
                             kind_of<double>(MPI_REAL8, MPI_COMPLEX16),
                             kind_of<long double>(MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX),
                             {MPI_REAL16, MPI_COMPLEX32, 33, 4931}};

// `wanted` MPI_UNDEFINED: whatever it is.
bool suffices(int has, int wanted) {
  return wanted == MPI_UNDEFINED || has >= wanted;
}

template <std::size_t Count>
const number_kind& choose(const number_kind (&kinds)[Count], int precision, int range) {
  for (const number_kind& k : kinds)
    if (suffices(k.precision, precision) && suffices(k.range, range)) return k;
  if (precision == MPI_UNDEFINED) fail(MPI_ERR_ARG, "no datatype has a range of {}", range);
  fail(MPI_ERR_ARG, "no datatype has a precision of {} with a range of {}", precision, range);
}

MPI_Datatype find_or_make(state& me, int combiner, int precision, int range, MPI_Datatype basic) {
  datatype_object*& known = me.parametrized[{combiner, precision, range}];
  if (known == nullptr) {
    const datatype_object& old = checked_datatype(basic);
    datatype_object& made = make_likeness(me, old);
    made.committed = true;
    made.basic = &old;
    made.name = old.name;
    recorder how(combiner, false);
    if (combiner != MPI_COMBINER_F90_INTEGER) how.integer(precision);
    made.made = how.integer(range).result();
    known = &made;
    if (me.births != nullptr) me.births->ended(object_kind::datatype, &made);  // Not to be freed.
  }
  return handle_of(*known);
}

void check_any_wanted(int precision, int range) {
  if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED)
    fail(MPI_ERR_ARG, "precision and range are both MPI_UNDEFINED: name one of them");
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Type_create_f90_integer, (int range, MPI_Datatype* newtype)) {
  return in_call(
      "MPI_Type_create_f90_integer", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newtype, "newtype");
        const number_kind& k = choose(integers, MPI_UNDEFINED, range);
        *newtype = find_or_make(me, MPI_COMBINER_F90_INTEGER, MPI_UNDEFINED, range, k.single);
      },
      range, newtype);
}

WEFT_MPI_FUNCTION(int, MPI_Type_create_f90_real,
                  (int precision, int range, MPI_Datatype* newtype)) {
  return in_call(
      "MPI_Type_create_f90_real", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newtype, "newtype");
        check_any_wanted(precision, range);
        const number_kind& k = choose(reals, precision, range);
        *newtype = find_or_make(me, MPI_COMBINER_F90_REAL, precision, range, k.single);
      },
      precision, range, newtype);
}

WEFT_MPI_FUNCTION(int, MPI_Type_create_f90_complex,
                  (int precision, int range, MPI_Datatype* newtype)) {
  return in_call(
      "MPI_Type_create_f90_complex", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newtype, "newtype");
        check_any_wanted(precision, range);
        const number_kind& k = choose(reals, precision, range);
        *newtype = find_or_make(me, MPI_COMBINER_F90_COMPLEX, precision, range, k.complex);
      },
      precision, range, newtype);
}
