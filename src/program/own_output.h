/* Standard output and standard error that a rank has given another file: for the host of copies. */
#ifndef WEFT_PROGRAM_OWN_OUTPUT_H
#define WEFT_PROGRAM_OWN_OUTPUT_H
#ifdef __cplusplus
extern "C" {
#endif

/* What the calling rank writes to standard output (1) or standard error (2) goes to the file of `from`, as dup2(from,
   descriptor) would have it for a process. False, with errno. */
int weft_lead_output(int descriptor, int from);
/* Where it goes; -1: to the process's, or the caller is no rank with a copy of its program. */
int weft_own_output(int descriptor);
/* Whether the caller is such a rank. */
int weft_has_own_output(void);

#ifdef __cplusplus
}
#endif
#endif
