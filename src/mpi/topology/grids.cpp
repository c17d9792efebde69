// Cartesian topologies.
#include <algorithm>
#include <functional>
#include <numeric>

#include "collective/new_communicators.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "mpi/topology/reordering.hpp"
#include "mpi/topology/topology.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

int size_of(const std::vector<int>& dims) {
  return std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>{});
}

std::vector<int> coordinates_of(const topology& t, int rank) {
  std::vector<int> at(t.dims.size());
  for (std::size_t d = t.dims.size(); d-- > 0;) {
    at[d] = rank % t.dims[d];
    rank /= t.dims[d];
  }
  return at;
}

// The rank at these coordinates; MPI_PROC_NULL when they lie beyond an edge of the grid.
int rank_at(const topology& t, const std::vector<int>& at) {
  int rank = 0;
  for (std::size_t d = 0; d < t.dims.size(); ++d) {
    int x = at[d];
    if (t.periods[d] != 0)
      x = (x % t.dims[d] + t.dims[d]) % t.dims[d];
    else if (x < 0 || x >= t.dims[d])
      return MPI_PROC_NULL;
    rank = rank * t.dims[d] + x;
  }
  return rank;
}

int rank_beside(const topology& t, int rank, int direction, long steps) {
  std::vector<int> at = coordinates_of(t, rank);
  const auto d = static_cast<std::size_t>(direction);
  const long x = at[d] + steps;
  if (t.periods[d] != 0)
    at[d] = static_cast<int>((x % t.dims[d] + t.dims[d]) % t.dims[d]);
  else if (x < 0 || x >= t.dims[d])
    return MPI_PROC_NULL;
  else
    at[d] = static_cast<int>(x);
  return rank_at(t, at);
}

// In each dimension data that move down have one tag, and data that move up another. So a rank receives from its neighbour
// below with the tag of data that move up.
void set_grid_neighbors(topology& t, int rank) {
  for (int d = 0; d < static_cast<int>(t.dims.size()); ++d) {
    const int below = rank_beside(t, rank, d, -1);
    const int above = rank_beside(t, rank, d, 1);
    t.sources.push_back({below, 2 * d + 1});
    t.sources.push_back({above, 2 * d});
    t.destinations.push_back({below, 2 * d});
    t.destinations.push_back({above, 2 * d + 1});
  }
}

std::vector<int> checked_dims(int ndims, const int dims[]) {
  if (ndims < 0) fail(MPI_ERR_DIMS, "ndims is {}: it is 0 or more", ndims);
  if (ndims > 0) check_not_null(dims, "dims");
  std::vector<int> sizes(dims, dims + ndims);
  for (int d = 0; d < ndims; ++d)
    if (sizes[static_cast<std::size_t>(d)] <= 0)
      fail(MPI_ERR_DIMS, "dims[{}] is {}: it is 1 or more", d, sizes[static_cast<std::size_t>(d)]);
  return sizes;
}

// Throws when the grid has more ranks than the communicator.
void check_grid(const communicator_object& c, const std::vector<int>& dims) {
  long size = 1;
  for (const int n : dims)
    if ((size *= n) > c.peers_count)
      fail(MPI_ERR_DIMS, "the grid has more ranks than the communicator, which has {}",
           c.peers_count);
}

// The rank that the caller gets in the grid; MPI_UNDEFINED: none.
int place_in(const state& me, const communicator_object& c, const std::vector<int>& dims,
             const std::vector<int>& periods, bool reorder) {
  const int size = size_of(dims);
  if (c.own >= size) return MPI_UNDEFINED;
  return reorder ? new_place(me, c, size, {dims, periods, {}}) : c.own;
}

std::vector<int> checked_periods(int ndims, const int periods[]) {
  if (ndims > 0) check_not_null(periods, "periods");
  std::vector<int> all(periods, periods + ndims);
  for (int& p : all) p = p != 0 ? 1 : 0;
  return all;
}

MPI_Comm create_grid(state& me, MPI_Comm comm, int ndims, const int dims[], const int periods[],
                     bool reorder) {
  communicator_object& c = checked_intracommunicator(me, comm);
  auto t = std::make_shared<topology>();
  t->kind = MPI_CART;
  t->dims = checked_dims(ndims, dims);
  check_grid(c, t->dims);
  t->periods = checked_periods(ndims, periods);
  const int place = place_in(me, c, t->dims, t->periods, reorder);
  if (place != MPI_UNDEFINED) set_grid_neighbors(*t, place);
  return add_with_topology(me, c, place, "MPI_Cart_create", t);
}

