// How the threads of this process stand in the kernel.
#pragma once
#include <cstdint>
#include <map>

namespace weft {

struct thread_standing {
  std::uint64_t switches = 0;  // How often it has left a core.
  // It sleeps, for as long as it takes, until another thread changes a word of memory and wakes it,
  bool awaits_memory = false;
  // or until one of the descriptors is ready that it polls.
  bool awaits_descriptor = false;

  // Of a later look and an earlier one: it has slept so all the time.
  [[nodiscard]] bool has_slept_since(const thread_standing& before) const noexcept {
    return (awaits_memory || awaits_descriptor) && awaits_memory == before.awaits_memory &&
           awaits_descriptor == before.awaits_descriptor && switches == before.switches;
  }
};

// Called by any thread. By the kernel's numbers, proc(5); threads that end meanwhile may be missing. Empty where the kernel
// does not tell, or the process has no descriptor left to ask with.
[[nodiscard]] std::map<int, thread_standing> standing_threads();
// Of one of them, in less time.
[[nodiscard]] thread_standing standing_thread(int number);

}  // namespace weft
