// Where the handler of faults runs.
#pragma once
#include <signal.h>
#include <sys/mman.h>

#include <cstddef>
#include <utility>

namespace weft {

// Faults are handled on a stack of their own, behind a page that nobody may touch: the current stack may be the one that overflowed. It belongs to the thread that constructs it.
class alternate_stack {
 public:
  alternate_stack() noexcept
      : memory_(mmap(nullptr, guard_bytes + stack_bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {
    if (memory_ == MAP_FAILED) return;
    stack_t stack{};
    stack.ss_sp = static_cast<std::byte*>(memory_) + guard_bytes;
    stack.ss_size = stack_bytes;
    if (mprotect(stack.ss_sp, stack_bytes, PROT_READ | PROT_WRITE) == 0 &&
        sigaltstack(&stack, &previous_) == 0)
      return;
    munmap(std::exchange(memory_, MAP_FAILED), guard_bytes + stack_bytes);
  }
  ~alternate_stack() {
    if (memory_ == MAP_FAILED) return;
    sigaltstack(&previous_, nullptr);
    munmap(memory_, guard_bytes + stack_bytes);
  }
  alternate_stack(const alternate_stack&) = delete;
  alternate_stack& operator=(const alternate_stack&) = delete;

 private:
  static constexpr std::size_t guard_bytes = std::size_t{64} * 1024,  // A page of any machine.
      stack_bytes = std::size_t{64} * 1024;
  void* memory_;
  stack_t previous_{};
};

}  // namespace weft
