#include "task/node_pool.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace weft {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool keeps_memory = false;  // The sanitizer then sees a use after the end.
#else
constexpr bool keeps_memory = true;
#endif

std::mutex left_lock;
std::vector<std::unique_ptr<node_pool>>& left_pools() {
  static auto* const pools =
      new std::vector<std::unique_ptr<node_pool>>;  // Never freed: destructors of globals use it.
  return *pools;
}

}  // namespace

void* node_pool::take_without(std::size_t bytes) {
  auto* const made = static_cast<node*>(::operator new(sizeof(node) + bytes));
  made->owner = nullptr;
  return made + 1;
}

void* node_pool::take(std::size_t bytes) {
  const std::size_t size_class = (bytes + sizeof(node) - 1) / step;
  if (!keeps_memory || size_class >= classes) [[unlikely]]
    return take_without(bytes);
  node* taken = free_[size_class];
  if (taken == nullptr) [[unlikely]]
    taken = refill(static_cast<std::uint32_t>(size_class));
  free_[size_class] = taken->next.get();
  ++out_;
  return taken + 1;
}

// What others have given back, or a new block.
node_pool::node* node_pool::refill(std::uint32_t size_class) {
  for (node* back = returned_.take_all(); back != nullptr;)
    put(std::exchange(back, back->next.get()));
  if (free_[size_class] != nullptr) return free_[size_class];
  const std::size_t bytes = (size_class + 1) * step;
  blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(block_bytes));
  std::byte* const block = blocks_.back().get();
  for (std::size_t at = 0; at + bytes <= block_bytes; at += bytes) {
    auto* const made = ::new (block + at) node{this, size_class, {}};
    made->next.set(free_[size_class]);
    free_[size_class] = made;
  }
  return free_[size_class];
}

void node_pool::give(void* memory, node_pool* mine) noexcept {
  node* const given = static_cast<node*>(memory) - 1;
  if (given->owner == mine && mine != nullptr) [[likely]]
    mine->put(given);
  else if (given->owner == nullptr)
    ::operator delete(given);
  else
    given->owner->returned_.push(given);
}

void node_pool::leave(std::unique_ptr<node_pool> pool) noexcept {
  for (node* back = pool->returned_.take_all(); back != nullptr;)
    pool->put(std::exchange(back, back->next.get()));
  if (pool->out_ == 0) return;
  const std::lock_guard hold(left_lock);
  left_pools().push_back(std::move(pool));
}

}  // namespace weft
