// Memory of tasks and futures: taken by one worker without atomics, given back by any. Blocks come from the heap and
// are kept for the next ones, so that in the steady state a task costs no allocation.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/limits.hpp"
#include "sync/handoff_stack.hpp"

namespace weft {

class node_pool {
 public:
  node_pool() = default;
  node_pool(const node_pool&) = delete;
  node_pool& operator=(const node_pool&) = delete;

  // Longer ones come from the heap, each by itself.
  static constexpr std::size_t node_bytes_max = 1024;

  // Called by the owner only.
  [[nodiscard]] void* take(std::size_t bytes);
  // Takes from the heap, for threads that have no pool.
  [[nodiscard]] static void* take_without(std::size_t bytes);
  // Called by any thread; `mine` is the calling thread's pool, or null.
  static void give(void* memory, node_pool* mine) noexcept;

  // Nodes that are out; called by the owner, for tests. Those that others give back count until the owner takes them.
  [[nodiscard]] std::int64_t taken() const noexcept { return out_; }

  // Instead of the destructor: memory that others still have stays until the program's end.
  static void leave(std::unique_ptr<node_pool> pool) noexcept;

 private:
  // Before the memory that is handed out, which therefore has the strictest alignment.
  struct alignas(std::max_align_t) node {
    node_pool* owner;  // Null: from the heap.
    std::uint32_t size_class;
    std_atomics::plain<node*> next;
  };
  static constexpr std::size_t step = 64;
  static constexpr std::size_t block_bytes = 16 * 1024;
  static constexpr std::size_t classes = node_bytes_max / step;

  void put(node* given) noexcept {
    given->next.set(free_[given->size_class]);
    free_[given->size_class] = given;
    --out_;
  }
  [[gnu::noinline]] node* refill(std::uint32_t size_class);

  std::array<node*, classes> free_{};
  std::int64_t out_ = 0;  // Nodes that were taken and have not come back to free_.
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  alignas(padding_bytes) handoff_stack<node> returned_;
};

}  // namespace weft
