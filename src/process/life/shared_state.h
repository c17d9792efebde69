/* What ranks of a process share and a rank changes: people are told. */
#ifndef WEFT_PROCESS_LIFE_SHARED_STATE_H
#define WEFT_PROCESS_LIFE_SHARED_STATE_H
#ifdef __cplusplus
extern "C" {
#endif

/* What all ranks of a process share was changed by the calling one: with `check`, a line says so when
   ranks change it to different things. `what` and `value` are words for people. */
void weft_shares(const char* what, const char* value);
/* The calling rank creates a file that the other has created, each for itself: a line says so, once in the process. */
void weft_tells_of_same_file(const char* path, int other);

#ifdef __cplusplus
}
#endif
#endif
