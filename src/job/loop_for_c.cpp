// Loops for programs in C.
#include "weft/loop.h"

#include <cstddef>

#include "weft/loop.hpp"

extern "C" void weft_parallel_for_grain(std::size_t begin, std::size_t end, std::size_t grain,
                                        int stealable, weft_chunk* body, void* argument) {
  weft::parallel_for(begin, end, [&](weft::range_1d part) { body(part.begin, part.end, argument); },
                     {.grain = grain, .stealable = stealable != 0});
}

extern "C" void weft_parallel_for(std::size_t begin, std::size_t end, weft_chunk* body,
                                  void* argument) {
  weft_parallel_for_grain(begin, end, 0, 1, body, argument);
}

extern "C" std::size_t weft_aligned_border(const void* array, std::size_t size, std::size_t count,
                                           std::size_t chunk, std::size_t chunks) {
  if (chunk >= chunks) return count;
  // An element belongs to the chunk that its first byte lies in.
  const auto byte_view =
      weft::aligned_range(static_cast<const std::byte*>(array), count * size, chunk, chunks);
  return (byte_view.begin + size - 1) / size;
}
