// Datatypes made of others. Each constructor exists for int and, with _c, for MPI_Count: both end in
// one function on large counts.
#include <span>
#include <vector>

#include "mpi/datatype/datatype_builder.hpp"

namespace weft::mpi {
namespace {

void check_length(MPI_Count length) {
  if (length < 0) [[unlikely]]
    fail(MPI_ERR_ARG, "block length {} is negative", length);
}
std::size_t unsigned_of(MPI_Count count) {
  return static_cast<std::size_t>(count);
}

void contiguous(state& me, MPI_Count count, MPI_Datatype oldtype, bool large,
                MPI_Datatype* newtype) {
  check_count(count);
  check_not_null(newtype, "newtype");
  datatype_object& old = checked_datatype(oldtype);
  datatype_object& made = me.datatypes.make();
  const placement all = in_a_row(old, unsigned_of(count), 0);
  describe(made, {&all, 1});
  made.made = recorder(MPI_COMBINER_CONTIGUOUS, large).number(count).type(old).result();
  *newtype = handle_of(made);
}

// The stride is in bytes; `given` is what the program said.
void vector(state& me, MPI_Count count, MPI_Count length, MPI_Count stride, MPI_Count given,
            int combiner, MPI_Datatype oldtype, bool large, MPI_Datatype* newtype) {
  check_count(count);
  check_length(length);
  check_not_null(newtype, "newtype");
  datatype_object& old = checked_datatype(oldtype);
  datatype_object& made = me.datatypes.make();
  const placement block = in_a_row(old, unsigned_of(length), 0);
  describe(made, {&block, 1}, {unsigned_of(count), static_cast<std::ptrdiff_t>(stride)});
  recorder how(combiner, large);
  how.number(count).number(length);
  if (combiner == MPI_COMBINER_VECTOR)
    how.number(given);
  else
    how.address(given);
  made.made = how.type(old).result();
  *newtype = handle_of(made);
}

void vector_of_elements(state& me, MPI_Count count, MPI_Count length, MPI_Count stride,
                        MPI_Datatype oldtype, bool large, MPI_Datatype* newtype) {
  vector(me, count, length, stride * checked_datatype(oldtype).extent, stride, MPI_COMBINER_VECTOR,
         oldtype, large, newtype);
}

// `unit` bytes are 1 of the displacements.
std::vector<placement> blocks(const datatype_object& old, std::span<const MPI_Count> lengths,
                              std::span<const MPI_Count> displacements, std::ptrdiff_t unit) {
  std::vector<placement> parts;
  parts.reserve(displacements.size());
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    const MPI_Count length = lengths.size() == 1 ? lengths[0] : lengths[i];
    check_length(length);
    parts.push_back(
        in_a_row(old, unsigned_of(length), static_cast<std::ptrdiff_t>(displacements[i]) * unit));
  }
  return parts;
}

// Of MPI_Type_indexed and its kin: `lengths` has one for each block, or one for all of them.
void indexed(state& me, int combiner, std::span<const MPI_Count> lengths, bool one_length,
             std::span<const MPI_Count> displacements, MPI_Datatype oldtype, bool large,
             MPI_Datatype* newtype) {
  check_not_null(newtype, "newtype");
  datatype_object& old = checked_datatype(oldtype);
  const bool in_elements =
      combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_INDEXED_BLOCK;
  const std::vector<placement> parts =
      blocks(old, lengths, displacements, in_elements ? old.extent : 1);
  datatype_object& made = me.datatypes.make();
  describe(made, parts);
  recorder how(combiner, large);
  how.number(static_cast<MPI_Count>(displacements.size()));
  how.numbers(one_length ? lengths.first(1) : lengths);
  if (in_elements)
    how.numbers(displacements);
  else
    how.addresses(displacements);
  made.made = how.type(old).result();
  *newtype = handle_of(made);
}

template <class Length, class Displacement>
void indexed_list(state& me, int combiner, MPI_Count count, const Length* lengths,
                  const Displacement* displacements, MPI_Datatype oldtype, bool large,
                  MPI_Datatype* newtype) {
  check_count(count);
  indexed(me, combiner, widened(count, lengths, "array_of_blocklengths"), false,
          widened(count, displacements, "array_of_displacements"), oldtype, large, newtype);
}

template <class Displacement>
void indexed_block(state& me, int combiner, MPI_Count count, MPI_Count length,
                   const Displacement* displacements, MPI_Datatype oldtype, bool large,
                   MPI_Datatype* newtype) {
  check_count(count);
  check_length(length);
  indexed(me, combiner, {&length, 1}, true, widened(count, displacements, "array_of_displacements"),
          oldtype, large, newtype);
}

template <class Length, class Displacement>
void structure(state& me, MPI_Count count, const Length* given_lengths,
               const Displacement* given_displacements, const MPI_Datatype* types, bool large,
               MPI_Datatype* newtype) {
  check_count(count);
  check_not_null(newtype, "newtype");
  const auto lengths = widened(count, given_lengths, "array_of_blocklengths");
  const auto displacements = widened(count, given_displacements, "array_of_displacements");
  if (count > 0) check_not_null(types, "array_of_types");
  std::vector<placement> parts;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    check_length(lengths[i]);
    parts.push_back(in_a_row(checked_datatype(types[i]), unsigned_of(lengths[i]),
                             static_cast<std::ptrdiff_t>(displacements[i])));
  }
  datatype_object& made = me.datatypes.make();
  describe(made, parts);
  recorder how(MPI_COMBINER_STRUCT, large);
  how.number(count).numbers(lengths).addresses(displacements);
  for (std::size_t i = 0; i < lengths.size(); ++i) how.type(checked_datatype(types[i]));
  made.made = how.result();
  *newtype = handle_of(made);
}

