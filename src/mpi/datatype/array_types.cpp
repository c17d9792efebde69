// Datatypes that are parts of arrays: MPI_Type_create_subarray, MPI_Type_create_darray. Both are built
// dimension by dimension from the fastest on, straight as layouts.
#include <algorithm>
#include <span>
#include <vector>

#include "mpi/datatype/datatype_builder.hpp"

namespace weft::mpi {
namespace {

using detail::segments;
using counts = std::span<const MPI_Count>;

std::size_t unsigned_of(MPI_Count n) {
  return static_cast<std::size_t>(n);
}

void check_order(int order) {
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
    fail(MPI_ERR_ARG, "order {}: it is MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
}

// The dimensions from the fastest to the slowest.
std::vector<std::size_t> by_speed(std::size_t dimensions, int order) {
  std::vector<std::size_t> all(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i)
    all[i] = order == MPI_ORDER_FORTRAN ? i : dimensions - 1 - i;
  return all;
}

const void* displaced(std::ptrdiff_t by) {
  return reinterpret_cast<const void*>(by);
}

// `where` and what follows from it, within an array of `elements` elements of `old`.
void fill_in(datatype_object& made, const datatype_object& old, segments where,
             MPI_Count elements) {
  made.alignment = old.alignment;
  made.explicit_lower = made.explicit_upper = true;
  made.basic_size = old.basic_size;
  made.basic_count = old.size == 0 ? 0 : where.size() / old.size * old.basic_count;
  conclude_layout(made, std::move(where));
  set_bounds(made, 0, static_cast<std::ptrdiff_t>(elements) * old.extent);
}

void check_part(std::size_t dimension, MPI_Count size, MPI_Count part, MPI_Count start) {
  if (size < 1 || part < 1 || part > size || start < 0 || start > size - part)
    fail(MPI_ERR_ARG,
         "dimension {} has {} elements: a part of {} elements from element {} is not in it",
         dimension, size, part, start);
}

void subarray(state& me, counts sizes, counts parts, counts starts, int order, MPI_Datatype oldtype,
              bool large, MPI_Datatype* newtype) {
  check_not_null(newtype, "newtype");
  check_order(order);
  datatype_object& old = checked_datatype(oldtype);
  for (std::size_t d = 0; d < sizes.size(); ++d) check_part(d, sizes[d], parts[d], starts[d]);
  segments where = old.where;
  MPI_Count elements = 1;
  std::ptrdiff_t offset = 0;
  for (const std::size_t d : by_speed(sizes.size(), order)) {
    const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(elements) * old.extent;
    where = where.placed(nullptr, {unsigned_of(parts[d]), stride});
    offset += static_cast<std::ptrdiff_t>(starts[d]) * stride;
    elements *= sizes[d];
  }
  datatype_object& made = me.datatypes.make();
  fill_in(made, old, where.placed(displaced(offset), {}), elements);
  recorder how(MPI_COMBINER_SUBARRAY, large);
  how.integer(static_cast<int>(sizes.size())).numbers(sizes).numbers(parts).numbers(starts);
  made.made = how.integer(order).type(old).result();
  *newtype = handle_of(made);
}

// One dimension of an array that is shared out among processes.
struct distribution {
  MPI_Count size;       // Elements.
  int kind;             // MPI_DISTRIBUTE_...
  int argument;         // Elements of a block, or MPI_DISTRIBUTE_DFLT_DARG.
  MPI_Count processes;  // That share this dimension, and this one's place among them.
  MPI_Count place;
};

MPI_Count block_of(std::size_t dimension, const distribution& how) {
  const bool by_default = how.argument == MPI_DISTRIBUTE_DFLT_DARG;
  if (!by_default && how.argument < 1)
    fail(MPI_ERR_ARG, "dimension {} is shared out in blocks of {} elements: they have at least 1",
         dimension, how.argument);
  switch (how.kind) {
    case MPI_DISTRIBUTE_NONE:
      if (how.processes != 1)
        fail(MPI_ERR_ARG, "dimension {} is not shared out, but has {} processes: give it 1",
             dimension, how.processes);
      return how.size;
    case MPI_DISTRIBUTE_CYCLIC:
      return by_default ? 1 : how.argument;
    case MPI_DISTRIBUTE_BLOCK:
      if (by_default) return (how.size + how.processes - 1) / how.processes;
      if (how.argument * how.processes < how.size)
        fail(MPI_ERR_ARG,
             "dimension {}: {} processes with {} elements each do not hold {} elements", dimension,
             how.processes, how.argument, how.size);
      return how.argument;
    default:
      fail(MPI_ERR_ARG,
           "dimension {}: distribution {} is none of MPI_DISTRIBUTE_BLOCK, "
           "MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE",
           dimension, how.kind);
  }
}

// What this process has of a dimension whose elements are `stride` bytes apart: every
// processes * block elements a block, of which the last may be cut short.
segments share_of(const segments& element, const distribution& how, MPI_Count block,
                  std::ptrdiff_t stride) {
  const MPI_Count first = how.place * block;
  if (first >= how.size) return {};
  const MPI_Count round = how.processes * block;
  const MPI_Count whole = (how.size - first) / round;
  const MPI_Count rest = std::min(block, (how.size - first) % round);
  const auto at = [&](MPI_Count index) {
    return displaced(static_cast<std::ptrdiff_t>(index) * stride);
  };
  const auto round_stride = static_cast<std::ptrdiff_t>(round) * stride;
  const segments blocks = element.placed(at(first), {unsigned_of(block), stride})
                              .placed(nullptr, {unsigned_of(whole), round_stride});
  if (rest == 0) return blocks;
  const segments last = element.placed(at(first + whole * round), {unsigned_of(rest), stride});
  if (whole == 0) return last;
  std::vector<detail::block_run> runs;
  append(runs, blocks);
  append(runs, last);
  return segments(nullptr, {}, std::move(runs));
}

void check_place(int size, int rank, std::span<const distribution> dimensions) {
  MPI_Count processes = 1;
  for (const distribution& d : dimensions) {
    if (d.size < 1 || d.processes < 1)
      fail(MPI_ERR_ARG, "an array dimension of {} elements on {} processes: both are at least 1",
           d.size, d.processes);
    processes *= d.processes;
  }
  if (size < 1 || processes != size)
    fail(MPI_ERR_ARG, "{} processes in the grid of array_of_psizes, but size is {}", processes,
         size);
  if (rank < 0 || rank >= size)
    fail(MPI_ERR_ARG, "rank {} of an array on {} processes", rank, size);
}

void distributed(state& me, int size, int rank, std::span<distribution> dimensions, int order,
                 MPI_Datatype oldtype, bool large, MPI_Datatype* newtype) {
  check_not_null(newtype, "newtype");
  check_order(order);
  datatype_object& old = checked_datatype(oldtype);
  check_place(size, rank, dimensions);
  // Processes are numbered with the last dimension fastest, whatever the order of the array is.
  MPI_Count number = rank;
  for (std::size_t d = dimensions.size(); d-- > 0; number /= dimensions[d].processes)
    dimensions[d].place = number % dimensions[d].processes;
  segments where = old.where;
  MPI_Count elements = 1;
  for (const std::size_t d : by_speed(dimensions.size(), order)) {
    where = share_of(where, dimensions[d], block_of(d, dimensions[d]),
                     static_cast<std::ptrdiff_t>(elements) * old.extent);
    elements *= dimensions[d].size;
  }
  datatype_object& made = me.datatypes.make();
  fill_in(made, old, std::move(where), elements);
  recorder how(MPI_COMBINER_DARRAY, large);
  how.integer(size).integer(rank).integer(static_cast<int>(dimensions.size()));
  for (const distribution& d : dimensions) how.number(d.size);
  for (const distribution& d : dimensions) how.integer(d.kind);
  for (const distribution& d : dimensions) how.integer(d.argument);
  for (const distribution& d : dimensions) how.integer(static_cast<int>(d.processes));
  made.made = how.integer(order).type(old).result();
  *newtype = handle_of(made);
}

void check_dimensions(int count) {
  if (count < 1) fail(MPI_ERR_ARG, "an array of {} dimensions: it has at least 1", count);
}

template <class Number>
void subarray(state& me, int ndims, const Number* sizes, const Number* parts, const Number* starts,
              int order, MPI_Datatype oldtype, bool large, MPI_Datatype* newtype) {
  check_dimensions(ndims);
  subarray(me, widened(ndims, sizes, "array_of_sizes"), widened(ndims, parts, "array_of_subsizes"),
           widened(ndims, starts, "array_of_starts"), order, oldtype, large, newtype);
}

template <class Number>
void distributed(state& me, int size, int rank, int ndims, const Number* sizes, const int* kinds,
                 const int* arguments, const int* processes, int order, MPI_Datatype oldtype,
                 bool large, MPI_Datatype* newtype) {
  check_dimensions(ndims);
  check_not_null(sizes, "array_of_gsizes");
  check_not_null(kinds, "array_of_distribs");
  check_not_null(arguments, "array_of_dargs");
  check_not_null(processes, "array_of_psizes");
  std::vector<distribution> dimensions;
  for (int d = 0; d < ndims; ++d)
    dimensions.push_back({sizes[d], kinds[d], arguments[d], processes[d], 0});
  distributed(me, size, rank, dimensions, order, oldtype, large, newtype);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

#define SUBARRAY(Count, Address)                                          \
  int ndims, const Count *array_of_sizes, const Count *array_of_subsizes, \
      const Count *array_of_starts, int order, MPI_Datatype oldtype, MPI_Datatype *newtype
WEFT_MPI_CONSTRUCTOR(MPI_Type_create_subarray, SUBARRAY,
                     subarray(me, ndims, array_of_sizes, array_of_subsizes, array_of_starts, order,
                              oldtype, large, newtype),
                     ndims, array_of_sizes, array_of_subsizes, array_of_starts, order, oldtype,
                     newtype)

#define DARRAY(Count, Address)                                                                \
  int size, int rank, int ndims, const Count *array_of_gsizes, const int *array_of_distribs,  \
      const int *array_of_dargs, const int *array_of_psizes, int order, MPI_Datatype oldtype, \
      MPI_Datatype *newtype
WEFT_MPI_CONSTRUCTOR(MPI_Type_create_darray, DARRAY,
                     distributed(me, size, rank, ndims, array_of_gsizes, array_of_distribs,
                                 array_of_dargs, array_of_psizes, order, oldtype, large, newtype),
                     size, rank, ndims, array_of_gsizes, array_of_distribs, array_of_dargs,
                     array_of_psizes, order, oldtype, newtype)
