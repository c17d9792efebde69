// A fixed number of objects. Their owner takes them without atomics; any thread gives them back. They are made with the
// pool and come out as they went in. The orderings are handoff_stack's: the owner that takes an object again sees
// what a thread did to it before it gave it back.
//
// The pool must outlive the use of its objects.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "base/limits.hpp"
#include "sync/handoff_stack.hpp"

namespace weft {

template <class T, class Atomics = std_atomics>
requires std::is_class_v<T>
class pool {
 public:
  explicit pool(std::size_t capacity) : slots_(std::make_unique<slot[]>(capacity)) {
    for (std::size_t i = capacity; i-- > 0;) give_back(&slots_[i]);
  }

  // Called by the owner only. Null when all objects are out.
  [[nodiscard]] T* try_take() noexcept {
    if (free_ == nullptr) [[unlikely]]
      free_ = returned_.take_all();
    slot* taken = free_;
    if (taken != nullptr) free_ = taken->next.get();
    return taken;
  }

  // Called by the owner only.
  void give_back(T* object) noexcept {
    auto* given = static_cast<slot*>(object);
    given->next.set(free_);
    free_ = given;
  }

  // Called by any thread.
  void give_back_remote(T* object) noexcept { returned_.push(static_cast<slot*>(object)); }

 private:
  struct slot : T {
    typename Atomics::template plain<slot*> next;
  };

  std::unique_ptr<slot[]> slots_;
  slot* free_ = nullptr;  // The owner's.
  alignas(padding_bytes) handoff_stack<slot, Atomics> returned_;
};

}  // namespace weft
