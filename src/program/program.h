/* What the objects that weftcc links to every program call in libweft, and what the host of copies
   finds in them. C: a program need not be C++. */
#ifndef WEFT_RANK_PROGRAM_H
#define WEFT_RANK_PROGRAM_H
#ifdef __cplusplus
extern "C" {
#endif

/* What a copy of a program has of its own in place of the C library's. */
struct weft_own_state {
  char*** environment;
  /* Called before anything else of the copy. Null: standard input is the C library's. */
  void (*begin)(char** environment, void* standard_input);
  char* (*getenv)(const char* name);
  int (*setenv)(const char* name, const char* value, int overwrite);
  int (*putenv)(char* text);
  int (*unsetenv)(const char* name);
};

/* Of the calling rank, also in threads that it has made; null elsewhere, and when the rank has no copy. */
const struct weft_own_state* weft_own(void);

/* A program that is the only one of its process, loaded by the system. Both run in its rank: constructors of its globals,
   then its handlers of atexit() and destructors. Each does nothing where the C library does it. */
struct weft_own_code {
  int (*main)(int, char**, char**);
  void (*construct)(int, char**, char**);
  void (*destroy)(void);
};

/* Runs it as the only rank of this process. */
int weft_run_alone(const struct weft_own_code* code, int argc, char** argv);

/* Ends the calling rank; returns when a thread calls that is no rank. */
void weft_exit(int status);
/* The same without handlers of atexit() and destructors. */
void weft_exit_at_once(int status);

/* Called by the host, before ranks run: each rank that ends in its program calls `hook`. */
void weft_set_rank_end(void (*hook)(int rank));

/* With which the calling rank ends, as far as it is known. */
int weft_exit_status(void);

/* The calling rank is about to send this signal to its process: says so when the process dies of it. */
void weft_raises(int number);
/* The same of abort(). */
void weft_aborts(void);
/* Whether the process's only rank takes the signals of its process itself. */
int weft_takes_signals(void);

/* pthread_kill() behind the program's own. The loader is asked once in the process: a copy of a program stands behind
   all earlier ones in its list. */
int (*weft_pthread_kill_of_libc(void))(unsigned long thread, int number);

/* write(2): a rank's part of a line waits for the rest of it. */
long weft_write(int descriptor, const void* bytes, unsigned long size);

/* Whether standard input is empty for the caller: it belongs to rank 0. */
int weft_has_no_input(void);

/* Sleeps while other ranks run; 0 and nothing done when a thread calls that is no rank. */
int weft_sleep(long long nanoseconds);

/* For a rank that would be blocked in the kernel while it waits for a thread of its program, which may wait in
   MPI for another rank of the same worker: other ranks run for a moment, a longer one each time, of which
   `rest` keeps account, 0 at first. 0 and nothing done where the caller may be blocked: it keeps nobody waiting. */
int weft_lets_others_run(long long* rest);
/* Whether it would do so. */
int weft_keeps_others(void);
/* Both for a rank that waits for something outside of its program, another process, say: its threads do not matter, and
   handlers of its signals are to run meanwhile. */
int weft_has_others(void);
int weft_lets_any_run(long long* rest);
/* A lock of the program's threads, zero while it is free: who waits lets other ranks run. */
void weft_take_lock(unsigned* lock);
void weft_give_lock(unsigned* lock);

/* A region of OpenMP: so that the thread that begins it, when it is a rank's own, does not wait in the
   region's barriers for threads that wait in MPI for other ranks of its worker, it lets those run until all others
   of the team have come to the barrier, too. */
struct weft_region;
/* Null, always when `body` is: the team runs `body(argument)` by itself. Otherwise each of its threads calls
   weft_run_part(). Both end with weft_end_region(), which is given the `outer` that this one has set. */
struct weft_region* weft_begin_region(void (*body)(void*), void* argument,
                                      struct weft_region** outer);
void weft_end_region(struct weft_region* outer);
void weft_run_part(struct weft_region* region, unsigned member, unsigned members);
/* Each thread of a team, before a barrier of the region that it is in. */
void weft_meet_in_region(void);
/* A thread of the team has made a task. Whoever waits in OpenMP's barriers runs those: the first thread does not wait
   outside of them any more. */
void weft_has_tasks(void);

/* chdir(2), of the path, or fchdir(2) when it is null, and umask(2): of the calling rank alone. */
int weft_change_directory(const char* path, int descriptor);
unsigned weft_change_mask(unsigned mask);

/* Of the calling rank, also in threads that it has made; -1 elsewhere. */
int weft_number(void);

/* The calling rank creates a file that the other has created, each for itself: a line says so, once in the process. */
void weft_tells_of_same_file(const char* path, int other);

/* What all ranks of a process share was changed by the calling one: with `check`, a line says so when
   ranks change it to different things. `what` and `value` are words for people. */
void weft_shares(const char* what, const char* value);
/* The same for a signal and its handler, which are the same when they are one function of the program. */
void weft_handles(int number, void (*handler)(int));

#ifdef __cplusplus
}
#endif
#endif
