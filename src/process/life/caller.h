/* Who calls: for C code of the host and of each copy of a program. */
#ifndef WEFT_PROCESS_LIFE_CALLER_H
#define WEFT_PROCESS_LIFE_CALLER_H
#ifdef __cplusplus
extern "C" {
#endif

/* What a copy of a program has of its own in place of the C library's. */
struct weft_own_state {
  char*** environment;
  /* Comes before anything else of the copy, with its streams. A null standard input means the C library's. */
  void (*begin)(char** environment, void* standard_input, void* standard_output, void* standard_error);
  char* (*getenv)(const char* name);
  int (*setenv)(const char* name, const char* value, int overwrite);
  int (*putenv)(char* text);
  int (*unsetenv)(const char* name);
};

/* The state of the calling rank, also in threads that it has made; null elsewhere, and when the rank has no copy. */
const struct weft_own_state* weft_own(void);
/* The number of the calling rank, also in threads that it has made; -1 elsewhere. */
int weft_number(void);
/* Whether a rank's own thread calls, and not one that it has made. */
int weft_is_ranks_own_thread(void);

/* Whether the code at `from` is the calling rank's, or C++'s library: what it does to the process the rank does. */
int weft_is_ranks_code(const void* from);
/* The same without C++'s library. */
int weft_is_private(const void* from);

#ifdef __cplusplus
}
#endif
#endif
