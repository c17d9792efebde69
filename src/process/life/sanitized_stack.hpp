// The stack of a rank whose program is linked with AddressSanitizer, which knows only those of threads by itself: where it is to forget
// the frames that exit() or an exception leaves, it would warn, and give false reports later.
#pragma once
#include <cstddef>
#include <span>

namespace weft::process {

// While one lives, the calling thread is on this stack to AddressSanitizer. Nothing where there is none, or where weft itself is built
// with it, which then tells of each switch.
class sanitized_stack {
 public:
  explicit sanitized_stack(std::span<std::byte> stack) noexcept;
  ~sanitized_stack();
  sanitized_stack(const sanitized_stack&) = delete;
  sanitized_stack& operator=(const sanitized_stack&) = delete;

 private:
  const void* before_ = nullptr;
  std::size_t size_before_ = 0;
};

}  // namespace weft::process
