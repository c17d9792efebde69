#include "process/life/thread_locals.hpp"

#include <dlfcn.h>

#include <cstring>

#include "process/life/thread_locals.h"

namespace weft::process {
namespace {

thread_local thread_locals here;

// Where the C library puts those of the process's own executable: directly below.
std::byte* thread_pointer() noexcept {
#if defined(__x86_64__)
  std::byte* pointer = nullptr;
  __asm__("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
#else
  return nullptr;
#endif
}

}  // namespace

bool has_room_for_thread_locals() {
  const auto room = reinterpret_cast<decltype(&::weft_room_for_thread_locals)>(
      ::dlsym(RTLD_DEFAULT, "weft_room_for_thread_locals"));
  return room != nullptr &&
         reinterpret_cast<std::byte*>(room()) + weft_thread_locals_max == thread_pointer();
}

std::size_t room_for_thread_locals() {
  static const std::size_t room = has_room_for_thread_locals() ? weft_thread_locals_max : 0;
  return room;
}

bool place_thread_locals(const thread_locals& those) {
  if (those.size == 0) return true;
  if (here.size != 0) return here.initial == those.initial;
  std::byte* const begin = thread_pointer() - those.below;
  if (those.initialized != 0) std::memcpy(begin, those.initial, those.initialized);
  std::memset(begin + those.initialized, 0, those.size - those.initialized);
  here = those;
  return true;
}

const thread_locals& thread_locals_here() noexcept {
  return here;
}

}  // namespace weft::process
