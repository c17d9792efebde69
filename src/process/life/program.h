/* How a program with a main() runs and ends: for the objects that weftcc links to every program, and for the host. C: a program need
   not be C++. */
#ifndef WEFT_PROCESS_LIFE_PROGRAM_H
#define WEFT_PROCESS_LIFE_PROGRAM_H
#ifdef __cplusplus
extern "C" {
#endif

/* A program that is the only one of its process, loaded by the system. Both functions run in its rank: `construct` the constructors of
   its globals, `destroy` its handlers of atexit() and destructors. Each does nothing where the C library does it. */
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
/* The status with which the calling rank ends, as far as it is known. */
int weft_exit_status(void);

/* Whether the job ends, for whose rank -EINTR is no reason to go on. */
int weft_is_stopped(void);
/* The rank of a job that ends waits no longer: for calls that try again and again. */
void weft_check_stopped(int is_noexcept);

/* The host calls this before ranks run: each rank that ends in its program calls `hook`. */
void weft_set_rank_end(void (*hook)(int rank));
/* The calling rank has become this program, which a signal has ended. */
void weft_successor_was_killed(const char* program, int number);

/* A program that is its process's only copy calls this before ranks run: `find` tells where the globals of the program and
   of its libraries lie, in the order in which those of copies are told. The rank calls it when somebody asks. */
typedef void weft_statics_visitor(void* into, void* begin, unsigned long bytes);
typedef void weft_statics_finder(weft_statics_visitor* visit, void* into);
void weft_set_statics_finder(weft_statics_finder* find);

#ifdef __cplusplus
}
#endif
#endif
