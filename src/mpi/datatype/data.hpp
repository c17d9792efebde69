// The data of a call, given by buffer, count and datatype: bytes in a row, or a layout.
#pragma once
#include <span>

#include "mpi/object/state.hpp"
#include "rank/messages.hpp"

namespace weft::mpi {

[[noreturn, gnu::cold]] void fail_buffer(const void* buffer, const datatype_object& type);

// Calls use(bytes) or use(segments); the argument is valid during the call. For a receive, `use` writes the bytes.
template <class Use>
[[gnu::always_inline]] inline auto with_data(const void* buffer, MPI_Count count,
                                             const datatype_object& type, const Use& use) {
  const std::size_t size = bytes_of(count, type);
  if (type.contiguous) [[likely]] {
    if (is_no_memory(buffer) && size != 0) [[unlikely]]
      fail_buffer(buffer, type);
    return use(detail::byte_view(static_cast<const std::byte*>(buffer), size));
  }
  const detail::segments where =
      type.where.placed(buffer, {static_cast<std::size_t>(count), type.extent});
  if (where.contiguous()) return use(detail::byte_view(where.flat()));
  return use(where);
}

// Called before anything is started with the buffer.
inline void check_buffer(const void* buffer, MPI_Count count, const datatype_object& type) {
  with_data(buffer, count, type, [](const auto&) {});
}

}  // namespace weft::mpi