MPI_Comm create_sub_grid(state& me, MPI_Comm comm, const int remain_dims[]) {
  const topology& t = checked_topology(me, comm, MPI_CART);
  communicator_object& c = checked_communicator(me, comm);
  if (!t.dims.empty()) check_not_null(remain_dims, "remain_dims");
  auto sub = std::make_shared<topology>();
  sub->kind = MPI_CART;
  const std::vector<int> at = coordinates_of(t, c.own);
  int color = 0;
  int place = 0;
  for (std::size_t d = 0; d < t.dims.size(); ++d) {
    int& where = remain_dims[d] != 0 ? place : color;
    where = where * t.dims[d] + at[d];
    if (remain_dims[d] == 0) continue;
    sub->dims.push_back(t.dims[d]);
    sub->periods.push_back(t.periods[d]);
  }
  set_grid_neighbors(*sub, place);
  const MPI_Comm made =
      add_communicator(me, split(*c.shared, c.own, color, place, "MPI_Cart_sub"), c);
  find_object<communicator_object>(made)->topology = sub;
  return made;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Cart_create,
                  (MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                   MPI_Comm* comm_cart)) {
  return in_call(
      "MPI_Cart_create", comm_old,
      [&](state& me) {
        check_not_null(comm_cart, "comm_cart");
        *comm_cart = MPI_COMM_NULL;
        *comm_cart = create_grid(me, comm_old, ndims, dims, periods, reorder != 0);
      },
      comm_old, ndims, static_cast<const void*>(dims), static_cast<const void*>(periods), reorder);
}

WEFT_MPI_FUNCTION(int, MPI_Cartdim_get, (MPI_Comm comm, int* ndims)) {
  return in_call(
      "MPI_Cartdim_get", comm,
      [&](state& me) {
        check_not_null(ndims, "ndims");
        *ndims = static_cast<int>(checked_topology(me, comm, MPI_CART).dims.size());
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_get,
                  (MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])) {
  return in_call(
      "MPI_Cart_get", comm,
      [&](state& me) {
        const topology& t = checked_topology(me, comm, MPI_CART);
        const std::vector<int> at = coordinates_of(t, checked_communicator(me, comm).own);
        const auto count =
            std::min<std::size_t>(t.dims.size(), static_cast<std::size_t>(std::max(maxdims, 0)));
        if (count != 0) {
          check_not_null(dims, "dims");
          check_not_null(periods, "periods");
          check_not_null(coords, "coords");
        }
        for (std::size_t d = 0; d < count; ++d) {
          dims[d] = t.dims[d];
          periods[d] = t.periods[d] != 0;
          coords[d] = at[d];
        }
      },
      comm, maxdims);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_rank, (MPI_Comm comm, const int coords[], int* rank)) {
  return in_call(
      "MPI_Cart_rank", comm,
      [&](state& me) {
        check_not_null(rank, "rank");
        const topology& t = checked_topology(me, comm, MPI_CART);
        if (!t.dims.empty()) check_not_null(coords, "coords");
        for (std::size_t d = 0; d < t.dims.size(); ++d)
          if (t.periods[d] == 0 && (coords[d] < 0 || coords[d] >= t.dims[d]))
            fail(MPI_ERR_ARG, "coords[{}] is {}: the dimension is not periodic and has 0 to {}", d,
                 coords[d], t.dims[d] - 1);
        *rank = rank_at(t, {coords, coords + t.dims.size()});
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_coords, (MPI_Comm comm, int rank, int maxdims, int coords[])) {
  return in_call(
      "MPI_Cart_coords", comm,
      [&](state& me) {
        const topology& t = checked_topology(me, comm, MPI_CART);
        check_member(checked_communicator(me, comm), rank);
        const std::vector<int> at = coordinates_of(t, rank);
        if (static_cast<std::size_t>(std::max(maxdims, 0)) < at.size())
          fail(MPI_ERR_ARG, "maxdims is {}: the grid has {} dimensions", maxdims, at.size());
        if (!at.empty()) check_not_null(coords, "coords");
        std::copy(at.begin(), at.end(), coords);
      },
      comm, rank, maxdims);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_shift,
                  (MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest)) {
  return in_call(
      "MPI_Cart_shift", comm,
      [&](state& me) {
        check_not_null(rank_source, "rank_source");
        check_not_null(rank_dest, "rank_dest");
        const topology& t = checked_topology(me, comm, MPI_CART);
        if (direction < 0 || static_cast<std::size_t>(direction) >= t.dims.size())
          fail(MPI_ERR_DIMS, "direction {}: the grid has dimensions 0 to {}", direction,
               static_cast<int>(t.dims.size()) - 1);
        const int own = checked_communicator(me, comm).own;
        *rank_source = rank_beside(t, own, direction, -static_cast<long>(disp));
        *rank_dest = rank_beside(t, own, direction, disp);
      },
      comm, direction, disp);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_sub, (MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Cart_sub", comm,
      [&](state& me) {
        check_not_null(newcomm, "newcomm");
        *newcomm = MPI_COMM_NULL;
        *newcomm = create_sub_grid(me, comm, remain_dims);
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_map,
                  (MPI_Comm comm, int ndims, const int dims[], const int periods[], int* newrank)) {
  return in_call(
      "MPI_Cart_map", comm,
      [&](state& me) {
        check_not_null(newrank, "newrank");
        const communicator_object& c = checked_intracommunicator(me, comm);
        const std::vector<int> sizes = checked_dims(ndims, dims);
        check_grid(c, sizes);
        *newrank = place_in(me, c, sizes, checked_periods(ndims, periods), true);
      },
      comm, ndims, static_cast<const void*>(dims), static_cast<const void*>(periods));
}
