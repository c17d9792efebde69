// In libweft.so only.
#include "process/signals/interrupted_stack.hpp"

#include <ucontext.h>

#include <cstdint>
#include <cstring>

namespace weft::process {

#if defined(__x86_64__)
namespace {

// The frame that the kernel makes for a handler: the handler returns to `restorer`, which asks the kernel to take the registers from what
// lies above. The kernel has no more of the context than this.
constexpr std::size_t context_bytes = offsetof(ucontext_t, uc_sigmask) + sizeof(std::uint64_t);
struct handler_frame {
  const void* restorer;
  ucontext_t context;
  siginfo_t details;
};

// The kernel writes how large the state of the floating-point registers is into their area: linux/sigcontext.h.
constexpr std::size_t plain_state_bytes = 512, size_offset = 464;
constexpr std::uint32_t size_is_known = 0x46505853;
std::size_t bytes_of_state(const void* state) noexcept {
  std::uint32_t known[2];
  std::memcpy(known, static_cast<const std::byte*>(state) + size_offset, sizeof known);
  return known[0] == size_is_known ? known[1] : plain_state_bytes;
}

constexpr std::uintptr_t red_zone_bytes = 128, state_alignment = 64, frame_alignment = 16;
// What the handler needs at least.
constexpr std::uintptr_t room_bytes_min = 64 * 1024;

std::uintptr_t down(std::uintptr_t at, std::uintptr_t alignment) noexcept {
  return at & ~(alignment - 1);
}

}  // namespace

void call_on_interrupted_stack(std::span<std::byte> stack, const struct sigaction& action,
                               int number, const siginfo_t& details, const void* context) {
  const auto& given = *static_cast<const ucontext_t*>(context);
  const void* const state = given.uc_mcontext.fpregs;
  const auto low = reinterpret_cast<std::uintptr_t>(stack.data());
  const auto top = static_cast<std::uintptr_t>(given.uc_mcontext.gregs[REG_RSP]);
  const std::size_t state_bytes = state != nullptr ? bytes_of_state(state) : 0;
  if (top < low + state_bytes + room_bytes_min || top > low + stack.size()) return;
  const std::uintptr_t state_at = down(top - red_zone_bytes - state_bytes, state_alignment);
  // As after a call: the place to return to lies 8 bytes below a multiple of 16.
  const std::uintptr_t frame_at =
      down(state_at - sizeof(handler_frame), frame_alignment) - sizeof(void*);
  auto& frame = *reinterpret_cast<handler_frame*>(frame_at);
  std::memcpy(&frame.restorer, static_cast<const std::byte*>(context) - sizeof(void*),
              sizeof frame.restorer);
  std::memcpy(static_cast<void*>(&frame.context), context, context_bytes);
  frame.details = details;
  if (state != nullptr) {
    std::memcpy(reinterpret_cast<void*>(state_at), state, state_bytes);
    frame.context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(state_at);
  }
  const auto handler = (action.sa_flags & SA_SIGINFO) != 0
                           ? reinterpret_cast<std::uintptr_t>(action.sa_sigaction)
                           : reinterpret_cast<std::uintptr_t>(action.sa_handler);
  asm volatile("movq %[frame], %%rsp\n\tjmp *%[handler]"
               :
               : [frame] "r"(frame_at), [handler] "r"(handler), "D"(number), "S"(&frame.details),
                 "d"(&frame.context), "a"(0)
               : "memory");
  __builtin_unreachable();
}
#else
void call_on_interrupted_stack(std::span<std::byte>, const struct sigaction&, int, const siginfo_t&,
                               const void*) {}
#endif

}  // namespace weft::process
