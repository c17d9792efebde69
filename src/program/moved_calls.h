/* Calls of the kernel that a rank would be blocked in: for the host of copies, which stands before the C library. */
#ifndef WEFT_PROGRAM_MOVED_CALLS_H
#define WEFT_PROGRAM_MOVED_CALLS_H
#ifdef __cplusplus
extern "C" {
#endif

/* Whether the caller is a rank that keeps others of its worker waiting while it is blocked, and may let them run now.
   `from` is where it was called from: in code that ranks share nobody else may run, it may have a lock. */
int weft_may_move(const void* from);

enum {
  weft_call_is_noexcept = 1, /* As it is declared for C++: no exception may leave it. */
  weft_call_restarts = 2,    /* After a handler with SA_RESTART, although the kernel would not begin it again. */
  /* Returns before handlers run, and when the job stops: the caller puts away what it has, then weft_run_handlers(). */
  weft_call_leaves_handlers = 4
};
/* What a call that has moved is. `arguments` are the kernel's. */
struct weft_moved_call {
  const char* name; /* For people. */
  int descriptor;   /* Likewise; -1: of none. */
  int traits;       /* Of weft_call_... */
  long number;
  long arguments[6];
};
/* Makes the call on a blocking thread, while others of the worker run. The kernel's result, -errno of one that failed:
   -EINTR of one that the end of the job has interrupted, from which the rank seldom returns. */
long weft_move(const struct weft_moved_call* call);

/* write(2) of such a rank: all of it, unless the kernel or a signal ends it before. With errno. */
long weft_write_moved(int descriptor, const void* bytes, unsigned long size);
/* Whether the code at `from` is the calling rank's, or C++'s library: what it does to the process the rank does. */
int weft_is_ranks_code(const void* from);
/* The same without C++'s library. */
int weft_is_private(const void* from);
/* Whether a call that was not to wait (RWF_NOWAIT) has failed with this error without an answer. */
int weft_may_wait(int error);
/* Whether reading or writing there can wait; not of regular files, nor where it is not to wait. errno stays. */
int weft_can_wait(int descriptor);
/* Whether that is known already: the descriptor is of a file that never waits. It is until it is closed. */
int weft_is_file(int descriptor);
void weft_note_file(int descriptor, int is_file);

/* The rank of a job that ends waits no longer: for calls that try again and again. */
void weft_check_stopped(int is_noexcept);

#ifdef __cplusplus
}
#endif
#endif
