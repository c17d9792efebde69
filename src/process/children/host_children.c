/* The children of the calling rank: who waits for any of its children gets none of another rank's. Whose a child is stands in a
   table, by which rank has started it. A child has the descriptors of its rank, and not those of others. A rank that becomes another
   program (execve() and its kin) is one in a child in its place. Threads that are no rank's, and children that a rank has forked, go
   straight to the kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/blocking/moved_calls.h"
#include "process/files/descriptors.h"
#include "process/files/host_program_path.h"
#include "process/files/host_streams.h"
#include "process/files/standard_streams.h"
#include "process/life/c_library.h"
#include "process/life/caller.h"
#include "process/life/program.h"
#include "process/signals/own_number.h"
#include "process/signals/signals.h"

struct child {
  struct child* next;
  pid_t number;
  int rank;
  int is_told; /* A signal has told of its end: weft_next_ended_child(). */
};
static struct child* children;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* Never held across a wait. */

/* --- Starting ------------------------------------------------------------------------------------------------- */

/* An older entry of this number is of a child that is no more, for which nobody has waited through this file. */
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

/* Descriptors to which the rank's standard output and error go, as a child is to find them; -1: where those of the process go. */
struct output {
  int to[2];
};
static struct output own_output(void) {
  return (struct output){{weft_own_output(STDOUT_FILENO), weft_own_output(STDERR_FILENO)}};
}
/* The caller is a process that is to have the rank's descriptors, or a thread that has a table of its own. */
static void take_own_descriptors(const struct output* own) {
  weft_close_descriptors_of_others();
  for (int i = 0; i < 2; ++i)
    if (own->to[i] >= 0) syscall(SYS_dup3, own->to[i], STDOUT_FILENO + i, 0);
}

/* A parent goes on when its child has closed what is not its rank's: what another rank closes then is closed. A pipe tells, or the
   child's death. */
struct closing_pipe {
  int ends[2]; /* -1: there is nothing to be closed. */
};
static struct closing_pipe open_closing_pipe(int rank) {
  struct closing_pipe made = {{-1, -1}};
  if (!weft_has_descriptors_of_others() || syscall(SYS_pipe2, made.ends, O_CLOEXEC) != 0) return (struct closing_pipe){{-1, -1}};
  for (int i = 0; i < 2; ++i) weft_note_owner(made.ends[i], rank);
  return made;
}
static void tell_closed(const struct closing_pipe* one) {
  /* The end of the pipe would not tell: a child of a thread that is no rank's may have the pipe, too. */
  if (one->ends[1] >= 0) syscall(SYS_write, one->ends[1], "", 1L);
  for (int i = 0; i < 2 && one->ends[i] >= 0; ++i) syscall(SYS_close, one->ends[i]);
}
static void await_closed(const struct closing_pipe* one) {
  const int saved = errno;
  char nothing;
  if (one->ends[0] >= 0) {
    weft_note_closed(one->ends[1]);
    syscall(SYS_close, one->ends[1]);
    while (syscall(SYS_read, one->ends[0], &nothing, 1) < 0 && errno == EINTR) continue;
    weft_note_closed(one->ends[0]);
    syscall(SYS_close, one->ends[0]);
  }
  errno = saved;
}

pid_t fork(void) {
  NEXT(fork);
  const int rank = weft_number();
  if (rank < 0) return next();
  weft_own_number(); /* The child's getppid() says it. */
  const struct output own = own_output();
  struct child* const made = malloc(sizeof *made);
  const struct closing_pipe closing = open_closing_pipe(rank);
  const pid_t number = next();
  if (number == 0) {
    weft_begin_child(0);
    take_own_descriptors(&own);
    weft_keep_streams_of(rank);
    tell_closed(&closing);
  } else {
    await_closed(&closing);
  }
  return note_if_started(made, number, rank);
}

int forkpty(int* terminal, char* name, const struct termios* settings, const struct winsize* size) {
  NEXT(forkpty);
  const int rank = weft_number();
  if (rank < 0) return next(terminal, name, settings, size);
  struct child* const made = malloc(sizeof *made);
  const struct closing_pipe closing = open_closing_pipe(rank);
  const pid_t number = next(terminal, name, settings, size);
  if (number == 0) {
    weft_begin_child(0);
    weft_close_descriptors_of_others();
    weft_keep_streams_of(rank);
    tell_closed(&closing);
  } else {
    await_closed(&closing);
    if (number > 0) weft_made_descriptor(__builtin_return_address(0), *terminal, 0);
  }
  return note_if_started(made, number, rank);
}

static int note_spawned(int failed, pid_t number) {
  const int rank = failed == 0 ? weft_number() : -1;
  if (rank >= 0) note(malloc(sizeof(struct child)), number, rank);
  return failed;
}

/* Attributes that give the rank's signals, not those of the worker's thread, unless the program says which. `made` is what is returned,
   or nothing; it has no memory of its own. */
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

