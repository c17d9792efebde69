// Thread-local variables of copies of an executable. The linker has written their distances from the thread pointer into its code,
// so a thread has room for those of one copy: each rank runs on a thread of its own, and the threads that it makes have its copy's.
#pragma once
#include <cstddef>

namespace weft::process {

// Those of one copy, as a thread begins with them. Its memory stays until the process ends.
struct thread_locals {
  const std::byte* initial = nullptr;  // `initialized` bytes; the others are 0.
  std::size_t initialized = 0;
  std::size_t size = 0;   // 0: the copy has none.
  std::size_t below = 0;  // They begin so many bytes below the thread pointer.
};

// Whether this process has room for them: it is weft-host-threads.
[[nodiscard]] bool has_room_for_thread_locals();
// Bytes of that room, which each thread's stack has less than it was made with; 0: none.
[[nodiscard]] std::size_t room_for_thread_locals();

// Gives them to the calling thread. False: it has another copy's.
[[nodiscard]] bool place_thread_locals(const thread_locals& those);

// The calling thread's, for a thread that it makes.
[[nodiscard]] const thread_locals& thread_locals_here() noexcept;

}  // namespace weft::process
