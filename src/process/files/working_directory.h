/* The working directory and the file mask of the calling rank. */
#ifndef WEFT_PROCESS_FILES_WORKING_DIRECTORY_H
#define WEFT_PROCESS_FILES_WORKING_DIRECTORY_H
#ifdef __cplusplus
extern "C" {
#endif

/* chdir(2), of the path, or fchdir(2) when it is null. */
int weft_change_directory(const char* path, int descriptor);
/* umask(2). */
unsigned weft_change_mask(unsigned mask);

#ifdef __cplusplus
}
#endif
#endif
