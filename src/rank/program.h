/* What the objects that weftcc links to every program call in libweft. C: a program need not be C++. */
#ifndef WEFT_RANK_PROGRAM_H
#define WEFT_RANK_PROGRAM_H
#ifdef __cplusplus
extern "C" {
#endif

/* Runs main() as the only rank of this process, which has been loaded by the system. */
int weft_run_main(int (*main)(int, char**, char**), int argc, char** argv);

/* Ends the calling rank; returns when a thread calls that is no rank. */
void weft_exit(int status);

/* write(2): a rank's part of a line waits for the rest of it. */
long weft_write(int descriptor, const void* octets, unsigned long size);

/* Sleeps while other ranks run; 0 and nothing done when a thread calls that is no rank. */
int weft_sleep(long long nanoseconds);

#ifdef __cplusplus
}
#endif
#endif
