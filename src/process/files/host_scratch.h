/* Files that ranks of a process may take for their own (host_scratch.c). */
#ifndef WEFT_PROCESS_FILES_HOST_SCRATCH_H
#define WEFT_PROCESS_FILES_HOST_SCRATCH_H

/* The calling rank has created this file, or emptied it. -1: it has not. errno stays. */
void weft_note_made(int descriptor, const char* path);

#endif
