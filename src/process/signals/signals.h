/* Signals of the calling rank, where several share a process: for the host, which stands before the C library, and for copies of programs. */
#ifndef WEFT_PROCESS_SIGNALS_SIGNALS_H
#define WEFT_PROCESS_SIGNALS_SIGNALS_H
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
/* sigaction(2) and sigprocmask(2) of the calling rank. 0 or an error. */
int weft_own_action(int number, const struct sigaction* action, struct sigaction* before);
int weft_own_mask(int how, const sigset_t* set, sigset_t* before);
/* A mask for the time of a call, and the one before again: whether a handler has run already, which ends the call before it
   begins. The second leaves errno alone. The rank's own thread calls both. */
int weft_begin_mask(const sigset_t* mask, sigset_t* before);
void weft_end_mask(const sigset_t* before);
/* A moved call that leaves handlers to its caller is followed by this. 0: one has run that does not let calls begin again. */
int weft_run_handlers(int is_noexcept);
/* The signals that are pending and blocked. */
void weft_own_pending(sigset_t* set);
/* Whether the caller is a thread that a rank has made, and this is the rank's own thread. */
int weft_is_thread_of_rank(unsigned long thread);
/* A thread that a rank has made wants the rank's own thread to make this call, wherever that is, as a handler of a signal is called.
   Returns at once; the call comes once, unless the rank ends before. */
void weft_call_in_rank(void (*call)(void* argument), void* argument);
/* Before such a call a thread claims it: there is one for each rank. 1; 0: another thread has it; -1 and errno: there can be none. */
int weft_claim_call_in_rank(void);
void weft_give_up_call_in_rank(void);
/* The calling rank sends itself a signal: false, and nothing done, where the kernel is to do it. */
int weft_signal_self(int number, const siginfo_t* details);
/* Waits, while others run: until a handler has run, with this mask meanwhile, or with the rank's. */
void weft_wait_for_handler(const sigset_t* mask);
/* Sleeps, while others run: 0, or what was left when a handler has run; -1: nothing was done, the rank has no signals of its own. */
long long weft_sleep_interruptibly(long long nanoseconds);
/* Waits until one of these is pending, and takes it. Its number; 0: the time is over; -1: a handler of another has run. */
int weft_take_signal(const sigset_t* set, siginfo_t* details, const struct timespec* most);
/* A timer of the calling rank: seconds and nanoseconds from now on, 0: none, and how often afterwards. `which` 0 is that of
   alarm() and ITIMER_REAL. Says what was left. */
void weft_own_timer(int which, const struct itimerspec* set, struct itimerspec* left);
/* A further one, which sends this signal with this value. Its number, not 0. */
int weft_make_timer(int number, union sigval value);
int weft_delete_timer(int which);
/* The caller jumps, perhaps out of a handler. */
void weft_leaves_handler(int restores_mask);
/* A thread that a rank has made takes a signal of the rank, or of the thread itself. It fails as sigtimedwait() does. */
int weft_take_signal_in_thread(const sigset_t* set, siginfo_t* details, const struct timespec* most);

/* A child of the calling rank has the rank's handlers and mask from here on, not those of the worker's thread. The parent of one of vfork()
   goes on with weft_after_child_of_vfork(). Async-signal-safe. */
void weft_begin_child(int by_vfork);
void weft_after_child_of_vfork(void);
/* The mask of a child that is started otherwise, and the signals that the process ignores and the rank does not. */
void weft_signals_of_child(sigset_t* mask, sigset_t* not_ignored);
/* A call of the calling rank has said EPIPE: where the kernel has sent the thread SIGPIPE on that account, it is the rank's. */
void weft_pipe_is_broken(void);
/* The same, known of a thread that has made the call for it. */
void weft_is_sent_sigpipe(void);

/* It is known now whose that child is: it may have ended before. */
void weft_look_for_children(int child);
/* A rank has ended. Its own thread calls this. */
void weft_forget_signals(int rank);
/* The calling rank has taken its end before anybody was told of it. */
void weft_tell_of_reaped_child(int child);
/* The calling worker's thread is one that runs ranks with signals of their own. */
void weft_accept_signals(void);
/* The host calls this once: `rank_of` says whose child that is, -1: nobody's; `next_ended` gives a child that has ended, each once, with
   its rank, 0: none. */
void weft_set_children(int (*rank_of)(int child), int (*next_ended)(int* rank));

/* --- Faults --------------------------------------------------------------------------------------------------------- */

/* Whether the caller is a rank, or a thread of one, of such a process, and this signal one of faults that it may handle. */
int weft_has_own_fault(int number);
/* sigaction(2) of the calling rank: 0 or an error. */
int weft_own_fault_action(int number, const struct sigaction* action, struct sigaction* before);
/* sigaltstack(2) of the rank's own thread, whose handlers run on the rank's stack all the same. */
int weft_own_alternate_stack(const stack_t* stack, stack_t* before);

/* --- What a rank sends to its process ------------------------------------------------------------------------------- */

/* The calling rank is about to send this signal to its process: says so when the process dies of it. */
void weft_raises(int number);
/* The same of abort(). */
void weft_aborts(void);
/* Whether the process's only rank takes the signals of its process itself. */
int weft_takes_signals(void);
/* pthread_kill() behind the program's own. The loader is asked once in the process: a copy of a program stands behind
   all earlier ones in its list. */
int (*weft_pthread_kill_of_libc(void))(unsigned long thread, int number);

#ifdef __cplusplus
}
#endif
#endif
