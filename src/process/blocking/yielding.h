/* How a rank that waits lets other ranks of its worker run. */
#ifndef WEFT_PROCESS_BLOCKING_YIELDING_H
#define WEFT_PROCESS_BLOCKING_YIELDING_H
#ifdef __cplusplus
extern "C" {
#endif

/* Sleeps while other ranks run; 0 and nothing done when a thread calls that is no rank. */
int weft_sleep(long long nanoseconds);
/* For a rank that waits for a thread of its program, which may wait in MPI for another rank of the same worker: other ranks run for a
   moment, a longer one each time, of which `rest` keeps account, 0 at first. 0 and nothing done where the caller may be blocked in the
   kernel: it keeps nobody waiting. */
int weft_lets_others_run(long long* rest);
/* A lock of the program's threads, zero while it is free: who waits lets other ranks run. */
void weft_take_lock(unsigned* lock);
void weft_give_lock(unsigned* lock);

#ifdef __cplusplus
}
#endif
#endif
