// The memory in which the heaps of a process's ranks lie, and the signs of its workers. In a job of several processes
// it is a file without a name (memfd), which the others of the node map.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/limits.hpp"
#include "sync/memory_watch.hpp"

namespace weft::rma {

// What an arena looks like, the same for whoever maps it.
struct arena_layout {
  std::uint32_t workers = 0;
  std::uint32_t ranks = 0;
  std::uint64_t heap_bytes = 0;  // Of each rank, a multiple of the page size.

  [[nodiscard]] std::size_t first_heap() const noexcept;
  // From one heap to the next.
  [[nodiscard]] std::size_t stride() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return first_heap() + ranks * stride(); }
};

// How another process finds it.
struct arena_address {
  std::int32_t process = 0;  // The kernel's number; 0: the arena cannot be mapped.
  std::int32_t descriptor = -1;
  std::uint64_t cookie[2] = {};
  arena_layout layout;
};

class arena {
 public:
  // Throws weft::error when the system has no room for the range. `shared`: others may map it.
  arena(const arena_layout& layout, bool shared);
  // Heaps begin at multiples of this in every process.
  static constexpr std::size_t heap_alignment = std::size_t{2} << 20;  // A large page.
  // That of another process of this node. Nothing when it cannot be mapped, or is not what the address says.
  [[nodiscard]] static std::optional<arena> open(const arena_address& at) noexcept;
  arena(arena&& other) noexcept;
  arena& operator=(arena&&) = delete;
  ~arena();

  [[nodiscard]] const arena_address& address() const noexcept { return address_; }
  [[nodiscard]] std::byte* heap(std::size_t rank) const noexcept {
    return begin_ + address_.layout.first_heap() + rank * address_.layout.stride();
  }
  [[nodiscard]] memory_watch<>& watch(std::size_t worker) const noexcept;
  // Not 0: somebody may store into the heaps without telling. Relaxed: whoever raises it wakes the sleepers then.
  [[nodiscard]] std::atomic<std::uint32_t>& has_silent_writers() const noexcept;
  void discard(std::span<std::byte> pages) const noexcept;

 private:
  arena() = default;

  std::byte* begin_ = nullptr;
  arena_address address_;
  bool is_shared_ = false;
};

}  // namespace weft::rma
