/* The children of the calling rank: who waits for any of its children gets none of another rank's. Whose a child is stands in a
   table, by which rank has started it. Threads that are no rank's, and children that a rank has forked, go straight to the
   kernel. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/host/program_path.h"
#include "program/moved_calls.h"
#include "program/own_output.h"
#include "program/program.h"
#include "program/rank_signals.h"

#define OF_LIBC(function) (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))

struct child {
  struct child* next;
  pid_t number;
  int rank;
  int is_told; /* Its end, by a signal: weft_next_ended_child(). */
};
static struct child* children;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* Never held across a wait. */

/* --- Starting ------------------------------------------------------------------------------------------------- */

/* What the kernel has given before to another, which nobody has waited for through this file, is of no use. */
static void note(struct child* made, pid_t number, int rank) {
  if (made == NULL) return;
  made->number = number;
  made->rank = rank;
  made->is_told = 0;
  pthread_mutex_lock(&lock);
  for (struct child** at = &children; *at != NULL; at = &(*at)->next)
    if ((*at)->number == number) {
      struct child* const old = *at;
      *at = old->next;
      free(old);
      break;
    }
  made->next = children;
  children = made;
  pthread_mutex_unlock(&lock);
  weft_look_for_children(number);
}

static pid_t note_if_started(struct child* made, pid_t number, int rank) {
  const int saved = errno;
  if (number > 0)
    note(made, number, rank);
  else
    free(made);
  errno = saved;
  return number;
}

pid_t fork(void) {
  static __typeof__(&fork) next;
  if (next == NULL) next = OF_LIBC(fork);
  const int rank = weft_number();
  if (rank < 0) return next();
  const int own[] = {weft_own_output(STDOUT_FILENO), weft_own_output(STDERR_FILENO)};
  struct child* const made = malloc(sizeof *made);
  const pid_t number = next();
  if (number == 0) weft_begin_child(0);
  for (int i = 0; number == 0 && i < 2; ++i)
    if (own[i] >= 0) syscall(SYS_dup3, own[i], STDOUT_FILENO + i, 0);
  return note_if_started(made, number, rank);
}

int forkpty(int* terminal, char* name, const struct termios* settings, const struct winsize* size) {
  static __typeof__(&forkpty) next;
  if (next == NULL) next = OF_LIBC(forkpty);
  const int rank = weft_number();
  if (rank < 0) return next(terminal, name, settings, size);
  struct child* const made = malloc(sizeof *made);
  const pid_t number = next(terminal, name, settings, size);
  if (number == 0) weft_begin_child(0);
  return note_if_started(made, number, rank);
}

static int note_spawned(int failed, pid_t number) {
  const int rank = failed == 0 ? weft_number() : -1;
  if (rank >= 0) note(malloc(sizeof(struct child)), number, rank);
  return failed;
}

/* With the rank's signals, not with those of the worker's thread, unless the program says which. `made` is what is returned, or nothing;
   it has no memory of its own. */
