// Symmetric addresses of a PE: which region of rma an address lies in, and how far behind the begin of the PE's own part.
// The same place at another PE is that far behind the begin of its part. Regions are the symmetric heap, and the globals
// of the program and of its private libraries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rma/region.hpp"

namespace weft::shmem {

class symmetric_addresses {
 public:
  // Throws weft::error when the PEs' parts of a region differ.
  void set(const rma::region& heap, std::vector<const rma::region*> globals);

  [[nodiscard]] std::span<std::byte> heap() const noexcept {
    return {reinterpret_cast<std::byte*>(heap_begin_), heap_bytes_};
  }
  // Large pages may lie in this part of the heap.
  void allow_large_pages(std::size_t begin, std::size_t end) const noexcept {
    heap_->allow_large_pages(heap().subspan(begin, end - begin));
  }
  // Whether loads and stores of this PE reach the heap of that one.
  [[nodiscard]] bool reaches_heap_of(int pe) const noexcept { return heap_bases_[pe] != nullptr; }
  // Returns where loads and stores of this PE reach so many elements at that one, whose bytes together may be more than a number
  // holds. Null: they do not, or the elements do not lie in one region.
  [[nodiscard, gnu::always_inline]] std::byte* reached(const void* address, std::size_t count,
                                                       std::size_t element, int pe) const noexcept {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address) - heap_begin_;
    if (at < heap_bytes_ && count <= (heap_bytes_ - at) / element) [[likely]] {
      std::byte* const base = heap_bases_[pe];
      return base != nullptr ? base + at : nullptr;
    }
    if (count > std::size_t{1} << 48) [[unlikely]]
      return nullptr;
    return reached_global(address, count * element, pe);
  }
  // Returns the location of so many bytes at that PE, in no region when not all of them are symmetric.
  [[nodiscard]] rma::location find(const void* address, std::size_t bytes, int pe) const noexcept {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address) - heap_begin_;
    if (at < heap_bytes_ && bytes <= heap_bytes_ - at) [[likely]]
      return {heap_, pe, at};
    return find_global(address, bytes, pe);
  }
  [[nodiscard]] bool has(const void* address, std::size_t bytes = 1) const noexcept {
    return find(address, bytes, 0).in != nullptr;
  }
  // Returns the location at that PE. The address is symmetric.
  [[nodiscard]] rma::location at(const void* address, int pe) const noexcept {
    return find(address, 1, pe);
  }
  // Returns a number that is the same on all PEs, and one more for the next byte. Reports and traces name words by it.
  [[nodiscard]] std::uint64_t name_of(const void* address) const noexcept;

 private:
  [[nodiscard, gnu::noinline]] rma::location find_global(const void* address, std::size_t bytes,
                                                         int pe) const noexcept;
  [[nodiscard, gnu::noinline]] std::byte* reached_global(const void* address, std::size_t bytes,
                                                         int pe) const noexcept;

  // Each access reads these.
  std::uintptr_t heap_begin_ = 0;
  std::size_t heap_bytes_ = 0;
  std::byte* const* heap_bases_ = nullptr;
  const rma::region* heap_ = nullptr;
  std::vector<const rma::region*> globals_;
};

}  // namespace weft::shmem
