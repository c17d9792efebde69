// Copies between layouts, block by block, without a buffer between them.
#pragma once
#include <cstddef>

#include "weft/layout.hpp"

namespace weft::detail {

// Copies bytes [begin, end) of the message from the layout `from` to the layout `to`, both of at least `end` bytes. Any
// thread may copy any part: a long copy is a loop over ranges of bytes.
void copy_segments(const segments& to, const segments& from, std::size_t begin, std::size_t end);

// Whether the blocks are shorter than a cache line, on average.
[[nodiscard]] bool has_short_blocks(const segments& s) noexcept;

}  // namespace weft::detail