void resized(state& me, MPI_Datatype oldtype, MPI_Count lower, MPI_Count extent, bool large,
             MPI_Datatype* newtype) {
  check_not_null(newtype, "newtype");
  datatype_object& old = checked_datatype(oldtype);
  datatype_object& made = make_likeness(me, old);
  made.explicit_lower = made.explicit_upper = true;
  set_bounds(made, static_cast<std::ptrdiff_t>(lower), static_cast<std::ptrdiff_t>(extent));
  made.made =
      recorder(MPI_COMBINER_RESIZED, large).address(lower).address(extent).type(old).result();
  *newtype = handle_of(made);
}

datatype_object& own_datatype(MPI_Datatype* type, const char* what) {
  check_not_null(type, "datatype");
  datatype_object& t = checked_datatype(*type);
  if (t.made == nullptr) fail(MPI_ERR_TYPE, "{} is predefined, and cannot be {}", t.name, what);
  return t;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

#define CONTIGUOUS(Count, Address) Count count, MPI_Datatype oldtype, MPI_Datatype *newtype
WEFT_MPI_CONSTRUCTOR(MPI_Type_contiguous, CONTIGUOUS,
                     contiguous(me, count, oldtype, large, newtype), count, oldtype, newtype)

#define VECTOR(Count, Address) \
  Count count, Count blocklength, Count stride, MPI_Datatype oldtype, MPI_Datatype *newtype
WEFT_MPI_CONSTRUCTOR(MPI_Type_vector, VECTOR,
                     vector_of_elements(me, count, blocklength, stride, oldtype, large, newtype),
                     count, blocklength, stride, oldtype, newtype)
#define HVECTOR(Count, Address) \
  Count count, Count blocklength, Address stride, MPI_Datatype oldtype, MPI_Datatype *newtype
WEFT_MPI_CONSTRUCTOR(MPI_Type_create_hvector, HVECTOR,
                     vector(me, count, blocklength, stride, stride, MPI_COMBINER_HVECTOR, oldtype,
                            large, newtype),
                     count, blocklength, stride, oldtype, newtype)

#define INDEXED(Count, Displacement)                                                           \
  Count count, const Count *array_of_blocklengths, const Displacement *array_of_displacements, \
      MPI_Datatype oldtype, MPI_Datatype *newtype
#define INDEXED_IN_ELEMENTS(Count, Address) INDEXED(Count, Count)
WEFT_MPI_CONSTRUCTOR(MPI_Type_indexed, INDEXED_IN_ELEMENTS,
                     indexed_list(me, MPI_COMBINER_INDEXED, count, array_of_blocklengths,
                                  array_of_displacements, oldtype, large, newtype),
                     count, array_of_blocklengths, array_of_displacements, oldtype, newtype)
WEFT_MPI_CONSTRUCTOR(MPI_Type_create_hindexed, INDEXED,
                     indexed_list(me, MPI_COMBINER_HINDEXED, count, array_of_blocklengths,
                                  array_of_displacements, oldtype, large, newtype),
                     count, array_of_blocklengths, array_of_displacements, oldtype, newtype)

#define INDEXED_BLOCK(Count, Displacement)                                    \
  Count count, Count blocklength, const Displacement *array_of_displacements, \
      MPI_Datatype oldtype, MPI_Datatype *newtype
#define INDEXED_BLOCK_IN_ELEMENTS(Count, Address) INDEXED_BLOCK(Count, Count)
WEFT_MPI_CONSTRUCTOR(MPI_Type_create_indexed_block, INDEXED_BLOCK_IN_ELEMENTS,
                     indexed_block(me, MPI_COMBINER_INDEXED_BLOCK, count, blocklength,
                                   array_of_displacements, oldtype, large, newtype),
                     count, blocklength, array_of_displacements, oldtype, newtype)
WEFT_MPI_CONSTRUCTOR(MPI_Type_create_hindexed_block, INDEXED_BLOCK,
                     indexed_block(me, MPI_COMBINER_HINDEXED_BLOCK, count, blocklength,
                                   array_of_displacements, oldtype, large, newtype),
                     count, blocklength, array_of_displacements, oldtype, newtype)

#define STRUCT(Count, Address)                                                            \
  Count count, const Count *array_of_blocklengths, const Address *array_of_displacements, \
      const MPI_Datatype *array_of_types, MPI_Datatype *newtype
WEFT_MPI_CONSTRUCTOR(MPI_Type_create_struct, STRUCT,
                     structure(me, count, array_of_blocklengths, array_of_displacements,
                               array_of_types, large, newtype),
                     count, array_of_blocklengths, array_of_displacements, array_of_types, newtype)

#define RESIZED(Count, Address) \
  MPI_Datatype oldtype, Address lb, Address extent, MPI_Datatype *newtype
WEFT_MPI_CONSTRUCTOR(MPI_Type_create_resized, RESIZED,
                     resized(me, oldtype, lb, extent, large, newtype), oldtype, lb, extent, newtype)

MPI_Datatype weft::mpi::duplicate_of(state& me, MPI_Datatype oldtype) {
  datatype_object& old = checked_datatype(oldtype);
  datatype_object& made = make_likeness(me, old);
  made.committed = old.committed;
  made.made = recorder(MPI_COMBINER_DUP, false).type(old).result();
  try {
    copy_attributes(me, oldtype, handle_of(made));
  } catch (...) {
    free_datatype(me, made);
    throw;
  }
  return handle_of(made);
}

void weft::mpi::free_datatype(state& me, datatype_object& type) {
  delete_attributes(me, handle_of(type));
  if (me.births != nullptr) me.births->ended(object_kind::datatype, &type);
  release(me, type);
}

WEFT_MPI_FUNCTION(int, MPI_Type_dup, (MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return in_call(
      "MPI_Type_dup", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newtype, "newtype");
        (void)checked_datatype(oldtype);
        *newtype = MPI_DATATYPE_NULL;
        *newtype = duplicate_of(me, oldtype);
      },
      oldtype, newtype);
}

WEFT_MPI_FUNCTION(int, MPI_Type_commit, (MPI_Datatype * datatype)) {
  return in_call(
      "MPI_Type_commit", MPI_COMM_SELF,
      [&](state&) {
        check_not_null(datatype, "datatype");
        datatype_object& t = checked_datatype(*datatype);
        if (t.made != nullptr) t.committed = true;
      },
      datatype);
}

WEFT_MPI_FUNCTION(int, MPI_Type_free, (MPI_Datatype * datatype)) {
  return in_call(
      "MPI_Type_free", MPI_COMM_SELF,
      [&](state& me) {
        datatype_object& t = own_datatype(datatype, "freed");
        if (t.basic != nullptr)
          fail(MPI_ERR_TYPE, "{} lasts as long as the library, and cannot be freed", t.name);
        free_datatype(me, t);
        *datatype = MPI_DATATYPE_NULL;
      },
      datatype);
}
