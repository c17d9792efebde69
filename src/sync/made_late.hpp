// An object that is made when it is first needed, while other threads ask whether it is there. Whoever sees it sees what was
// written before, by the order of published.hpp.
#pragma once
#include <cstddef>

#include "sync/published.hpp"

namespace weft {

template <class T, class Atomics = std_atomics>
class made_late {
 public:
  made_late() = default;
  made_late(const made_late&) = delete;
  made_late& operator=(const made_late&) = delete;
  // Called while no other thread looks.
  ~made_late() {
    if (T* const one = made_.hint(); one != nullptr) destroy_(one);
  }

  // Takes the object over. Called at most once.
  void publish(T* one, void (*destroy)(T*)) noexcept {
    destroy_ = destroy;
    made_.publish(one);
  }
  // Called by any thread; null: it has not been made.
  [[nodiscard]] T* get() const noexcept { return made_.value(); }
  [[nodiscard]] T* operator->() const noexcept { return get(); }
  [[nodiscard]] T& operator*() const noexcept { return *get(); }
  [[nodiscard]] friend bool operator==(const made_late& one, std::nullptr_t) noexcept {
    return one.get() == nullptr;
  }

 private:
  void (*destroy_)(T*) = nullptr;
  published<T*, Atomics> made_;
};

}  // namespace weft
