/* The working directory and the file mask are the calling rank's own. */
#include <sys/stat.h>
#include <unistd.h>

#include "process/files/working_directory.h"

int chdir(const char* path) { return weft_change_directory(path, -1); }
int fchdir(int descriptor) { return weft_change_directory(NULL, descriptor); }
mode_t umask(mode_t mask) { return (mode_t)weft_change_mask(mask); }
