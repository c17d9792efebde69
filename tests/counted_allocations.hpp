// Counts what a test program takes from the heap by any form of `new`, and refuses it on demand. Included
// by one source file of a program: it replaces the operators of the whole program.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace weft::tests {

inline std::atomic<long> allocations{0};  // Of all threads, since the start.
inline std::atomic<std::size_t> allocated_bytes{0};
inline std::atomic<std::size_t> allocation_bytes_max{
    ~std::size_t{0}};  // There is no memory for more.

inline void* counted_allocation(std::size_t size, std::align_val_t alignment) noexcept {
  if (size > allocation_bytes_max) return nullptr;
  ++allocations;
  allocated_bytes += size;
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (size + unit) / unit * unit);  // Never nothing at all.
}
inline void* counted_or_throw(std::size_t size, std::align_val_t alignment) {
  if (void* const made = counted_allocation(size, alignment); made != nullptr) return made;
  throw std::bad_alloc();
}
inline constexpr std::align_val_t usual{__STDCPP_DEFAULT_NEW_ALIGNMENT__};

}  // namespace weft::tests

// Not inlined: the compiler would take the pair of a `new` and a free() for a mistake.
#define WEFT_REPLACED [[gnu::noinline]]
WEFT_REPLACED void* operator new(std::size_t size) {
  return weft::tests::counted_or_throw(size, weft::tests::usual);
}
WEFT_REPLACED void* operator new[](std::size_t size) {
  return weft::tests::counted_or_throw(size, weft::tests::usual);
}
WEFT_REPLACED void* operator new(std::size_t size, std::align_val_t alignment) {
  return weft::tests::counted_or_throw(size, alignment);
}
WEFT_REPLACED void* operator new[](std::size_t size, std::align_val_t alignment) {
  return weft::tests::counted_or_throw(size, alignment);
}
WEFT_REPLACED void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return weft::tests::counted_allocation(size, weft::tests::usual);
}
WEFT_REPLACED void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return weft::tests::counted_allocation(size, weft::tests::usual);
}
WEFT_REPLACED void* operator new(std::size_t size, std::align_val_t alignment,
                                 const std::nothrow_t&) noexcept {
  return weft::tests::counted_allocation(size, alignment);
}
WEFT_REPLACED void* operator new[](std::size_t size, std::align_val_t alignment,
                                   const std::nothrow_t&) noexcept {
  return weft::tests::counted_allocation(size, alignment);
}
WEFT_REPLACED void operator delete(void* freed) noexcept {
  std::free(freed);
}
WEFT_REPLACED void operator delete[](void* freed) noexcept {
  std::free(freed);
}
WEFT_REPLACED void operator delete(void* freed, std::size_t) noexcept {
  std::free(freed);
}
WEFT_REPLACED void operator delete[](void* freed, std::size_t) noexcept {
  std::free(freed);
}
WEFT_REPLACED void operator delete(void* freed, std::align_val_t) noexcept {
  std::free(freed);
}
WEFT_REPLACED void operator delete[](void* freed, std::align_val_t) noexcept {
  std::free(freed);
}
WEFT_REPLACED void operator delete(void* freed, std::size_t, std::align_val_t) noexcept {
  std::free(freed);
}
WEFT_REPLACED void operator delete[](void* freed, std::size_t, std::align_val_t) noexcept {
  std::free(freed);
}
WEFT_REPLACED void operator delete(void* freed, const std::nothrow_t&) noexcept {
  std::free(freed);
}
WEFT_REPLACED void operator delete[](void* freed, const std::nothrow_t&) noexcept {
  std::free(freed);
}
#undef WEFT_REPLACED
