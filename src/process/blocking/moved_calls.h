/* Calls of the kernel that a rank would be blocked in: for the host of copies, which stands before the C library. */
#ifndef WEFT_PROCESS_BLOCKING_MOVED_CALLS_H
#define WEFT_PROCESS_BLOCKING_MOVED_CALLS_H
#ifdef __cplusplus
extern "C" {
#endif

/* Whether the caller is a rank that keeps others of its worker waiting while it is blocked, and may let them run now.
   `from` is where it was called from: in code that ranks share nobody else may run, it may have a lock. */
int weft_may_move(const void* from);

enum {
  weft_call_is_noexcept = 1, /* C++ declares it noexcept: no exception may leave it. */
  weft_call_restarts = 2,    /* A handler with SA_RESTART lets it begin again, although the kernel would not. */
  /* It returns before handlers run, and when the job stops: the caller puts away what it has, then calls weft_run_handlers(). */
  weft_call_leaves_handlers = 4,
  weft_call_makes_descriptor = 8 /* The descriptor is the rank's at once. */
};
/* What a call that has moved is. `arguments` are the kernel's. */
struct weft_moved_call {
  const char* name; /* People read it in reports. */
  int descriptor;   /* People read it in reports; -1: the call has none. */
  int traits;       /* Bits weft_call_... */
  long number;
  long arguments[6];
};
/* Makes the call on a blocking thread, while others of the worker run. The kernel's result, -errno of one that failed:
   -EINTR of one that the end of the job has interrupted, from which the rank seldom returns. */
long weft_move(const struct weft_moved_call* call);

/* write(2) of such a rank: all of it, unless the kernel or a signal ends it before. With errno. */
long weft_write_moved(int descriptor, const void* bytes, unsigned long size);
/* Whether a call that was not to wait (RWF_NOWAIT) has failed with this error without an answer. */
int weft_may_wait(int error);
/* Whether reading or writing there can wait; not of regular files, nor where it is not to wait. errno stays. */
int weft_can_wait(int descriptor);

/* Whether the calling rank may make such a call, whether or not it keeps others waiting. */
int weft_may_rest(void);

#ifdef __cplusplus
}
#endif
#endif
