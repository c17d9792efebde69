// Whether the threads of this process sleep in the kernel, and what for.
#pragma once
#include <cstdint>
#include <map>

namespace weft {

struct thread_standing {
  std::uint64_t switches = 0;  // How often it has left a core.
  // It sleeps without a time limit until another thread changes a word of memory and wakes it (futex).
  bool awaits_memory = false;
  // It sleeps without a time limit until a descriptor is ready (poll, epoll).
  bool awaits_descriptor = false;
  bool is_in_call = false;  // Of the kernel, and does not run there.

  // Whether it has slept like this all the time since the earlier look `before`.
  [[nodiscard]] bool has_slept_since(const thread_standing& before) const noexcept {
    return (awaits_memory || awaits_descriptor) && awaits_memory == before.awaits_memory &&
           awaits_descriptor == before.awaits_descriptor && switches == before.switches;
  }
};

// All threads, by the kernel's numbers (proc(5)); threads that end meanwhile may be missing. Empty when the kernel
// does not tell, or the process has no descriptor left to ask with. Called by any thread.
[[nodiscard]] std::map<int, thread_standing> standing_threads();
// One thread, in less time.
[[nodiscard]] thread_standing standing_thread(int number);

}  // namespace weft
