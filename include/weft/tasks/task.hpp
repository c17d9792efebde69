// What every task is made of: for the headers beside this one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <stop_token>
#include <utility>

#include "weft/error.hpp"

namespace weft {

// Tasks of high priority are begun before others, here and by thieves. One that has begun is not put aside.
enum class priority : std::uint8_t { normal, high };

struct task_options {
  weft::priority priority = weft::priority::normal;
  std::stop_token stop = {};  // A task that has not begun when a stop is requested does not begin.
};

// What waits for a task that was not run gets: a stop was requested before it began.
struct cancelled : error {
  cancelled() : error("the task was not run: a stop was requested before it began") {}
};

namespace detail {

// Work that any worker may begin, once.
struct task {
  task* next = nullptr;
  // Runs it and frees what it is made of; where `may_run` is false, the job stops: only the latter.
  void (*act)(task& self, bool may_run) noexcept = nullptr;
  // A wait for this may run it on its own stack: it could not go on before the task has ended anyway.
  const void* joined_by = nullptr;
};

// Memory of this worker's pool; any worker gives it back. Throws std::bad_alloc.
[[nodiscard]] void* take_memory(std::size_t bytes);
void give_memory(void* memory, std::size_t bytes) noexcept;

template <class T, class... Arguments>
[[nodiscard]] T* make_pooled(Arguments&&... arguments) {
  static_assert(alignof(T) <= alignof(std::max_align_t));
  void* const memory = take_memory(sizeof(T));
  try {
    return ::new (memory) T(std::forward<Arguments>(arguments)...);
  } catch (...) {
    give_memory(memory, sizeof(T));
    throw;
  }
}
template <class T>
void free_pooled(T* object) noexcept {
  object->~T();
  give_memory(object, sizeof(T));
}

// The calling worker's newest task; others may steal it. Throws weft::error where no worker runs, naming `call`.
void submit(task& work, priority urgency);
void check_may_spawn(const char* call);

}  // namespace detail
}  // namespace weft
