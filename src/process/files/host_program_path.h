/* Which file the program is that a host runs. */
#ifndef WEFT_PROCESS_FILES_HOST_PROGRAM_PATH_H
#define WEFT_PROCESS_FILES_HOST_PROGRAM_PATH_H
#ifdef __cplusplus
extern "C" {
#endif

/* The host calls it once, before ranks run; `path` is absolute and kept. */
void weft_set_program_path(const char* path);

/* `path`, or the program's where `path` names the file that this process was started from. */
const char* weft_program_path(const char* path);

/* Which rank has started this child; -1: none. */
int weft_rank_of_child(int number);
/* A child that has ended, and its rank: each is given once. 0: there is none. */
int weft_next_ended_child(int* rank);

#ifdef __cplusplus
}
#endif
#endif
