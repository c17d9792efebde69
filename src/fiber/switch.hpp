// The machine's part of a switch between flows of control: where a flow that is suspended keeps its
// registers, and the jump from one to another. Our own for x86-64, Boost.Context elsewhere.
//
// Why our own: docs/decisions/a-switch-is-ours.md.
#pragma once
#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__) && !defined(WEFT_BOOST_CONTEXT)
#define WEFT_BOOST_CONTEXT
#endif
#if defined(WEFT_BOOST_CONTEXT)
#include <boost/context/detail/fcontext.hpp>
#endif

namespace weft::machine {

#if defined(WEFT_BOOST_CONTEXT)

// The argument of a jump, on the stack of the side that leaves.
struct jump_argument {
  void** left_at;
  void* argument;
};

inline void* arrived(boost::context::detail::transfer_t from) noexcept {
  if (from.fctx == nullptr) return from.data;  // A visit hands on its argument.
  const jump_argument through = *static_cast<const jump_argument*>(from.data);
  *through.left_at = from.fctx;
  return through.argument;
}
inline void* jump(void* to, void* argument, void** left_at) noexcept {
  jump_argument through{left_at, argument};
  return arrived(boost::context::detail::jump_fcontext(to, &through));
}
template <void* (*Visit)(void*)>
void* jump_on_top(void* to, void* argument, void** left_at) noexcept {
  jump_argument through{left_at, argument};
  return arrived(boost::context::detail::ontop_fcontext(
      to, &through, [](boost::context::detail::transfer_t from) {
        return boost::context::detail::transfer_t{nullptr, Visit(arrived(from))};
      }));
}
template <void (*Entry)(void*)>
void* make_flow(std::byte* low, std::size_t bytes) noexcept {
  return boost::context::detail::make_fcontext(
      low + bytes, bytes, [](boost::context::detail::transfer_t from) { Entry(arrived(from)); });
}

#else

// What lies where a flow is suspended; its stack pointer is right above. tools/gdb/weft.py reads it.
struct suspended_flow {
  std::uint32_t vector_control;  // MXCSR
  std::uint32_t scratch;         // The x87's control word on its way.
  void* frame;                   // rbp
  void* rbx;
  const void* at;  // rip
};
static_assert(sizeof(suspended_flow) == 32);

// The common part of both jumps, which differ in how they leave. In: rdi is the flow to resume, rsi the argument, rax
// the place for the suspended caller's address. The argument arrives in rdi, as the argument of a function that
// begins, and in rax, as the result of one that returns.
//
// Each flow has its own MXCSR: rounding and masks, as the ABI demands, and the exception flags, as a program expects
// of its thread. The flag "inexact" is the exception: nearly every operation raises it, so a flow may see that of
// others on its thread. MXCSR is loaded only when it differs. Rounding and masks of the x87's control word are copied
// from MXCSR, since the C library sets both alike; reading that word at each switch would take 2 ns. Its precision
// stays the thread's.
#define WEFT_SUSPEND_AND_TAKE_STACK                    \
  "leaq 9f(%%rip), %%rcx\n\t"                          \
  "leaq -32(%%rsp), %%rsp\n\t"                         \
  "stmxcsr (%%rsp)\n\t"                                \
  "movq %%rbp, 8(%%rsp)\n\t"                           \
  "movq %%rbx, 16(%%rsp)\n\t"                          \
  "movq %%rcx, 24(%%rsp)\n\t"                          \
  "movl (%%rsp), %%ecx\n\t"                            \
  "movq %%rsp, (%%rax)\n\t"                            \
  "movq %%rdi, %%rsp\n\t"                              \
  "xorl (%%rsp), %%ecx\n\t"                            \
  "testl $0xffdf, %%ecx\n\t"                           \
  "jz 1f\n\t"                                          \
  "ldmxcsr (%%rsp)\n\t"                                \
  "testl $0x7f80, %%ecx\n\t" /* Masks and rounding. */ \
  "jz 1f\n\t"                                          \
  "fnstcw 4(%%rsp)\n\t"                                \
  "movl (%%rsp), %%ecx\n\t"                            \
  "shrl $7, %%ecx\n\t"                                 \
  "movl %%ecx, %%r8d\n\t"                              \
  "andl $0x3f, %%r8d\n\t"                              \
  "andl $0xc0, %%ecx\n\t"                              \
  "shll $4, %%ecx\n\t"                                 \
  "orl %%r8d, %%ecx\n\t"                               \
  "andw $0xf3c0, 4(%%rsp)\n\t"                         \
  "orw %%cx, 4(%%rsp)\n\t"                             \
  "fldcw 4(%%rsp)\n"                                   \
  "1:\tmovq 8(%%rsp), %%rbp\n\t"                       \
  "movq 16(%%rsp), %%rbx\n\t"                          \
  "movq 24(%%rsp), %%r8\n\t"                           \
  "movq %%rsi, %%rdi\n\t"
#if defined(__AVX512F__)
#define WEFT_WIDE_REGISTERS                                                                     \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",   \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", \
      "k7"
#else
#define WEFT_WIDE_REGISTERS
#endif
// The registers that a call may change, and those that the other flow changes: the compiler saves what it needs of
// them. The assembly saves rbp and rbx, which cannot be named here everywhere.
#define WEFT_CHANGED                                                                               \
  "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3",     \
      "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", \
      "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "memory",      \
      "cc" WEFT_WIDE_REGISTERS

// Never called. Since it could be called, the compiler keeps the stack of the jumping function aligned and nothing
// below it: a visit on top of it needs that.
[[noreturn]] void argument_is_null() noexcept;

// Suspends the caller, stores where to `left_at`, and resumes `to`, which gets `argument`, not null. Returns the
// argument of the jump that resumes the caller.
[[gnu::always_inline]] inline void* jump(void* to, void* argument, void** left_at) noexcept {
  void* here = left_at;
  asm volatile(WEFT_SUSPEND_AND_TAKE_STACK
               "movq %%rsi, %%rax\n\t"
               "leaq 32(%%rsp), %%rsp\n\t"
               "jmpq *%%r8\n"
               "9:"
               : "+a"(here), "+D"(to), "+S"(argument)
               :
               : "rdx", WEFT_CHANGED);
  if (here == nullptr) argument_is_null();
  return here;
}

// As jump(), but first calls `Visit(argument)` on top of `to`, which then gets the result of that.
template <void* (*Visit)(void*)>
[[gnu::always_inline]] inline void* jump_on_top(void* to, void* argument, void** left_at) noexcept {
  void* here = left_at;
  auto visit = Visit;
  asm volatile(WEFT_SUSPEND_AND_TAKE_STACK
               "leaq 24(%%rsp), %%rsp\n\t"  // To `at`: the return address of `Visit`.
               "jmpq *%%rdx\n"
               "9:"
               : "+a"(here), "+D"(to), "+S"(argument), "+d"(visit)
               :
               : WEFT_CHANGED);
  if (here == nullptr) argument_is_null();
  return here;
}

#undef WEFT_SUSPEND_AND_TAKE_STACK
#undef WEFT_WIDE_REGISTERS
#undef WEFT_CHANGED

// Makes a flow on this stack that begins with `Entry(argument)`, which never returns. It has the calling thread's
// rounding and masks, and no exception flag is set.
template <void (*Entry)(void*)>
void* make_flow(std::byte* low, std::size_t bytes) noexcept {
  std::byte* top = low + bytes;
  top -= reinterpret_cast<std::uintptr_t>(top) % 16 + sizeof(void*);
  *reinterpret_cast<void**>(top) = nullptr;  // Where a function finds its return address: nowhere.
  auto& begin = reinterpret_cast<suspended_flow*>(top)[-1];
  begin = {.vector_control = 0,
           .scratch = 0,
           .frame = nullptr,
           .rbx = nullptr,
           .at = reinterpret_cast<const void*>(Entry)};
  asm("stmxcsr %0" : "=m"(begin.vector_control));
  begin.vector_control &= ~std::uint32_t{0x3f};
  return &begin;
}

#endif

}  // namespace weft::machine
