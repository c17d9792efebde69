/* What a program expects of its process, by the word that is given: each rank tells what is wrong, and rank 0 at the end in how
   many ranks all was right. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;
static int wrong;

static void expect(int right, const char* what) {
  if (right) return;
  ++wrong;
  fprintf(stderr, "rank %d: %s (errno %d)\n", rank, what, errno);
}

/* --- The number in the environment --------------------------------------------------------------------------- */

static int before_main = -1;
static __attribute__((constructor)) void look_early(void) {
  const char* const text = getenv("WEFT_RANK");
  if (text != NULL) before_main = atoi(text);
}

static const char* const names[] = {"WEFT_RANK", "WEFT_LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                    "PMI_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                                    "PMI_SIZE", "MPI_LOCALNRANKS"};
#define NAMES (int)(sizeof names / sizeof *names)
static int given[NAMES];

static void look_before_init(void) {
  for (int i = 0; i < NAMES; ++i) {
    const char* const text = getenv(names[i]);
    given[i] = text != NULL ? atoi(text) : -1;
  }
}

/* Finds none of them in what it is started with. */
#define LOOK "env | grep -E '^(WEFT_RANK=|WEFT_LOCAL|OMPI_COMM|PMI_RANK|PMI_SIZE|MPI_LOCAL)' 1>&2 && exit 9; exit 0"

static int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

static void environment(void) {
  for (int i = 0; i < NAMES; ++i) expect(given[i] == (i < 6 ? rank : size), names[i]);
  expect(before_main == rank, "the number in a constructor");
  char* const words[] = {"sh", "-c", LOOK, NULL};
  expect(system(LOOK) == 0, "system");
  pid_t child = fork();
  if (child == 0) execl("/bin/sh", "sh", "-c", LOOK, NULL), _exit(8);
  expect(status_of(child) == 0, "fork and execl");
  child = vfork();
  if (child == 0) execve("/bin/sh", words, environ), _exit(8);
  expect(status_of(child) == 0, "vfork and execve");
  expect(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0 && status_of(child) == 0, "posix_spawn");
  /* What the program says itself is passed on. */
  setenv("PMI_RANK", "77", 1);
  expect(system("test \"$PMI_RANK\" = 77 -a -z \"$PMI_SIZE\"") == 0, "a variable of the program");
}

/* --- The program's own file ------------------------------------------------------------------------------------- */

