// Stacks of one size for fibers: mapped lazily in blocks, committed page by page as they are
// touched, with a guard page below each, kept for reuse. Used by one worker.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace weft {

class stack_pool {
 public:
  // `stack_bytes` is rounded up to whole pages, at least min_stack_bytes.
  explicit stack_pool(std::size_t stack_bytes);
  ~stack_pool();
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;

  static constexpr std::size_t min_stack_bytes = 16 * 1024;

  // Throws weft::error, naming the limit, when no memory can be mapped.
  [[nodiscard]] std::span<std::byte> take();
  void give_back(std::span<std::byte> stack) noexcept { free_.push_back(stack); }

  // True when `address` lies in the guard page of a stack of this pool: the stack overflowed.
  // Async-signal-safe as long as no stack is being taken.
  [[nodiscard]] bool in_guard_page(const void* address) const noexcept;
  [[nodiscard]] std::size_t stack_bytes() const noexcept { return stack_bytes_; }

 private:
  struct block {
    std::byte* base;
    std::size_t bytes;
    bool guarded;
  };
  void map_block();

  std::size_t stack_bytes_;  // Usable bytes of a stack.
  std::size_t pitch_;        // From one stack to the next, guard page included.
  std::size_t next_block_stacks_ = 8;
  std::size_t made_ = 0;
  std::vector<block> blocks_;
  std::vector<std::span<std::byte>> free_;
  std::vector<unsigned> valgrind_ids_;
};

}  // namespace weft
