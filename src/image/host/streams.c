/* Standard output and standard error of a process with many ranks: lines of all go through one stream each,
   which no rank may change for the others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "rank/program.h"

#define OF_LIBC(function) (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))

static int is_of_all(FILE* stream) {
  return (stream == stdout || stream == stderr) && weft_number() >= 0;
}

/* Lines leave when they are whole, whatever the buffer. */
int setvbuf(FILE* stream, char* buffer, int mode, size_t size) {
  return is_of_all(stream) ? 0 : OF_LIBC(setvbuf)(stream, buffer, mode, size);
}
void setbuffer(FILE* stream, char* buffer, size_t size) {
  setvbuf(stream, buffer, buffer != NULL ? _IOFBF : _IONBF, size);
}
void setbuf(FILE* stream, char* buffer) { setbuffer(stream, buffer, BUFSIZ); }
void setlinebuf(FILE* stream) { setvbuf(stream, NULL, _IOLBF, 0); }

int fclose(FILE* stream) {
  return is_of_all(stream) ? fflush(stream) : OF_LIBC(fclose)(stream);
}

static int is_refused(FILE* stream) {
  if (!is_of_all(stream)) return 0;
  weft_refuses(stream == stdout ? "reopen standard output" : "reopen standard error");
  errno = EPERM;
  return 1;
}

FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return is_refused(stream) ? NULL : OF_LIBC(freopen)(path, mode, stream);
}
FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return is_refused(stream) ? NULL : OF_LIBC(freopen64)(path, mode, stream);
}