typedef __typeof__(&posix_spawn) spawn_call;
struct spawning {
  spawn_call call;
  pid_t* number;
  const char* path;
  const posix_spawn_file_actions_t* files;
  const posix_spawnattr_t* attributes;
  char* const* words;
  char* const* environment;
  struct output own;
  int failed;
};
static int spawn(void* argument) {
  struct spawning* const one = argument;
  one->failed = one->call(one->number, one->path, one->files, one->attributes, one->words, one->environment);
  return 0;
}
static int spawn_apart(void* argument) {
  take_own_descriptors(&((struct spawning*)argument)->own);
  return spawn(argument);
}

/* A thread that has all of its maker, as a child of vfork() has, but a table of descriptors of its own makes the call: the process that it
   starts gets that table. The maker waits until it has ended. Where the kernel, or a container's rules, allow no such thread, the child
   has everybody's descriptors. */
enum { stack_bytes_apart = 1 << 20 }; /* An environment must have room there, too. */
static void spawn_with_own_descriptors(struct spawning* one) {
  char* const stack = mmap(NULL, stack_bytes_apart, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  const int flags = CLONE_VM | CLONE_VFORK | CLONE_THREAD | CLONE_SIGHAND | CLONE_SYSVSEM;
  if (stack == MAP_FAILED || clone(&spawn_apart, stack + stack_bytes_apart, flags, one) < 0) spawn(one);
  if (stack != MAP_FAILED) munmap(stack, stack_bytes_apart);
}

static int spawn_for(spawn_call next, pid_t* number, const char* path, const posix_spawn_file_actions_t* files,
                     const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  pid_t child;
  posix_spawnattr_t own;
  struct spawning one = {next,  &child,      weft_program_path(path), files, with_own_signals(attributes, &own),
                         words, environment, own_output(),            0};
  if (weft_number() >= 0)
    spawn_with_own_descriptors(&one);
  else
    spawn(&one);
  if (one.failed == 0 && number != NULL) *number = child;
  return note_spawned(one.failed, child);
}
int posix_spawn(pid_t* number, const char* path, const posix_spawn_file_actions_t* files,
                const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  NEXT(posix_spawn);
  return spawn_for(next, number, path, files, attributes, words, environment);
}
int posix_spawnp(pid_t* number, const char* file, const posix_spawn_file_actions_t* files,
                 const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  NEXT(posix_spawnp);
  return spawn_for(next, number, file, files, attributes, words, environment);
}

/* The parent calls this when the child has left its memory. */
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

/* The child calls these. They are not bound lazily: it must not wait for the loader. */
__typeof__(weft_begin_child) weft_begin_child __attribute__((noplt));
__typeof__(weft_close_descriptors_of_others) weft_close_descriptors_of_others __attribute__((noplt));
__attribute__((visibility("hidden"), used)) void weft_in_child_of_vfork(void) {
  weft_begin_child(1);
  weft_close_descriptors_of_others();
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
    "  call weft_in_child_of_vfork\n"
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
    "  bl weft_in_child_of_vfork\n"
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
  int* status; /* waitid() gives `details` instead. */
  siginfo_t* details;
  struct rusage* use;
  int is_noexcept; /* The call, as C++ has it declared. */
};

static int is_wanted(const struct child* one, const struct wanted* what) {
  if (what->type == P_PID) return one->number == (pid_t)what->id;
  if (what->type == P_PGID) return getpgid(one->number) == (what->id == 0 ? getpgrp() : (pid_t)what->id);
  return 1;
}

/* Asks the kernel without waiting: no cancellation point, and no signal interrupts it. The child's number; 0: nothing of it; -1: it is
   no child any more. */
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

/* Waits until something happens to one of the wanted children, or a signal is handled. `moves`: other ranks run meanwhile. */
enum { looked_at_max = 64, moment_ms = 10 };
static int await_change(int rank, const struct wanted* what, int moves) {
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

/* Whether a rank of this process has started it, and which. */
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
      if (found > 0) weft_run_handlers(what->is_noexcept); /* A signal may have told of its end just now. */
      errno = saved;
      return found;
    }
    if (await_change(rank, what, weft_may_move(from)) == 0) continue;
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
  NEXT(wait4);
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
  NEXT(waitid);
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

/* --- Becoming another program ------------------------------------------------------------------------------------ */

static struct {
  __typeof__(&execve) execve;
  __typeof__(&execvpe) execvpe;
  __typeof__(&fexecve) fexecve;
  __typeof__(&execveat) execveat;
} next_of;
/* They are found now: a child of vfork() must not wait for the loader. weft_number() is bound at once for the same reason. */
static __attribute__((constructor)) void find_next(void) {
  next_of.execve = OF_LIBC(execve);
  next_of.execvpe = OF_LIBC(execvpe);
  next_of.fexecve = OF_LIBC(fexecve);
  next_of.execveat = OF_LIBC(execveat);
}
__typeof__(weft_number) weft_number __attribute__((noplt));

/* Waits for the program's end, while other ranks run. When the job ends, the program does. */
static int status_of_successor(int rank, pid_t child) {
  int status = 0;
  const struct wanted what = {P_PID, (id_t)child, 0, &status, NULL, NULL, 1};
  struct pollfd end = {(int)syscall(SYS_pidfd_open, child, 0), POLLIN, 0};
  while (look(rank, &what) == 0) {
    if (end.fd < 0 || !weft_may_rest()) {
      poll(&end, 1, moment_ms);
      continue;
    }
    const struct weft_moved_call call = {"exec", -1, weft_call_leaves_handlers, SYS_ppoll, {(long)&end, 1, 0, 0, _NSIG / 8}};
    if (weft_move(&call) >= 0 || !weft_is_stopped()) continue;
    kill(child, SIGKILL);
    syscall(SYS_wait4, child, NULL, 0, NULL);
    close(end.fd);
    weft_check_stopped(1);
  }
  close(end.fd);
  return status;
}

/* The program that the calling rank has become. Nothing of the rank is left but the child, and its end is the rank's. */
struct successor {
  pid_t child;
  const char* program;
};
static void end_with(void* argument) {
  const struct successor* const one = argument;
  const int rank = weft_number();
  weft_forget_signals(rank);
  weft_give_up_own_descriptors(1);
  const int status = status_of_successor(rank, one->child);
  if (WIFSIGNALED(status)) weft_successor_was_killed(one->program, WTERMSIG(status));
  weft_exit_at_once(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  _exit(WEXITSTATUS(status));
}

/* It returns where there is no such program. Of threads of a rank that call it at once, one goes on. */
static int become(spawn_call next, const char* program, char* const words[], char* const environment[]) {
  const int is_own = weft_is_ranks_own_thread();
  const int has_claim = is_own ? 0 : weft_claim_call_in_rank();
  if (has_claim < 0) return -1;
  while (!is_own && !has_claim) poll(NULL, 0, -1);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (weft_has_no_input()) posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t child;
  const int failed = next(&child, program, &files, NULL, words, environment);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    if (has_claim) weft_give_up_call_in_rank();
    errno = failed;
    return -1;
  }
  struct successor one = {child, program};
  if (is_own) end_with(&one);
  /* The thread stays here: its rank ends where its own thread is. */
  weft_call_in_rank(end_with, &one);
  for (;;) poll(NULL, 0, -1);
}

int execve(const char* path, char* const words[], char* const environment[]) {
  if (weft_number() >= 0) return become(posix_spawn, path, words, environment);
  return next_of.execve(weft_program_path(path), words, environment);
}
int execvpe(const char* file, char* const words[], char* const environment[]) {
  if (weft_number() < 0) return next_of.execvpe(file, words, environment);
  if (become(posix_spawnp, file, words, environment) == 0 || errno != ENOEXEC) return -1;
  /* The C library takes such a file for a script of a shell that does not say so. */
  size_t count = 1;
  while (words[0] != NULL && words[count] != NULL) ++count;
  char* shell[count + 2];
  shell[0] = (char*)"/bin/sh";
  shell[1] = (char*)file;
  for (size_t i = 1; i <= count; ++i) shell[i + 1] = words[0] != NULL ? words[i] : NULL;
  return become(posix_spawn, shell[0], shell, environment);
}
int fexecve(int descriptor, char* const words[], char* const environment[]) {
  if (weft_number() < 0) return next_of.fexecve(descriptor, words, environment);
  char path[48];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  return become(posix_spawn, path, words, environment);
}
int execveat(int directory, const char* path, char* const words[], char* const environment[], int flags) {
  if (weft_number() < 0) return next_of.execveat(directory, path, words, environment, flags);
  if (path[0] == 0 && (flags & AT_EMPTY_PATH) != 0) return fexecve(directory, words, environment);
  if (path[0] == '/' || directory == AT_FDCWD) return become(posix_spawn, path, words, environment);
  char from[PATH_MAX];
  if (snprintf(from, sizeof from, "/proc/self/fd/%d/%s", directory, path) >= (int)sizeof from) return errno = ENAMETOOLONG, -1;
  return become(posix_spawn, from, words, environment);
}

/* --- What signals tell of children -------------------------------------------------------------------------------- */

/* A signal tells of this child. */
int weft_rank_of_child(int number) {
  int rank = -1;
  return is_known(number, &rank) ? rank : -1;
}
/* The kernel tells once of several children that end at one time. */
int weft_next_ended_child(int* rank) {
  pid_t found = 0;
  pthread_mutex_lock(&lock);
  for (struct child* one = children; one != NULL && found == 0; one = one->next) {
    siginfo_t end = {0};
    if (one->is_told || syscall(SYS_waitid, P_PID, one->number, &end, WEXITED | WNOHANG | WNOWAIT, NULL) != 0) continue;
    if (end.si_pid == 0) continue;
    one->is_told = 1;
    found = one->number;
    *rank = one->rank;
  }
  pthread_mutex_unlock(&lock);
  return found;
}
