/* A program that weftcc has linked begins here. It is a shared object that the kernel can start: it names its loader and has an entry
   point. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/life/program_begin.h"
#include "process/loader/start.h"

/* Weak: build systems link libraries with the flags of programs, too. A program without one is
   refused by what the linker adds to executables, or by weftcc. */
extern int main(int, char**, char**) __attribute__((weak));

/* Programs expect these to be theirs, and so do their libraries, which need not name them to the linker:
   they are linked to each program, whether its own files use them or not. */
#if defined(__x86_64__)
#define LINKED_TO_EACH(file) __asm__(".reloc ., R_X86_64_NONE, weft_own_" #file)
#else
#define LINKED_TO_EACH(file) __asm__(".reloc ., R_AARCH64_NONE, weft_own_" #file)
#endif
LINKED_TO_EACH(calendar);
LINKED_TO_EACH(children);
LINKED_TO_EACH(drand48);
LINKED_TO_EACH(environment);
LINKED_TO_EACH(exit);
LINKED_TO_EACH(getopt);
LINKED_TO_EACH(input);
LINKED_TO_EACH(on_exit);
LINKED_TO_EACH(printing);
LINKED_TO_EACH(random);
LINKED_TO_EACH(sanitizers);
LINKED_TO_EACH(search);
LINKED_TO_EACH(signals);
LINKED_TO_EACH(sleep);
LINKED_TO_EACH(strtok);
LINKED_TO_EACH(write);

const struct weft_program weft_program = {
    weft_program_version, main, {&environ, weft_begin_copy, getenv, setenv, putenv, unsetenv}};

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

/* `stack` is what the kernel has put there: the number of words, the words, the environment. */
__attribute__((visibility("hidden"), used, noreturn)) void weft_begin(void** stack,
                                                                       void (*end_of_loader)(void)) {
  weft_start_program(main, (int)(ptrdiff_t)stack[0], (char**)(stack + 1), NULL, NULL, end_of_loader, stack);
  __builtin_trap();
}
