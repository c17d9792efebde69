// MPI_Dims_create: ranks shared out to the dimensions of a grid, as equally as can be.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

std::vector<int> divisors_of(int n) {
  std::vector<int> low, high;
  for (long d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(static_cast<int>(d));
    if (d * d != n) high.push_back(static_cast<int>(n / d));
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// base to the power of exponent, but at most one more than the largest int: it is only compared with ints.
long power(int base, int exponent) {
  constexpr long enough = std::numeric_limits<int>::max() + 1L;
  long product = 1;
  for (int i = 0; i < exponent && product < enough && base > 1; ++i) product *= base;
  return std::min(product, enough);
}

// The largest number whose power of `exponent` is no more than n.
int root(int n, int exponent) {
  int r = static_cast<int>(std::pow(n, 1.0 / exponent)) + 1;
  while (power(r, exponent) > n) --r;
  return r;
}

// Whether factorization `a` is to be chosen before `b`; both are in descending order. First the one whose first and last
// factor differ less, then the one with the smaller sum, then the one with the larger first factor. Other MPI libraries
// choose the same.
bool more_equal(const std::vector<int>& a, const std::vector<int>& b) {
  const int spread_of_a = a.front() - a.back(), spread_of_b = b.front() - b.back();
  if (spread_of_a != spread_of_b) return spread_of_a < spread_of_b;
  const int sum_of_a = std::accumulate(a.begin(), a.end(), 0);
  const int sum_of_b = std::accumulate(b.begin(), b.end(), 0);
  return sum_of_a != sum_of_b ? sum_of_a < sum_of_b : a > b;
}

void choose_dims(int nnodes, int ndims, int dims[]) {
  if (nnodes < 1) fail(MPI_ERR_ARG, "nnodes is {}: it is 1 or more", nnodes);
  if (ndims < 0) fail(MPI_ERR_DIMS, "ndims is {}: it is 0 or more", ndims);
  if (ndims > 0) check_not_null(dims, "dims");
  long given = 1;
  int open = 0;
  for (int d = 0; d < ndims; ++d) {
    if (dims[d] < 0) fail(MPI_ERR_DIMS, "dims[{}] is {}: it is 0 or more", d, dims[d]);
    if (dims[d] == 0)
      ++open;
    else if (given <= nnodes)  // Once it is larger, it stays so: the product of all might overflow.
      given *= dims[d];
  }
  if (nnodes % given != 0 || (open == 0 && given != nnodes))
    fail(MPI_ERR_DIMS, "{} ranks cannot be shared out to the dimensions given, which hold {}{}",
         nnodes, given, given > nnodes ? " or more" : "");
  if (open == 0) return;
  // The first factor ascends, so that the last one can only get smaller.
  const int rest = static_cast<int>(nnodes / given);
  const std::vector<int> divisors = divisors_of(rest);
  std::vector<int> best, factors;
  const std::function<void(int, int, int)> try_all = [&](int left, int places, int most) {
    if (places == 1) {
      if (left > most) return;
      factors.push_back(left);
      if (best.empty() || more_equal(factors, best)) best = factors;
      factors.pop_back();
      return;
    }
    for (const int f : divisors) {
      if (f > most || f > left) break;
      if (left % f != 0 || power(f, places) < left) continue;
      const int first = factors.empty() ? f : factors.front();
      if (!best.empty() && first - root(left / f, places - 1) > best.front() - best.back()) break;
      factors.push_back(f);
      try_all(left / f, places - 1, f);
      factors.pop_back();
    }
  };
  try_all(rest, open, rest);
  for (int d = 0, next = 0; d < ndims; ++d)
    if (dims[d] == 0) dims[d] = best[static_cast<std::size_t>(next++)];
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Dims_create, (int nnodes, int ndims, int dims[])) {
  return in_call(
      "MPI_Dims_create", MPI_COMM_SELF, [&](state&) { choose_dims(nnodes, ndims, dims); }, nnodes,
      ndims);
}
