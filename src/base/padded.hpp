// Vectors of data that one thread writes all the time. Their memory shares no cache line with other memory, nor the
// neighbouring line that is fetched with it.
#pragma once
#include <cstddef>
#include <new>
#include <vector>

#include "base/limits.hpp"

namespace weft {

template <class T>
struct padded_allocator {
  using value_type = T;

  padded_allocator() = default;
  template <class U>
  padded_allocator(const padded_allocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    const std::size_t bytes =
        (count * sizeof(T) + padding_bytes - 1) / padding_bytes * padding_bytes;
    return static_cast<T*>(::operator new(bytes, alignment));
  }
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory, alignment); }
  friend bool operator==(const padded_allocator&, const padded_allocator&) noexcept { return true; }

 private:
  static constexpr std::align_val_t alignment{padding_bytes};
  static_assert(alignof(T) <= padding_bytes);
};

template <class T>
using padded_vector = std::vector<T, padded_allocator<T>>;

}  // namespace weft
