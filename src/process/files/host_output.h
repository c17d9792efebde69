/* Standard output and standard error that a rank has given another file, as calls name them. */
#ifndef WEFT_PROCESS_FILES_HOST_OUTPUT_H
#define WEFT_PROCESS_FILES_HOST_OUTPUT_H

/* The descriptor that code at `from` means by this one. */
int weft_meant_output(const void* from, int descriptor);

#endif
