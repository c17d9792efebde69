/* Process numbers of ranks that share a process: each has one of its own, of a placeholder (process/signals/placeholder.hpp), from
   when it first asks. For the host of copies and for copies of programs, which stand before the C library. */
#ifndef WEFT_PROCESS_SIGNALS_OWN_NUMBER_H
#define WEFT_PROCESS_SIGNALS_OWN_NUMBER_H
#include <signal.h>
#include <sys/types.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The number of the calling rank, also in threads that it has made; 0 elsewhere. Async-signal-safe. */
pid_t weft_own_number(void);
/* A child that a rank has forked asks for the number of that rank, whose process the kernel has for its parent; 0: it has none. */
pid_t weft_number_of_parent(void);
/* Whether it is the calling rank's number, and not the number of its process. Nothing is made. */
int weft_is_own_number(pid_t number);
/* The rank of this process that has this number of its own; -1: none has. */
int weft_rank_of_number(pid_t number);
/* The number of a rank of this process, that of the process where it has not asked for one. */
pid_t weft_number_of_rank(int rank);
/* A signal for another rank of this process, from the calling one: false, and nothing done, where the number is none's. */
int weft_signal_number(pid_t to, int number, const siginfo_t* details);
/* A rank has ended, and its number with it. */
void weft_end_own_number(int rank);

#ifdef __cplusplus
}
#endif
#endif
