// The predefined datatypes.
#include "mpi/object/datatype.hpp"

#include <complex>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace weft::mpi {

datatype_object predefined_types[256];
std::uint8_t predefined_sizes[256];

namespace {

// One basic element of `size` bytes.
void define(MPI_Datatype type, std::string_view name, std::size_t size, std::size_t alignment,
            int type_class = 0) {
  datatype_object& t = predefined_types[value_of(type) & 0xff];
  t.kind = object_kind::datatype;
  t.size = size;
  t.contiguous = true;
  t.committed = true;
  t.extent = static_cast<std::ptrdiff_t>(size);
  t.true_extent = t.extent;
  t.alignment = alignment;
  t.where = detail::segments(nullptr, {}, {{0, size}});
  t.basic_count = 1;
  t.basic_size = size;
  t.name = name;
  t.basic_class = type_class;
}

// A value and an index behind it, laid out as C lays out a structure of both.
template <class Value, class Index>
void define_pair(MPI_Datatype type, std::string_view name) {
  struct pair {
    Value value;
    Index index;
  };
  datatype_object& t = predefined_types[value_of(type) & 0xff];
  t.kind = object_kind::datatype;
  t.size = sizeof(Value) + sizeof(Index);
  t.contiguous = t.size == sizeof(pair);
  t.committed = true;
  t.extent = sizeof(pair);
  t.true_extent = static_cast<std::ptrdiff_t>(offsetof(pair, index) + sizeof(Index));
  t.alignment = alignof(pair);
  t.where = detail::segments(
      nullptr, {},
      {{0, sizeof(Value)}, {static_cast<std::ptrdiff_t>(offsetof(pair, index)), sizeof(Index)}});
  t.basic_count = 2;
  t.basic_size = sizeof(Value) == sizeof(Index) ? sizeof(Index) : 0;
  t.name = name;
}

// No data, but a bound of what it is part of.
datatype_object& define_bound(MPI_Datatype type, std::string_view name) {
  define(type, name, 0, 1);
  datatype_object& t = predefined_types[value_of(type) & 0xff];
  t.where = {};
  t.basic_count = 0;
  return t;
}

#define DEFINE(type, c_type) define(type, #type, sizeof(c_type), alignof(c_type))
#define DEFINE_NUMBER(type, c_type, kind) define(type, #type, sizeof(c_type), alignof(c_type), kind)
#define DEFINE_SIZED(type, size, kind) define(type, #type, size, size > 16 ? 16 : size, kind)
#define DEFINE_PAIR(type, value, index) define_pair<value, index>(type, #type)

const bool defined = [] {
  DEFINE(MPI_AINT, MPI_Aint);
  DEFINE(MPI_COUNT, MPI_Count);
  DEFINE(MPI_OFFSET, MPI_Offset);
  DEFINE(MPI_PACKED, char);
  DEFINE(MPI_SHORT, short);
  DEFINE(MPI_INT, int);
  DEFINE(MPI_LONG, long);
  DEFINE(MPI_LONG_LONG_INT, long long);  // Its other name is MPI_LONG_LONG; reports use this one.
  DEFINE(MPI_UNSIGNED_SHORT, unsigned short);
  DEFINE(MPI_UNSIGNED, unsigned);
  DEFINE(MPI_UNSIGNED_LONG, unsigned long);
  DEFINE(MPI_UNSIGNED_LONG_LONG, unsigned long long);
  DEFINE(MPI_FLOAT, float);
  DEFINE(MPI_DOUBLE, double);
  DEFINE(MPI_LONG_DOUBLE, long double);
  DEFINE(MPI_C_COMPLEX, std::complex<float>);
  DEFINE(MPI_CXX_FLOAT_COMPLEX, std::complex<float>);
  DEFINE(MPI_C_DOUBLE_COMPLEX, std::complex<double>);
  DEFINE(MPI_CXX_DOUBLE_COMPLEX, std::complex<double>);
  DEFINE(MPI_C_LONG_DOUBLE_COMPLEX, std::complex<long double>);
  DEFINE(MPI_CXX_LONG_DOUBLE_COMPLEX, std::complex<long double>);
  DEFINE(MPI_C_BOOL, bool);
  DEFINE(MPI_CXX_BOOL, bool);
  DEFINE(MPI_WCHAR, wchar_t);
  DEFINE(MPI_INT8_T, std::int8_t);
  DEFINE(MPI_UINT8_T, std::uint8_t);
  DEFINE(MPI_INT16_T, std::int16_t);
  DEFINE(MPI_UINT16_T, std::uint16_t);
  DEFINE(MPI_INT32_T, std::int32_t);
  DEFINE(MPI_UINT32_T, std::uint32_t);
  DEFINE(MPI_INT64_T, std::int64_t);
  DEFINE(MPI_UINT64_T, std::uint64_t);
  DEFINE(MPI_CHAR, char);
  DEFINE(MPI_SIGNED_CHAR, signed char);
  DEFINE(MPI_UNSIGNED_CHAR, unsigned char);
  DEFINE(MPI_BYTE, unsigned char);

  // Of Fortran, as gfortran and others lay them out by default.
  DEFINE_SIZED(MPI_LOGICAL, 4, 0);
  DEFINE_SIZED(MPI_CHARACTER, 1, 0);
  DEFINE_SIZED(MPI_INTEGER, 4, 0);
  DEFINE_SIZED(MPI_REAL, 4, 0);
  DEFINE_SIZED(MPI_DOUBLE_PRECISION, 8, 0);
  DEFINE_NUMBER(MPI_COMPLEX, std::complex<float>, 0);
  DEFINE_NUMBER(MPI_DOUBLE_COMPLEX, std::complex<double>, 0);
  DEFINE_SIZED(MPI_LOGICAL1, 1, 0);
  DEFINE_SIZED(MPI_LOGICAL2, 2, 0);
  DEFINE_SIZED(MPI_LOGICAL4, 4, 0);
  DEFINE_SIZED(MPI_LOGICAL8, 8, 0);
  DEFINE_SIZED(MPI_LOGICAL16, 16, 0);
  DEFINE_SIZED(MPI_INTEGER1, 1, MPI_TYPECLASS_INTEGER);
  DEFINE_SIZED(MPI_INTEGER2, 2, MPI_TYPECLASS_INTEGER);
  DEFINE_SIZED(MPI_INTEGER4, 4, MPI_TYPECLASS_INTEGER);
  DEFINE_SIZED(MPI_INTEGER8, 8, MPI_TYPECLASS_INTEGER);
  DEFINE_SIZED(MPI_INTEGER16, 16, MPI_TYPECLASS_INTEGER);
  DEFINE_SIZED(MPI_REAL2, 2, MPI_TYPECLASS_REAL);
  DEFINE_SIZED(MPI_REAL4, 4, MPI_TYPECLASS_REAL);
  DEFINE_SIZED(MPI_REAL8, 8, MPI_TYPECLASS_REAL);
  DEFINE_SIZED(MPI_REAL16, 16, MPI_TYPECLASS_REAL);
  define(MPI_COMPLEX4, "MPI_COMPLEX4", 4, 2, MPI_TYPECLASS_COMPLEX);
  define(MPI_COMPLEX8, "MPI_COMPLEX8", 8, 4, MPI_TYPECLASS_COMPLEX);
  define(MPI_COMPLEX16, "MPI_COMPLEX16", 16, 8, MPI_TYPECLASS_COMPLEX);
  define(MPI_COMPLEX32, "MPI_COMPLEX32", 32, 16, MPI_TYPECLASS_COMPLEX);

  DEFINE_PAIR(MPI_FLOAT_INT, float, int);
  DEFINE_PAIR(MPI_DOUBLE_INT, double, int);
  DEFINE_PAIR(MPI_LONG_INT, long, int);
  DEFINE_PAIR(MPI_2INT, int, int);
  DEFINE_PAIR(MPI_SHORT_INT, short, int);
  DEFINE_PAIR(MPI_LONG_DOUBLE_INT, long double, int);
  DEFINE_PAIR(MPI_2REAL, float, float);
  DEFINE_PAIR(MPI_2DOUBLE_PRECISION, double, double);
  DEFINE_PAIR(MPI_2INTEGER, int, int);

  define_bound(MPI_LB, "MPI_LB").explicit_lower = true;
  define_bound(MPI_UB, "MPI_UB").explicit_upper = true;

  for (std::size_t i = 0; i < std::size(predefined_types); ++i)
    if (const datatype_object& t = predefined_types[i]; t.contiguous)
      predefined_sizes[i] = static_cast<std::uint8_t>(t.size);
  return true;
}();

}  // namespace
}  // namespace weft::mpi
