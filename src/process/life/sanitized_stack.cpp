#include "process/life/sanitized_stack.hpp"

#include <dlfcn.h>

namespace weft::process {
namespace {

using start_function = void (*)(void** fake_stack, const void* bottom, std::size_t size);
using finish_function = void (*)(void* fake_stack, const void** bottom_before,
                                 std::size_t* size_before);

// False: there is no AddressSanitizer.
bool tell(const void* bottom, std::size_t size, const void** before, std::size_t* size_before) {
  static const auto start =
      reinterpret_cast<start_function>(::dlsym(RTLD_DEFAULT, "__sanitizer_start_switch_fiber"));
  static const auto finish =
      reinterpret_cast<finish_function>(::dlsym(RTLD_DEFAULT, "__sanitizer_finish_switch_fiber"));
  if (start == nullptr || finish == nullptr) return false;
  void* fake_stack =
      nullptr;  // It keeps variables that functions leave behind: nothing of it changes.
  start(&fake_stack, bottom, size);
  finish(fake_stack, before, size_before);
  return true;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool tells_of_switches = true;
#else
constexpr bool tells_of_switches = false;
#endif

}  // namespace

sanitized_stack::sanitized_stack(std::span<std::byte> stack) noexcept {
  if (!tells_of_switches) tell(stack.data(), stack.size(), &before_, &size_before_);
}

sanitized_stack::~sanitized_stack() {
  const void* here = nullptr;
  std::size_t size = 0;
  if (before_ != nullptr) tell(before_, size_before_, &here, &size);
}

}  // namespace weft::process
