/* In place of the system's <errno.h>, for programs whose ranks may go on, after a wait, on another thread. The C library
   says that the place of errno never changes, so compilers look for it once in a function and keep it. Of weft's
   function nobody says so. docs/protocols/moving.md. */
#pragma GCC system_header
#include_next <errno.h>

#if !defined WEFT_PROGRAM_ERRNO_H && !defined __ASSEMBLER__ && defined errno
#define WEFT_PROGRAM_ERRNO_H

#ifdef __cplusplus
extern "C" {
#endif
/* Where errno is of the thread that runs the caller now. */
extern int* weft_errno_location(void) __attribute__((__nothrow__, __leaf__));
#ifdef __cplusplus
}
#endif

#undef errno
#define errno (*weft_errno_location())

#endif
