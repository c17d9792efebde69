// The data of a call, given by buffer, count and datatype: bytes in a row, or a layout.
#pragma once
#include <cstddef>
#include <cstdint>
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

// Calls visit(address, bytes) for each block of a layout, in the order of its bytes.
template <class Visit>
void each_block(const detail::segments& s, const Visit& visit) {
  if (s.size() == 0) return;
  if (s.contiguous()) return visit(s.flat().data(), s.size());
  for (std::size_t pass = 0; pass < s.all().count; ++pass)
    for (const detail::block_run& run : s.runs())
      for (std::size_t m = 0; m < run.middle.count; ++m)
        for (std::size_t i = 0; i < run.inner.count; ++i)
          if (run.block != 0)
            visit(reinterpret_cast<std::byte*>(s.base() + static_cast<std::uintptr_t>(run.offset) +
                                               pass * static_cast<std::uintptr_t>(s.all().stride) +
                                               m * static_cast<std::uintptr_t>(run.middle.stride) +
                                               i * static_cast<std::uintptr_t>(run.inner.stride)),
                  run.block);
}

// Called before anything is started with the buffer.
inline void check_buffer(const void* buffer, MPI_Count count, const datatype_object& type) {
  with_data(buffer, count, type, [](const auto&) {});
}

}  // namespace weft::mpi
