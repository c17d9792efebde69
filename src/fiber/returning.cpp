#include "fiber/returning.hpp"

#if defined(WEFT_MARKS_SWITCHES)

extern "C" {
thread_local constinit bool weft_has_switched = false;
}

// What the compiler jumps to in place of a return: its name is the compiler's. Weak, should a program
// be compiled like that and bring its own. All that it changes is the callers' to keep, and holds no
// result.
asm(R"(
  .pushsection .text, "ax", @progbits
  .balign 32
  .weak __x86_return_thunk
  .hidden __x86_return_thunk
  .type __x86_return_thunk, @function
__x86_return_thunk:
  .cfi_startproc
  movq weft_has_switched@gottpoff(%rip), %rcx
  cmpb $0, %fs:(%rcx)
  jne 1f
  ret
1:
  movb $0, %fs:(%rcx)
  popq %rcx
  .cfi_def_cfa_offset 0
  .cfi_register %rip, %rcx
  jmpq *%rcx
  .cfi_endproc
  .size __x86_return_thunk, .-__x86_return_thunk
  .popsection
)");

#endif
