// What programs ask of datatypes: sizes and extents, how they were made, names; and addresses.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "mpi/datatype/datatype_builder.hpp"
#include "mpi/object/profiling.hpp"

namespace weft::mpi {
namespace {

template <class Number>
Number fitting(std::ptrdiff_t value) noexcept {
  return value > static_cast<std::ptrdiff_t>(std::numeric_limits<Number>::max())
             ? static_cast<Number>(MPI_UNDEFINED)
             : static_cast<Number>(value);
}

template <class Number>
void tell_size(MPI_Datatype datatype, Number* size) {
  check_not_null(size, "size");
  *size = fitting<Number>(static_cast<std::ptrdiff_t>(checked_datatype(datatype).size));
}

template <class Number>
void tell_extent(MPI_Datatype datatype, Number* lower, Number* extent) {
  check_not_null(lower, "lb");
  check_not_null(extent, "extent");
  const datatype_object& t = checked_datatype(datatype);
  *lower = t.lower;
  *extent = t.extent;
}

template <class Number>
void tell_true_extent(MPI_Datatype datatype, Number* lower, Number* extent) {
  check_not_null(lower, "true_lb");
  check_not_null(extent, "true_extent");
  const datatype_object& t = checked_datatype(datatype);
  *lower = t.true_lower;
  *extent = t.true_extent;
}

const construction& construction_of(const datatype_object& t) {
  static const construction predefined;
  return t.made == nullptr ? predefined : *t.made;
}

void refuse_large(const construction& made, const char* other) {
  if (made.large) fail(MPI_ERR_TYPE, "the datatype was made with large counts: call {}", other);
}

const construction& checked_construction(MPI_Datatype datatype) {
  const datatype_object& t = checked_datatype(datatype);
  if (t.made == nullptr) fail(MPI_ERR_TYPE, "{} is predefined: it is made of nothing", t.name);
  return *t.made;
}

template <class From, class To>
void copy_list(const std::vector<From>& from, MPI_Count room, To* to, const char* what) {
  if (static_cast<MPI_Count>(from.size()) > room)
    fail(MPI_ERR_ARG,
         "{} has room for {} entries, and there are {}: MPI_Type_get_envelope says how many", what,
         room, from.size());
  if (!from.empty()) check_not_null(to, what);
  std::copy(from.begin(), from.end(), to);
}

// Handles of derived datatypes are new ones, which the program frees.
void copy_types(const construction& made, MPI_Count room, MPI_Datatype* to) {
  std::vector<MPI_Datatype> handles;
  for (datatype_object* part : made.types) {
    hold(*part);
    handles.push_back(part->made == nullptr ? predefined_handle(*part) : handle_of(*part));
  }
  copy_list(handles, room, to, "array_of_datatypes");
}

void set_name(state& me, MPI_Datatype datatype, const char* name) {
  check_not_null(name, "type_name");
  datatype_object& t = checked_datatype(datatype);
  std::string given(name, strnlen(name, MPI_MAX_OBJECT_NAME - 1));
  if (t.made == nullptr)
    me.names_of_predefined[datatype] = std::move(given);
  else
    t.name = std::move(given);
}

void get_name(state& me, MPI_Datatype datatype, char* name, int* length) {
  check_not_null(name, "type_name");
  check_not_null(length, "resultlen");
  // MPI_DATATYPE_NULL has a name, too.
  static const std::string name_of_null = "MPI_DATATYPE_NULL";
  const std::string* text =
      datatype == MPI_DATATYPE_NULL ? &name_of_null : &checked_datatype(datatype).name;
  if (const auto given = me.names_of_predefined.find(datatype);
      given != me.names_of_predefined.end())
    text = &given->second;
  std::memcpy(name, text->c_str(), text->size() + 1);
  *length = static_cast<int>(text->size());
}

const void* as_address(char* text) {
  return text;
}

MPI_Datatype matching(int type_class, int size) {
  if (type_class != MPI_TYPECLASS_INTEGER && type_class != MPI_TYPECLASS_REAL &&
      type_class != MPI_TYPECLASS_COMPLEX)
    fail(MPI_ERR_ARG,
         "type class {} is none of MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, "
         "MPI_TYPECLASS_COMPLEX",
         type_class);
  for (const datatype_object& t : predefined_types)
    if (t.basic_class == type_class && t.size == static_cast<std::size_t>(size))
      return predefined_handle(t);
  fail(MPI_ERR_ARG, "there is no such datatype of {} bytes", size);
}

MPI_Datatype pair_of(MPI_Datatype value, MPI_Datatype index) {
  struct row {
    MPI_Datatype value, index, pair;
  };
  static const row rows[] = {{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
                             {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
                             {MPI_LONG, MPI_INT, MPI_LONG_INT},
                             {MPI_INT, MPI_INT, MPI_2INT},
                             {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
                             {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
                             {MPI_REAL, MPI_REAL, MPI_2REAL},
                             {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
                             {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER}};
  for (const row& r : rows)
    if (r.value == value && r.index == index) return r.pair;
  return MPI_DATATYPE_NULL;
}

}  // namespace

MPI_Datatype predefined_handle(const datatype_object& type) noexcept {
  return reinterpret_cast<MPI_Datatype>(0x200 +
                                        static_cast<std::uintptr_t>(&type - predefined_types));
}

}  // namespace weft::mpi

using namespace weft::mpi;

#define TELL_SIZE(name, number)                                                            \
  WEFT_MPI_FUNCTION(int, name, (MPI_Datatype datatype, number * size)) {                   \
    return in_call(                                                                        \
        #name, MPI_COMM_SELF, [&](state&) { tell_size(datatype, size); }, datatype, size); \
  }
TELL_SIZE(MPI_Type_size, int)
TELL_SIZE(MPI_Type_size_c, MPI_Count)
TELL_SIZE(MPI_Type_size_x, MPI_Count)

#define TELL_EXTENT(name, number, function)                                                  \
  WEFT_MPI_FUNCTION(int, name, (MPI_Datatype datatype, number * lb, number * extent)) {      \
    return in_call(                                                                          \
        #name, MPI_COMM_SELF, [&](state&) { function(datatype, lb, extent); }, datatype, lb, \
        extent);                                                                             \
  }
TELL_EXTENT(MPI_Type_get_extent, MPI_Aint, tell_extent)
TELL_EXTENT(MPI_Type_get_extent_c, MPI_Count, tell_extent)
TELL_EXTENT(MPI_Type_get_extent_x, MPI_Count, tell_extent)
TELL_EXTENT(MPI_Type_get_true_extent, MPI_Aint, tell_true_extent)
TELL_EXTENT(MPI_Type_get_true_extent_c, MPI_Count, tell_true_extent)
TELL_EXTENT(MPI_Type_get_true_extent_x, MPI_Count, tell_true_extent)

WEFT_MPI_FUNCTION(int, MPI_Type_get_envelope,
                  (MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes,
                   int* combiner)) {
  return in_call(
      "MPI_Type_get_envelope", MPI_COMM_SELF,
      [&](state&) {
        const construction& made = construction_of(checked_datatype(datatype));
        refuse_large(made, "MPI_Type_get_envelope_c");
        *num_integers = static_cast<int>(made.integers.size());
        *num_addresses = static_cast<int>(made.addresses.size());
        *num_datatypes = static_cast<int>(made.types.size());
        *combiner = made.combiner;
      },
      datatype, num_integers, num_addresses, num_datatypes, combiner);
}
WEFT_MPI_FUNCTION(int, MPI_Type_get_envelope_c,
                  (MPI_Datatype datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                   MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner)) {
  return in_call(
      "MPI_Type_get_envelope_c", MPI_COMM_SELF,
      [&](state&) {
        const construction& made = construction_of(checked_datatype(datatype));
        *num_integers = static_cast<MPI_Count>(made.integers.size());
        *num_addresses = static_cast<MPI_Count>(made.addresses.size());
        *num_large_counts = static_cast<MPI_Count>(made.counts.size());
        *num_datatypes = static_cast<MPI_Count>(made.types.size());
        *combiner = made.combiner;
      },
      datatype, num_integers, num_addresses, num_large_counts, num_datatypes, combiner);
}

WEFT_MPI_FUNCTION(int, MPI_Type_get_contents,
                  (MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                   int* array_of_integers, MPI_Aint* array_of_addresses,
                   MPI_Datatype* array_of_datatypes)) {
  return in_call(
      "MPI_Type_get_contents", MPI_COMM_SELF,
      [&](state&) {
        const construction& made = checked_construction(datatype);
        refuse_large(made, "MPI_Type_get_contents_c");
        copy_list(made.integers, max_integers, array_of_integers, "array_of_integers");
        copy_list(made.addresses, max_addresses, array_of_addresses, "array_of_addresses");
        copy_types(made, max_datatypes, array_of_datatypes);
      },
      datatype, max_integers, max_addresses, max_datatypes, array_of_integers, array_of_addresses,
      array_of_datatypes);
}
WEFT_MPI_FUNCTION(int, MPI_Type_get_contents_c,
                  (MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                   MPI_Count max_large_counts, MPI_Count max_datatypes, int* array_of_integers,
                   MPI_Aint* array_of_addresses, MPI_Count* array_of_large_counts,
                   MPI_Datatype* array_of_datatypes)) {
  return in_call(
      "MPI_Type_get_contents_c", MPI_COMM_SELF,
      [&](state&) {
        const construction& made = checked_construction(datatype);
        copy_list(made.integers, max_integers, array_of_integers, "array_of_integers");
        copy_list(made.addresses, max_addresses, array_of_addresses, "array_of_addresses");
        copy_list(made.counts, max_large_counts, array_of_large_counts, "array_of_large_counts");
        copy_types(made, max_datatypes, array_of_datatypes);
      },
      datatype, max_integers, max_addresses, max_large_counts, max_datatypes, array_of_integers,
      array_of_addresses, array_of_large_counts, array_of_datatypes);
}

WEFT_MPI_FUNCTION(int, MPI_Type_set_name, (MPI_Datatype datatype, const char* type_name)) {
  return in_call(
      "MPI_Type_set_name", MPI_COMM_SELF, [&](state& me) { set_name(me, datatype, type_name); },
      datatype, type_name);
}
WEFT_MPI_FUNCTION(int, MPI_Type_get_name,
                  (MPI_Datatype datatype, char* type_name, int* resultlen)) {
  return in_call(
      "MPI_Type_get_name", MPI_COMM_SELF,
      [&](state& me) { get_name(me, datatype, type_name, resultlen); }, datatype,
      as_address(type_name), resultlen);
}

WEFT_MPI_FUNCTION(int, MPI_Type_match_size, (int typeclass, int size, MPI_Datatype* datatype)) {
  return in_call(
      "MPI_Type_match_size", MPI_COMM_SELF,
      [&](state&) {
        check_not_null(datatype, "datatype");
        *datatype = matching(typeclass, size);
      },
      typeclass, size, datatype);
}
WEFT_MPI_FUNCTION(int, MPI_Type_get_value_index,
                  (MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype* pair_type)) {
  return in_call(
      "MPI_Type_get_value_index", MPI_COMM_SELF,
      [&](state&) {
        check_not_null(pair_type, "pair_type");
        (void)checked_datatype(value_type);
        (void)checked_datatype(index_type);
        *pair_type = pair_of(value_type, index_type);
      },
      value_type, index_type, pair_type);
}

// --- Addresses -----------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Get_address, (const void* location, MPI_Aint* address)) {
  return in_call(
      "MPI_Get_address", MPI_COMM_SELF,
      [&](state&) {
        check_not_null(address, "address");
        *address = reinterpret_cast<MPI_Aint>(location);
      },
      location, address);
}
WEFT_MPI_FUNCTION(MPI_Aint, MPI_Aint_add, (MPI_Aint base, MPI_Aint disp)) {
  return base + disp;
}
WEFT_MPI_FUNCTION(MPI_Aint, MPI_Aint_diff, (MPI_Aint addr1, MPI_Aint addr2)) {
  return addr1 - addr2;
}
