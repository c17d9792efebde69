// MPIX_Type_iov and MPIX_Type_iov_len: a datatype as a list of blocks.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "mpi/object/datatype.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

using detail::block_run;
using detail::segments;

std::uint64_t blocks_of(const block_run& run) {
  return run.block == 0 ? 0 : std::uint64_t{run.inner.count} * run.middle.count;
}

// Of one pass over the list of runs: there are where.all().count.
std::uint64_t blocks_of_pass(const segments& where) {
  std::uint64_t blocks = 0;
  for (const block_run& run : where.runs()) blocks += blocks_of(run);
  return blocks;
}

std::uint64_t block_count(const segments& where) {
  return where.size() == 0 ? 0 : blocks_of_pass(where) * where.all().count;
}

// Where block `number` of the run lies in the first pass, from the base.
std::ptrdiff_t place_of(const block_run& run, std::uint64_t number) {
  const auto in_row = static_cast<std::ptrdiff_t>(number % run.inner.count);
  const auto row = static_cast<std::ptrdiff_t>(number / run.inner.count);
  return run.offset + row * run.middle.stride + in_row * run.inner.stride;
}

struct counted_blocks {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

counted_blocks blocks_within(const segments& where, std::uint64_t bytes_max) {
  if (where.size() <= bytes_max) return {block_count(where), where.size()};
  const std::uint64_t passes = bytes_max / where.period();
  counted_blocks found{passes * blocks_of_pass(where), passes * where.period()};
  for (const block_run& run : where.runs()) {
    const std::uint64_t all = blocks_of(run);
    if (all == 0) continue;
    const std::uint64_t fit = std::min(all, (bytes_max - found.bytes) / run.block);
    found.blocks += fit;
    found.bytes += fit * run.block;
    if (fit < all) break;
  }
  return found;
}

// `count` blocks from `first` on, which are there.
void list_blocks(const segments& where, std::uint64_t first, MPIX_Iov* into, std::uint64_t count) {
  if (count == 0) return;
  const std::uint64_t in_pass = blocks_of_pass(where);
  auto pass = static_cast<std::ptrdiff_t>(first / in_pass);
  first %= in_pass;
  for (; count != 0; ++pass) {
    const auto from = static_cast<std::ptrdiff_t>(where.base()) + pass * where.all().stride;
    for (const block_run& run : where.runs()) {
      const std::uint64_t all = blocks_of(run);
      for (; first < all && count != 0; ++first, --count) {
        into->iov_base = reinterpret_cast<void*>(from + place_of(run, first));
        into->iov_len = static_cast<MPI_Aint>(run.block);
        ++into;
      }
      first -= std::min(first, all);
    }
  }
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPIX_Type_iov_len,
                  (MPI_Datatype datatype, MPI_Count max_iov_bytes, MPI_Count* iov_len,
                   MPI_Count* actual_iov_bytes)) {
  return in_call(
      "MPIX_Type_iov_len", MPI_COMM_SELF,
      [&](state&) {
        const datatype_object& type = checked_datatype(datatype);
        check_not_null(iov_len, "iov_len");
        check_not_null(actual_iov_bytes, "actual_iov_bytes");
        if (max_iov_bytes < -1)
          fail(MPI_ERR_ARG, "max_iov_bytes is {}: it is 0 or more, or -1 for all", max_iov_bytes);
        const counted_blocks found = blocks_within(
            type.where, max_iov_bytes == -1 ? std::numeric_limits<std::uint64_t>::max()
                                            : static_cast<std::uint64_t>(max_iov_bytes));
        *iov_len = static_cast<MPI_Count>(found.blocks);
        *actual_iov_bytes = static_cast<MPI_Count>(found.bytes);
      },
      datatype, static_cast<long>(max_iov_bytes));
}

WEFT_MPI_FUNCTION(int, MPIX_Type_iov,
                  (MPI_Datatype datatype, MPI_Count iov_offset, MPIX_Iov* iov,
                   MPI_Count max_iov_len, MPI_Count* actual_iov_len)) {
  return in_call(
      "MPIX_Type_iov", MPI_COMM_SELF,
      [&](state&) {
        const datatype_object& type = checked_datatype(datatype);
        check_not_null(actual_iov_len, "actual_iov_len");
        if (iov_offset < 0)
          fail(MPI_ERR_ARG, "iov_offset is {}: blocks are counted from 0", iov_offset);
        if (max_iov_len < 0) fail(MPI_ERR_ARG, "max_iov_len is {}: it is 0 or more", max_iov_len);
        const weft::detail::segments& where = type.where;
        const std::uint64_t all = block_count(where);
        const auto first = std::min(static_cast<std::uint64_t>(iov_offset), all);
        const auto count = std::min(static_cast<std::uint64_t>(max_iov_len), all - first);
        if (count != 0) check_not_null(iov, "iov");
        list_blocks(where, first, iov, count);
        *actual_iov_len = static_cast<MPI_Count>(count);
      },
      datatype, static_cast<long>(iov_offset), static_cast<const void*>(iov),
      static_cast<long>(max_iov_len));
}
