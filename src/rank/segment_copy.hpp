// Copies between layouts, block by block, without a buffer between them.
#pragma once
#include <cstddef>

#include "weft/layout.hpp"

namespace weft::detail {

// Bytes [begin, end) of the message: from where `from` has them to where `to` wants them. Both are
// at least `end` bytes. Any part can be copied by anybody: a long copy is shared by its bytes.
void copy_segments(const segments& to, const segments& from, std::size_t begin, std::size_t end);

// Whether the blocks are shorter than a cache line, on average.
[[nodiscard]] bool has_short_blocks(const segments& s) noexcept;

}  // namespace weft::detail
