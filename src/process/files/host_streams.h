/* Streams that ranks open on what may wait: between the files of this directory, and for the host. */
#ifndef WEFT_PROCESS_FILES_HOST_STREAMS_H
#define WEFT_PROCESS_FILES_HOST_STREAMS_H
#include <stdio.h>
#include <sys/types.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The flags of open(); -1: the C library takes no such mode. */
int weft_flags_of_mode(const char* mode);
/* fdopen() by code at `from`. */
FILE* weft_fdopen_for(const void* from, int descriptor, const char* mode);
/* read() by code at `from`. */
ssize_t weft_read_for(const void* from, int descriptor, void* bytes, size_t size);
/* The calling rank ends as exit() has it: its streams are flushed. */
void weft_flush_streams(void);
/* A child that this rank has forked calls it: it has the rank's streams alone. */
void weft_keep_streams_of(int rank);

#ifdef __cplusplus
}
#endif
#endif
