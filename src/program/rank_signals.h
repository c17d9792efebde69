/* Signals of the calling rank, where several share a process: for the host of copies and for copies of programs, which stand
   before the C library. */
#ifndef WEFT_PROGRAM_RANK_SIGNALS_H
#define WEFT_PROGRAM_RANK_SIGNALS_H
#include <signal.h>
#include <time.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Whether the caller is a rank, or a thread of one, of such a process, and this signal one that ranks have for themselves:
   those of faults are not. */
int weft_has_own_signal(int number);
/* Whether it is the one that weft keeps for itself. */
int weft_is_wefts_signal(int number);
/* Whether it is the rank's own thread. */
int weft_is_ranks_own_thread(void);
/* sigaction(2) and sigprocmask(2) of the calling rank. 0 or an error. */
int weft_own_action(int number, const struct sigaction* action, struct sigaction* before);
int weft_own_mask(int how, const sigset_t* set, sigset_t* before);
/* A mask for the time of a call, and the one before again: whether a handler has run already, which ends the call before it
   begins. The second leaves errno alone. Of the rank's own thread. */
int weft_begin_mask(const sigset_t* mask, sigset_t* before);
void weft_end_mask(const sigset_t* before);
/* After a moved call that leaves handlers to its caller. 0: one has run that does not let calls begin again. */
int weft_run_handlers(int is_noexcept);
/* Those that are pending and blocked. */
void weft_own_pending(sigset_t* set);
/* Whether the caller is a thread that a rank has made, and this is the rank's own thread. */
int weft_is_thread_of_rank(unsigned long thread);
/* The calling rank sends itself a signal: false, and nothing done, where the kernel is to do it. */
int weft_signal_self(int number, const siginfo_t* details);
/* Waits, while others run: until a handler has run, with this mask meanwhile, or with the rank's. */
void weft_wait_for_handler(const sigset_t* mask);
/* Sleeps, while others run: 0, or what was left when a handler has run; -1: nothing was done, the rank has no signals of its own. */
long long weft_sleep_interruptibly(long long nanoseconds);
/* Until one of these is pending, which is taken. Its number; 0: the time is over; -1: a handler of another has run. */
int weft_take_signal(const sigset_t* set, siginfo_t* details, const struct timespec* most);
/* A timer of the calling rank: seconds and nanoseconds from now on, 0: none, and how often afterwards. `which` 0 is that of
   alarm() and ITIMER_REAL. Says what was left. */
void weft_own_timer(int which, const struct itimerspec* set, struct itimerspec* left);
/* A further one, which sends this signal with this value. Its number, not 0. */
int weft_make_timer(int number, union sigval value);
int weft_delete_timer(int which);
/* It is left by a jump: out of a handler, perhaps. */
void weft_leaves_handler(int restores_mask);
/* The same in a thread that a rank has made, of the signals of the rank, or of the thread itself. With errno, as sigtimedwait(). */
int weft_take_signal_in_thread(const sigset_t* set, siginfo_t* details, const struct timespec* most);

/* In a child of the calling rank, also of vfork(), whose parent goes on with weft_after_child_of_vfork(): it has the rank's handlers
   and mask, not those of the worker's thread. Async-signal-safe. */
void weft_begin_child(int by_vfork);
void weft_after_child_of_vfork(void);
/* The mask of a child that is started otherwise, and the signals that the process ignores and the rank does not. */
void weft_signals_of_child(sigset_t* mask, sigset_t* not_ignored);
/* A call of the calling rank has said EPIPE: where the kernel has sent the thread SIGPIPE on that account, it is the rank's. */
void weft_pipe_is_broken(void);
/* The same, known of a thread that has made the call for it. */
void weft_is_sent_sigpipe(void);

/* That child has a parent now: it may have ended before. */
void weft_look_for_children(int child);
/* A rank has ended. Called on its own thread. */
void weft_forget_signals(int rank);
/* The calling rank has taken its end before anybody was told of it. */
void weft_tell_of_reaped_child(int child);
/* The calling worker's thread is one that runs ranks with signals of their own. */
void weft_accept_signals(void);
/* Called once by the host: whose child that is, -1: nobody's; and a child that has ended, each once, with its rank, 0: none. */
void weft_set_children(int (*rank_of)(int child), int (*next_ended)(int* rank));

#ifdef __cplusplus
}
#endif
#endif
