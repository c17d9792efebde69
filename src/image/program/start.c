/* Where a program that weftcc has linked begins. It is a shared object that the kernel can start:
   it names its loader and has an entry point. */
#include <stddef.h>

#include "image/start.h"
#include "rank/program.h"

extern int main(int, char**, char**);
extern int __libc_start_main(int (*)(int, char**, char**), int, char**, void (*)(void),
                             void (*)(void), void (*)(void), void*);

/* As weft::program_description. */
const struct {
  unsigned version;
  int (*main)(int, char**, char**);
} weft_program = {1, main};

#if defined(__x86_64__)
#define LOADER "/lib64/ld-linux-x86-64.so.2"
__asm__(
    ".pushsection .text\n"
    ".globl weft_start\n"
    ".hidden weft_start\n"
    ".type weft_start, @function\n"
    "weft_start:\n"
    "  .cfi_startproc\n"
    "  .cfi_undefined rip\n" /* Stack traces end here. */
    "  xorl %ebp, %ebp\n"
    "  movq %rsp, %rdi\n"
    "  movq %rdx, %rsi\n"
    "  andq $-16, %rsp\n"
    "  call weft_begin\n"
    "  hlt\n"
    "  .cfi_endproc\n"
    "  .size weft_start, . - weft_start\n"
    "  .popsection\n");
#elif defined(__aarch64__)
#define LOADER "/lib/ld-linux-aarch64.so.1"
__asm__(
    ".pushsection .text\n"
    ".globl weft_start\n"
    ".hidden weft_start\n"
    ".type weft_start, %function\n"
    "weft_start:\n"
    "  .cfi_startproc\n"
    "  .cfi_undefined x30\n"
    "  mov x29, #0\n"
    "  mov x30, #0\n"
    "  mov x1, x0\n"
    "  mov x0, sp\n"
    "  bl weft_begin\n"
    "  brk #1\n"
    "  .cfi_endproc\n"
    "  .size weft_start, . - weft_start\n"
    "  .popsection\n");
#else
#error "weft programs need x86-64 or aarch64"
#endif

__attribute__((section(".interp"), used)) static const char loader[] = LOADER;

static int run(int argc, char** argv, char** environment) {
  (void)environment;
  return weft_run_main(main, argc, argv);
}

/* `stack` is what the kernel has put there: the number of words, the words, the environment. */
__attribute__((visibility("hidden"), used, noreturn)) void weft_begin(void** stack,
                                                                       void (*end_of_loader)(void)) {
  const int argc = (int)(ptrdiff_t)stack[0];
  char** const argv = (char**)(stack + 1);
  weft_become_host(argc, argv);
  __libc_start_main(run, argc, argv, NULL, NULL, end_of_loader, stack);
  __builtin_trap();
}
