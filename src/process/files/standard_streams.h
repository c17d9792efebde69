/* Standard input, output and error of the calling rank. */
#ifndef WEFT_PROCESS_FILES_STANDARD_STREAMS_H
#define WEFT_PROCESS_FILES_STANDARD_STREAMS_H
#ifdef __cplusplus
extern "C" {
#endif

/* What the calling rank writes to standard output (1) or standard error (2) goes to the file of `from`, as dup2(from,
   descriptor) would have it for a process. False, with errno. */
int weft_redirect_output(int descriptor, int from);
/* The descriptor to which it goes; -1: to the process's, or the caller is no rank with a copy of its program. */
int weft_own_output(int descriptor);
/* Whether the caller is such a rank. */
int weft_has_own_output(void);
/* write(2): a rank's part of a line waits for the rest of it. */
long weft_write(int descriptor, const void* bytes, unsigned long size);
/* Whether standard input is empty for the caller: it belongs to rank 0. */
int weft_has_no_input(void);

#ifdef __cplusplus
}
#endif
#endif
