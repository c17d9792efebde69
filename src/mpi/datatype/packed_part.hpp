// The next part of a packed buffer of the program, for MPI_Pack and MPI_Unpack.
#pragma once
#include <cstddef>
#include <limits>
#include <span>

#include "mpi/object/state.hpp"

namespace weft::mpi {

// The bytes of `count` elements, as MPI_Pack_size returns them: MPI_UNDEFINED when Size cannot hold them.
template <class Size>
[[nodiscard]] Size told_size(MPI_Count count, std::size_t element) noexcept {
  std::size_t size = 0;
  const bool fits = !__builtin_mul_overflow(static_cast<std::size_t>(count), element, &size) &&
                    size <= static_cast<std::size_t>(std::numeric_limits<Size>::max());
  return fits ? static_cast<Size>(size) : static_cast<Size>(MPI_UNDEFINED);
}

// The `bytes` bytes from *position on; moves *position behind them. Throws `failure` when the buffer is too small;
// `asks_size` is the function that the error recommends.
template <class Position>
std::span<std::byte> next_part(const void* buffer, MPI_Count size, Position* position,
                               std::size_t bytes, const char* asks_size) {
  check_not_null(position, "position");
  if (size < 0 || *position < 0 || *position > size)
    fail(MPI_ERR_ARG, "position {} in a buffer of {} bytes", static_cast<MPI_Count>(*position),
         size);
  if (bytes > static_cast<std::size_t>(size - *position))
    fail(
        MPI_ERR_TRUNCATE,
        "{} bytes from position {} on do not fit into the {} bytes of the buffer: {} says how many "
        "are needed",
        bytes, static_cast<MPI_Count>(*position), size, asks_size);
  auto* const begin = static_cast<std::byte*>(const_cast<void*>(buffer)) + *position;
  *position = static_cast<Position>(*position + static_cast<Position>(bytes));
  return {begin, bytes};
}

}  // namespace weft::mpi
