/* What weftrun preloads into the first process of a job whose program is none of weft's, an interpreter, say: when the process
   ends, it looks whether another MPI was loaded and weft's was not. Then each process was a job of its own for that MPI, and
   nobody else says so. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct found {
  const char* other;
  int has_weft;
};

static int look_at(struct dl_phdr_info* library, size_t size, void* to) {
  struct found* const seen = to;
  const char* const path = library->dlpi_name;
  const char* const slash = strrchr(path, '/');
  const char* const name = slash != NULL ? slash + 1 : path;
  (void)size;
  if (strncmp(name, "libweft.so", 10) == 0) seen->has_weft = 1;
  if (strncmp(name, "libmpi.so", 9) == 0 || strncmp(name, "libmpich.so", 11) == 0 || strncmp(name, "libmpi_abi.so", 13) == 0)
    seen->other = path;
  return 0;
}

static pid_t process;

/* Scripts of these start the program in their own place. */
static int is_shell(const char* name) {
  static const char* const names[] = {"sh", "bash", "dash", "env"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcmp(name, names[i]) == 0) return 1;
  return 0;
}

/* What the program itself starts is another program. */
static __attribute__((constructor)) void begin(int argc, char** argv, char** environment) {
  (void)argc;
  (void)argv;
  if (is_shell(program_invocation_short_name)) return;
  process = getpid();
  const char* const own = getenv("WEFT_OTHER_MPI");
  for (; own != NULL && *environment != NULL; ++environment) {
    if (strncmp(*environment, "LD_PRELOAD=", 11) != 0) continue;
    const size_t length = strlen(own);
    char* const list = *environment + 11;
    if (strncmp(list, own, length) != 0) continue;
    if (list[length] == ':')
      memmove(list, list + length + 1, strlen(list + length + 1) + 1);
    else if (list[length] == '\0')
      unsetenv("LD_PRELOAD");
    break;
  }
  unsetenv("WEFT_OTHER_MPI");
}

static __attribute__((destructor)) void end(void) {
  if (getpid() != process) return;
  struct found seen = {NULL, 0};
  dl_iterate_phdr(look_at, &seen);
  if (seen.other == NULL || seen.has_weft) return;
  const char* const ranks = getenv("WEFT_RANKS");
  dprintf(STDERR_FILENO,
          "weft: %s has loaded another MPI, %s, for which each of the %s processes of this job was a job of its own: build what "
          "uses it with weft's mpicc (Python: MPICC=mpicc pip install --no-binary mpi4py mpi4py), or start it with that MPI's "
          "mpirun\n",
          program_invocation_short_name, seen.other, ranks != NULL ? ranks : "");
}
