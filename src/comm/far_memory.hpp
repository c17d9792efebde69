// Memory that only an accelerator reaches. A null accelerator has none.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "weft/accelerator.hpp"

namespace weft::comm {

[[nodiscard]] inline bool is_far(const accelerator* known, const void* address) noexcept {
  return known != nullptr && known->owns(address);
}

// Whether any buffer lies in the accelerator's memory. An empty buffer lies in none.
template <class Buffers>
[[nodiscard]] bool any_is_far(const accelerator* known, const Buffers& buffers) noexcept {
  return known != nullptr && std::ranges::any_of(buffers, [known](const auto& one) {
           return !one.empty() && known->owns(one.data());
         });
}

// Between either kind of memory; false when the accelerator refuses.
[[nodiscard]] inline bool copy_bytes(accelerator* known, std::byte* to, const std::byte* from,
                                     std::size_t size) noexcept {
  if (is_far(known, to) || is_far(known, from)) [[unlikely]]
    return known->copy(to, from, size);
  std::memmove(to, from, size);
  return true;
}

}  // namespace weft::comm