static const char* name_of(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* The address of a variable differs between files. */
static const char mark[] = "the mark of process.c";

static int has_mark(int descriptor) {
  struct stat found;
  if (descriptor < 0 || fstat(descriptor, &found) != 0) return 0;
  char* const bytes = malloc((size_t)found.st_size);
  const ssize_t size = read(descriptor, bytes, (size_t)found.st_size);
  const int has = size > 0 && memmem(bytes, (size_t)size, mark, sizeof mark) != NULL;
  free(bytes);
  close(descriptor);
  return has;
}

static void path(const char* own_name) {
  char text[PATH_MAX] = "", number[64];
  expect(readlink("/proc/self/exe", text, sizeof text - 1) > 0 && strcmp(name_of(text), own_name) == 0, text);
  snprintf(number, sizeof number, "/proc/%d/exe", (int)getpid());
  memset(text, 0, sizeof text);
  expect(readlinkat(AT_FDCWD, number, text, sizeof text - 1) > 0 && strcmp(name_of(text), own_name) == 0, number);
  expect(realpath("/proc/self/exe", text) == text && strcmp(name_of(text), own_name) == 0, "realpath");
  char* const canonical = canonicalize_file_name("/proc/self/exe");
  expect(canonical != NULL && strcmp(canonical, text) == 0, "canonicalize_file_name");
  free(canonical);
  expect(strcmp(name_of((const char*)getauxval(AT_EXECFN)), own_name) == 0, "AT_EXECFN");
  expect(getauxval(AT_PAGESZ) == (unsigned long)sysconf(_SC_PAGESIZE), "AT_PAGESZ");
  expect(has_mark(open("/proc/self/exe", O_RDONLY)), "open");
  FILE* const file = fopen("/proc/self/exe", "r");
  expect(file != NULL && has_mark(dup(fileno(file))), "fopen");
  if (file != NULL) fclose(file);
  struct stat by_link, by_name;
  expect(stat("/proc/self/exe", &by_link) == 0 && stat(text, &by_name) == 0 && by_link.st_ino == by_name.st_ino, "stat");
  /* The other names there are the kernel's. */
  expect(readlink("/proc/self/cwd", text, sizeof text) > 0, "cwd");
}

/* --- Children ------------------------------------------------------------------------------------------------- */

static pid_t start(int status) {
  char words[32];
  snprintf(words, sizeof words, "sleep 0.0%d; exit %d", (rank + 3) % 7, status);
  const pid_t child = fork();
  if (child == 0) execl("/bin/sh", "sh", "-c", words, (char*)NULL), _exit(99);
  return child;
}
static pid_t start_by_vfork(int status) {
  char words[32];
  snprintf(words, sizeof words, "exit %d", status);
  char* const all[] = {"sh", "-c", words, NULL};
  const pid_t child = vfork();
  if (child == 0) execve("/bin/sh", all, environ), _exit(99);
  return child;
}
static pid_t start_by_spawn(int status) {
  char words[32];
  snprintf(words, sizeof words, "exit %d", status);
  char* const all[] = {"sh", "-c", words, NULL};
  pid_t child = -1;
  posix_spawnp(&child, "sh", NULL, NULL, all, environ);
  return child;
}

static void children(void) {
  pid_t (*const ways[])(int) = {start, start_by_vfork, start_by_spawn};
  int status;
  struct rusage use;
  siginfo_t found;
  for (int round = 0; round < 3; ++round) {
    pid_t mine = ways[round](10 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(wait(&status) == mine && WEXITSTATUS(status) == 10 + rank, "wait");
    MPI_Barrier(MPI_COMM_WORLD);
    mine = ways[round](20 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(waitpid(-1, &status, 0) == mine && WEXITSTATUS(status) == 20 + rank, "waitpid(-1)");
    MPI_Barrier(MPI_COMM_WORLD);
    mine = ways[round](30 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(waitid(P_ALL, 0, &found, WEXITED) == 0 && found.si_pid == mine && found.si_status == 30 + rank, "waitid");
    MPI_Barrier(MPI_COMM_WORLD);
    mine = ways[round](40 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(wait3(&status, 0, &use) == mine && WEXITSTATUS(status) == 40 + rank, "wait3");
    MPI_Barrier(MPI_COMM_WORLD);
    mine = ways[round](50 + rank);
    const pid_t second = ways[round](60 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(wait4(second, &status, 0, &use) == second && WEXITSTATUS(status) == 60 + rank, "wait4");
    expect(waitpid(0, &status, 0) == mine && WEXITSTATUS(status) == 50 + rank, "waitpid(0)");
    MPI_Barrier(MPI_COMM_WORLD);
    /* A neighbour's is none of this rank's. */
    mine = ways[round](70 + rank);
    int of_neighbour = mine;
    MPI_Sendrecv_replace(&of_neighbour, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    if (size > 1) expect(waitpid(of_neighbour, &status, WNOHANG) == -1 && errno == ECHILD, "a neighbour's child");
    MPI_Barrier(MPI_COMM_WORLD);
    while (waitpid(-1, &status, WNOHANG) == 0) usleep(1000);
    expect(WEXITSTATUS(status) == 70 + rank, "waitpid(WNOHANG)");
    /* Those that have ended together. */
    const pid_t first = ways[round](1), other = ways[round](2);
    const pid_t one = wait(NULL), two = wait(NULL);
    expect((one == first && two == other) || (one == other && two == first), "two children");
    expect(system("exit 80") >> 8 == 80, "system");
    FILE* const pipe = popen("exit 90", "r");
    expect(pipe != NULL && pclose(pipe) >> 8 == 90, "popen");
    expect(wait(&status) == -1 && errno == ECHILD, "nobody is left");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  /* A child has children of its own. */
  const pid_t child = fork();
  if (child == 0) {
    const pid_t own = fork();
    if (own == 0) _exit(5);
    _exit(wait(&status) == own && WEXITSTATUS(status) == 5 ? 0 : 1);
  }
  expect(wait(&status) == child && status == 0, "a child of a child");
}

/* --- Standard output ------------------------------------------------------------------------------------------- */

/* In the file; it goes. */
static int has_text(const char* name, const char* text) {
  char found[256] = "";
  const int file = open(name, O_RDONLY);
  const ssize_t size = read(file, found, sizeof found - 1);
  close(file);
  unlink(name);
  if (size >= 0 && strcmp(found, text) == 0) return 1;
  fprintf(stderr, "rank %d: %s has '%s'\n", rank, name, found);
  return 0;
}

static void output(const char* directory) {
  char name[PATH_MAX], text[256];
  snprintf(name, sizeof name, "%s/dup2.%d", directory, rank);
  fflush(stdout);
  const int before = dup(1);
  const int own = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  expect(own >= 0 && dup2(own, 1) == 1, "dup2");
  close(own);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("printf %d\n", rank);
  fflush(stdout);
  dprintf(1, "dprintf %d\n", rank);
  const pid_t child = fork();
  if (child == 0) execl("/bin/sh", "sh", "-c", "echo child", (char*)NULL), _exit(8);
  expect(status_of(child) == 0, "fork");
  MPI_Barrier(MPI_COMM_WORLD);
  expect(dup2(before, 1) == 1, "dup2 back");
  close(before);
  snprintf(text, sizeof text, "printf %d\ndprintf %d\nchild\n", rank, rank);
  expect(has_text(name, text), "the file of dup2");
  printf("seen\n");
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  snprintf(name, sizeof name, "%s/freopen.%d", directory, rank);
  expect(freopen(name, "w", stdout) == stdout, "freopen");
  MPI_Barrier(MPI_COMM_WORLD);
  printf("reopened %d\n", rank);
  fflush(stdout);
  snprintf(text, sizeof text, "reopened %d\n", rank);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(has_text(name, text), "the file of freopen");
  fprintf(stderr, "error\n");
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  look_before_init();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "environment") == 0) environment();
  if (strcmp(what, "path") == 0) path("process");
  if (strcmp(what, "children") == 0) children();
  if (strcmp(what, "output") == 0) output(argv[2]);
  int right = wrong == 0, all;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) fprintf(stderr, "right in %d of %d\n", all, size);
  MPI_Finalize();
  return 0;
}
