/* Locks of files that a rank has (locks.c). */
#ifndef WEFT_IMAGE_HOST_LOCKS_H
#define WEFT_IMAGE_HOST_LOCKS_H
#ifdef __cplusplus
extern "C" {
#endif

/* The code at `from` closes this descriptor: its rank's locks of that file go. errno stays. */
void weft_drop_locks(const void* from, int descriptor);
/* This rank has ended. */
void weft_drop_locks_of(int rank);

#ifdef __cplusplus
}
#endif
#endif