static const posix_spawnattr_t* with_own_signals(const posix_spawnattr_t* given, posix_spawnattr_t* made) {
  if (weft_number() < 0) return given;
  short flags = 0;
  sigset_t mask, not_ignored;
  if (given != NULL) {
    *made = *given;
    posix_spawnattr_getflags(given, &flags);
  } else {
    posix_spawnattr_init(made);
  }
  weft_signals_of_child(&mask, &not_ignored);
  if ((flags & POSIX_SPAWN_SETSIGMASK) == 0) posix_spawnattr_setsigmask(made, &mask);
  if ((flags & POSIX_SPAWN_SETSIGDEF) != 0) {
    sigset_t asked;
    posix_spawnattr_getsigdefault(given, &asked);
    sigorset(&not_ignored, &not_ignored, &asked);
  }
  posix_spawnattr_setsigdefault(made, &not_ignored);
  posix_spawnattr_setflags(made, (short)(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  return made;
}

int posix_spawn(pid_t* number, const char* path, const posix_spawn_file_actions_t* files,
                const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  static __typeof__(&posix_spawn) next;
  if (next == NULL) next = OF_LIBC(posix_spawn);
  pid_t child;
  posix_spawnattr_t own;
  const int failed = next(&child, weft_program_path(path), files, with_own_signals(attributes, &own), words, environment);
  if (failed == 0 && number != NULL) *number = child;
  return note_spawned(failed, child);
}
int posix_spawnp(pid_t* number, const char* file, const posix_spawn_file_actions_t* files,
                 const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  static __typeof__(&posix_spawnp) next;
  if (next == NULL) next = OF_LIBC(posix_spawnp);
  pid_t child;
  posix_spawnattr_t own;
  const int failed = next(&child, weft_program_path(file), files, with_own_signals(attributes, &own), words, environment);
  if (failed == 0 && number != NULL) *number = child;
  return note_spawned(failed, child);
}

/* In the parent, when the child has left its memory. */
__attribute__((visibility("hidden"), used)) pid_t weft_after_vfork(long result) {
  weft_after_child_of_vfork();
  if (result < 0) {
    errno = (int)-result;
    return -1;
  }
  const int rank = weft_number();
  if (rank >= 0) note(malloc(sizeof(struct child)), (pid_t)result, rank);
  return (pid_t)result;
}

/* The child returns first, on the same stack: the place to return to is kept in a register meanwhile. */
#if defined(__x86_64__)
__asm__(
    ".pushsection .text\n"
    ".globl vfork\n"
    ".type vfork, @function\n"
    "vfork:\n"
    "  .cfi_startproc\n"
    "  popq %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_register rip, rdi\n"
    "  movl $58, %eax\n" /* SYS_vfork */
    "  syscall\n"
    "  pushq %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_offset rip, -8\n"
    "  movq %rax, %rdi\n"
    "  testq %rax, %rax\n"
    "  jne weft_after_vfork\n"
    "  subq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  movl $1, %edi\n"
    "  call *weft_begin_child@GOTPCREL(%rip)\n" /* No lazy binding: the child must not wait for the loader. */
    "  addq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  xorl %eax, %eax\n"
    "  ret\n"
    "  .cfi_endproc\n"
    "  .size vfork, . - vfork\n"
    "  .popsection\n");
#elif defined(__aarch64__)
__asm__(
    ".pushsection .text\n"
    ".globl vfork\n"
    ".type vfork, %function\n"
    "vfork:\n"
    "  .cfi_startproc\n"
    "  mov x0, #0x4111\n" /* CLONE_VM | CLONE_VFORK | SIGCHLD */
    "  mov x1, #0\n"
    "  mov x2, #0\n"
    "  mov x3, #0\n"
    "  mov x4, #0\n"
    "  mov x8, #220\n" /* SYS_clone */
    "  svc #0\n"
    "  cbnz x0, weft_after_vfork\n"
    "  stp x29, x30, [sp, #-16]!\n"
    "  .cfi_adjust_cfa_offset 16\n"
    "  .cfi_offset x30, -8\n"
    "  mov w0, #1\n"
    "  adrp x9, :got:weft_begin_child\n"
    "  ldr x9, [x9, :got_lo12:weft_begin_child]\n"
    "  blr x9\n"
    "  ldp x29, x30, [sp], #16\n"
    "  .cfi_adjust_cfa_offset -16\n"
    "  .cfi_restore x30\n"
    "  mov x0, #0\n"
    "  ret\n"
    "  .cfi_endproc\n"
    "  .size vfork, . - vfork\n"
    "  .popsection\n");
#endif

/* --- Waiting -------------------------------------------------------------------------------------------------- */

/* What a call waits for, as waitid() says it, and where it wants what it finds. */
struct wanted {
  idtype_t type;
  id_t id;
  int options;
  int* status; /* Of those that are no waitid(), which gives `details`. */
  siginfo_t* details;
  struct rusage* use;
  int is_noexcept; /* The call, as C++ has it declared. */
};

static int is_wanted(const struct child* one, const struct wanted* what) {
  if (what->type == P_PID) return one->number == (pid_t)what->id;
  if (what->type == P_PGID) return getpgid(one->number) == (what->id == 0 ? getpgrp() : (pid_t)what->id);
  return 1;
}

/* Not a cancellation point, nor interrupted: does not wait. The child's number; 0: nothing of it; -1: it is no child any more. */
static pid_t ask(pid_t number, const struct wanted* what, int* has_gone) {
  *has_gone = 0;
  if (what->details == NULL) {
    int status = 0;
    const pid_t found = (pid_t)syscall(SYS_wait4, number, &status, what->options | WNOHANG, what->use);
    if (found > 0 && what->status != NULL) *what->status = status;
    *has_gone = found > 0 && (WIFEXITED(status) || WIFSIGNALED(status));
    return found;
  }
  siginfo_t found = {0};
  if (syscall(SYS_waitid, P_PID, number, &found, what->options | WNOHANG, what->use) != 0) return -1;
  if (found.si_pid != 0) *what->details = found;
  *has_gone = found.si_pid != 0 && (what->options & WNOWAIT) == 0 &&
              (found.si_code == CLD_EXITED || found.si_code == CLD_KILLED || found.si_code == CLD_DUMPED);
  return found.si_pid;
}

/* Whether it is nobody's child any more, however that came: SIGCHLD may be ignored. */
static int is_no_child(pid_t number) {
  siginfo_t found;
  return syscall(SYS_waitid, P_PID, number, &found, WEXITED | WNOHANG | WNOWAIT, NULL) != 0 && errno == ECHILD;
}

/* Looks at all wanted children of the rank once. The number of one; 0: none is ready; -1, with errno: there is none. */
static pid_t look(int rank, const struct wanted* what) {
  pid_t result = -1, untold = 0;
  int error = ECHILD;
  pthread_mutex_lock(&lock);
  for (struct child** at = &children; *at != NULL;) {
    struct child* const one = *at;
    if (one->rank != rank || !is_wanted(one, what)) {
      at = &one->next;
      continue;
    }
    int has_gone;
    const pid_t found = ask(one->number, what, &has_gone);
    const int failure = errno;
    if (found < 0) has_gone = failure == ECHILD && is_no_child(one->number);
    if (has_gone) {
      if (found > 0 && !one->is_told) untold = found;
      *at = one->next;
      free(one);
    } else {
      at = &one->next;
    }
    if (found > 0) {
      result = found;
      break;
    }
    if (found == 0) result = 0;
    if (found < 0 && failure != ECHILD) error = failure;
  }
  pthread_mutex_unlock(&lock);
  if (untold > 0) weft_tell_of_reaped_child(untold);
  if (result < 0) errno = error;
  return result;
}

/* For a caller that keeps nobody waiting: until something happens to one of them, or a signal is handled. */
enum { looked_at_max = 64, moment_ms = 10 };
static int rest_until_news(int rank, const struct wanted* what, int moves) {
  struct pollfd ends[looked_at_max];
  int count = 0, knows_all = (what->options & (WUNTRACED | WCONTINUED)) == 0;
  pthread_mutex_lock(&lock);
  for (struct child* one = children; one != NULL; one = one->next) {
    if (one->rank != rank || !is_wanted(one, what)) continue;
    const int end = count < looked_at_max ? (int)syscall(SYS_pidfd_open, one->number, 0) : -1;
    if (end < 0)
      knows_all = 0;
    else
      ends[count++] = (struct pollfd){end, POLLIN, 0};
  }
  pthread_mutex_unlock(&lock);
  int result;
  if (moves) {
    struct timespec moment = {0, moment_ms * 1000000L};
    const struct weft_moved_call call = {
        "wait4", -1, weft_call_leaves_handlers, SYS_ppoll, {(long)ends, count, knows_all ? 0 : (long)&moment, 0, _NSIG / 8}};
    result = (int)weft_move(&call);
    if (result < 0) errno = -result;
  } else {
    result = poll(ends, (nfds_t)count, knows_all ? -1 : moment_ms);
  }
  const int saved = errno;
  while (count > 0) close(ends[--count].fd);
  /* They may leave this by a jump. */
  if (moves && weft_run_handlers(what->is_noexcept) && result < 0 && saved == EINTR) result = 0;
  errno = saved;
  return result < 0 ? -1 : 0;
}

/* Of another rank, or one that no rank has started here. */
static int is_known(pid_t number, int* rank) {
  int known = 0;
  pthread_mutex_lock(&lock);
  for (const struct child* one = children; one != NULL && !known; one = one->next)
    if (one->number == number) {
      known = 1;
      *rank = one->rank;
    }
  pthread_mutex_unlock(&lock);
  return known;
}

static pid_t wait_for(int rank, const struct wanted* what, const void* from) {
  for (;;) {
    const pid_t found = look(rank, what);
    if (found != 0 || (what->options & WNOHANG) != 0) {
      const int saved = errno;
      if (found > 0) weft_run_handlers(what->is_noexcept); /* Of its end, which may have been told just now. */
      errno = saved;
      return found;
    }
    if (rest_until_news(rank, what, weft_may_move(from)) == 0) continue;
    const int saved = errno;
    const pid_t now = look(rank, what);
    if (now == 0) errno = saved;
    return now != 0 ? now : -1;
  }
}

/* The rank whose table is to be looked at; -1: the kernel knows. */
static int rank_of_wait(idtype_t type, id_t id) {
  const int rank = weft_number();
  int of;
  if (rank < 0 || type == (idtype_t)P_PIDFD) return -1;
  return type == P_PID && !is_known((pid_t)id, &of) ? -1 : rank;
}

static pid_t wait4_for(const void* from, int is_noexcept, pid_t number, int* status, int options, struct rusage* use) {
  static __typeof__(&wait4) next;
  if (next == NULL) next = OF_LIBC(wait4);
  const idtype_t type = number > 0 ? P_PID : number == -1 ? P_ALL : P_PGID;
  const id_t id = (id_t)(number > 0 ? number : number < -1 ? -number : 0);
  const int rank = rank_of_wait(type, id);
  if (rank < 0) return next(number, status, options, use);
  const struct wanted what = {type, id, options, status, NULL, use, is_noexcept};
  return wait_for(rank, &what, from);
}
pid_t wait4(pid_t number, int* status, int options, struct rusage* use) {
  return wait4_for(__builtin_return_address(0), 1, number, status, options, use);
}
pid_t waitpid(pid_t number, int* status, int options) {
  return wait4_for(__builtin_return_address(0), 0, number, status, options, NULL);
}
pid_t wait3(int* status, int options, struct rusage* use) {
  return wait4_for(__builtin_return_address(0), 1, -1, status, options, use);
}
pid_t wait(int* status) { return wait4_for(__builtin_return_address(0), 0, -1, status, 0, NULL); }

int waitid(idtype_t type, id_t id, siginfo_t* details, int options) {
  static __typeof__(&waitid) next;
  if (next == NULL) next = OF_LIBC(waitid);
  const void* const from = __builtin_return_address(0);
  const int rank = rank_of_wait(type, id);
  if (rank < 0) {
    if ((options & WNOHANG) != 0 || !weft_may_move(from)) return next(type, id, details, options);
    const struct weft_moved_call call = {"waitid", -1, 0, SYS_waitid, {type, id, (long)details, options, 0}};
    const long failed = weft_move(&call);
    if (failed < 0) errno = (int)-failed;
    return failed < 0 ? -1 : 0;
  }
  siginfo_t found = {0};
  const struct wanted what = {type, id, options, NULL, &found, NULL, 0};
  const pid_t child = wait_for(rank, &what, from);
  if (child < 0) return -1;
  if (details != NULL) *details = found;
  return 0;
}

/* Of a signal that tells of a child. */
int weft_rank_of_child(int number) {
  int rank = -1;
  return is_known(number, &rank) ? rank : -1;
}
/* Of children that end at one time the kernel tells once. */
int weft_next_ended_child(int* rank) {
  pid_t found = 0;
  pthread_mutex_lock(&lock);
  for (struct child* one = children; one != NULL && found == 0; one = one->next) {
    siginfo_t news = {0};
    if (one->is_told || syscall(SYS_waitid, P_PID, one->number, &news, WEXITED | WNOHANG | WNOWAIT, NULL) != 0) continue;
    if (news.si_pid == 0) continue;
    one->is_told = 1;
    found = one->number;
    *rank = one->rank;
  }
  pthread_mutex_unlock(&lock);
  return found;
}
