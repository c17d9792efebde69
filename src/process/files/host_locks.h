/* Locks of files that a rank has (host_locks.c). */
#ifndef WEFT_PROCESS_FILES_HOST_LOCKS_H
#define WEFT_PROCESS_FILES_HOST_LOCKS_H
#ifdef __cplusplus
extern "C" {
#endif

/* The code at `from` closes this descriptor: its rank's locks of that file go. errno stays. */
void weft_drop_locks(const void* from, int descriptor);
/* The calling rank closes this descriptor: its locks of that file go. errno stays. */
void weft_drop_own_locks(int descriptor);
/* This rank has ended: all its locks go. */
void weft_drop_locks_of(int rank);

#ifdef __cplusplus
}
#endif
#endif
