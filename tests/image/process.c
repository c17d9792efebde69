/* What a program expects of its process, by the word that is given: each rank tells what is wrong, and rank 0 at the end in how
   many ranks all was right. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;
static int wrong;
/* That of the process, which ranks may share: each has another for its own. */
static pid_t number_of_process(void) { return (pid_t)syscall(SYS_getpid); }

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
    FILE* const closed = popen("exit 91", "r");
    expect(closed != NULL && fclose(closed) >> 8 == 91, "popen, ended by fclose");
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

/* --- Descriptors of children ------------------------------------------------------------------------------------ */

/* Children that do nothing but live, with what they were given. */
static void start_all_ways(pid_t children[4], FILE** stream) {
  char* const words[] = {"sleep", "100", NULL};
  children[0] = fork();
  if (children[0] == 0) execvp("sleep", words), _exit(99);
  children[1] = vfork();
  if (children[1] == 0) execve("/bin/sleep", words, environ), _exit(99);
  expect(posix_spawnp(&children[2], "sleep", NULL, NULL, words, environ) == 0, "posix_spawnp");
  /* A child that starts no program. */
  children[3] = fork();
  if (children[3] == 0) sleep(100), _exit(99);
  *stream = popen("read line", "w");
  expect(*stream != NULL, "popen");
}
static void end_all(const pid_t children[4], FILE* stream) {
  for (int i = 0; i < 4; ++i) expect(kill(children[i], SIGKILL) == 0 && status_of(children[i]) == SIGKILL, "a child");
  fputs("line\n", stream);
  expect(pclose(stream) == 0, "pclose");
}

/* Whether there is nobody left who could write. */
static int has_ended(int end) {
  struct pollfd all = {end, POLLIN, 0};
  char rest;
  const int is_over = poll(&all, 1, 10000) == 1 && read(end, &rest, 1) == 0;
  close(end);
  return is_over;
}
/* What is written there by a program that this rank starts. */
static int gets_from_program(int in, int out) {
  char command[64], got[8] = "";
  snprintf(command, sizeof command, "echo own > /proc/self/fd/%d", out);
  return system(command) == 0 && read(in, got, sizeof got) == 4 && strcmp(got, "own\n") == 0;
}

static int shares_process(void);
static void descriptors(const char* directory) {
  pid_t children[4];
  FILE* stream;
  char name[PATH_MAX];
  for (int owner = 0; owner < size; ++owner) {
    snprintf(name, sizeof name, "%s/locked", directory);
    int ends[2] = {-1, -1}, sockets[2] = {-1, -1}, again = -1, listens = -1, port = 0, locked = -1;
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof where;
    if (rank == owner) {
      expect(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "pipe and socketpair");
      again = fcntl(ends[1], F_DUPFD, 100);
      expect(again >= 100 && dup2(again, again + 1) == again + 1, "F_DUPFD and dup2");
      expect(fcntl(ends[0], F_GETFD) == 0 && fcntl(again, F_GETFD) == 0, "open to programs");
      listens = socket(AF_INET, SOCK_STREAM, 0);
      expect(bind(listens, (struct sockaddr*)&where, length) == 0 && listen(listens, 2) == 0, "listen");
      getsockname(listens, (struct sockaddr*)&where, &length);
      port = where.sin_port;
      locked = open(name, O_RDWR | O_CREAT, 0600);
      expect(flock(locked, LOCK_EX) == 0, "flock");
    }
    MPI_Bcast(&port, 1, MPI_INT, owner, MPI_COMM_WORLD);
    if (rank != owner) start_all_ways(children, &stream);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == owner) {
      expect(gets_from_program(ends[0], ends[1]), "a program has those of its rank");
      close(ends[1]);
      close(again);
      close(again + 1);
      close(sockets[1]);
      close(listens);
      close(locked);
      expect(has_ended(ends[0]), "the end of a pipe");
      expect(has_ended(sockets[0]), "the end of a connection");
      locked = open(name, O_RDWR);
      expect(flock(locked, LOCK_EX | LOCK_NB) == 0, "a lock that was given up");
      close(locked);
      unlink(name);
      where.sin_port = (in_port_t)port;
      listens = socket(AF_INET, SOCK_STREAM, 0);
      expect(connect(listens, (struct sockaddr*)&where, sizeof where) == -1 && errno == ECONNREFUSED, "a closed port");
      close(listens);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != owner) end_all(children, stream);
  }
  /* Streams of popen() before are closed in the child of a later one. */
  FILE* const first = popen("cat >/dev/null", "w");
  FILE* const second = popen("cat >/dev/null", "w");
  expect(first != NULL && pclose(first) == 0 && second != NULL && pclose(second) == 0, "two of popen()");
  /* A rank closes its own. */
  int mine[2], kept = rank;
  expect(pipe(mine) == 0 && write(mine[1], &kept, sizeof kept) == sizeof kept, "pipe");
  const int shares = shares_process();
  if (rank % 2 == 0 && shares) {
    closefrom(3);
    expect(fcntl(mine[0], F_GETFD) == -1 && errno == EBADF, "closefrom");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2 != 0 || !shares) {
    expect(read(mine[0], &kept, sizeof kept) == sizeof kept && kept == rank, "what another rank has closed");
    close(mine[0]);
    close(mine[1]);
  }
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
  /* What asks for the file has the rank's, too. */
  struct stat asked;
  expect(fstat(1, &asked) == 0 && S_ISREG(asked.st_mode), "fstat");
  expect(lseek(1, 0, SEEK_CUR) == asked.st_size && fsync(1) == 0 && isatty(1) == 0, "lseek and fsync");
  const int again = fcntl(1, F_DUPFD, 10);
  expect(again >= 10 && write(again, "again\n", 6) == 6 && close(again) == 0, "F_DUPFD");
  expect(dup2(before, 1) == 1, "dup2 back");
  close(before);
  snprintf(text, sizeof text, "printf %d\ndprintf %d\nchild\nagain\n", rank, rank);
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

/* --- Calls that block ------------------------------------------------------------------------------------------- */

/* Each is a call that only the next rank ends, which the rank of the same worker may be: by this message. */
static int next_rank(void) { return (rank + 1) % size; }
static int rank_before(void) { return (rank + size - 1) % size; }
enum { ways_of_blocking = 16 };
struct place_of_word {
  int* word;
  pid_t process;
};

/* What one rank gives another: all are of one process, or are reached by name. */
static char room[PATH_MAX];
static const char* place(const char* what, int of) {
  static char name[PATH_MAX + 64];
  snprintf(name, sizeof name, "%s/%s.%d", room, what, of);
  return name;
}

static struct sockaddr_un address(int of) {
  struct sockaddr_un made = {.sun_family = AF_UNIX};
  snprintf(made.sun_path, sizeof made.sun_path, "%s", place("socket", of));
  return made;
}

/* Lets the other ranks come to their blocking calls first, if these let any rank run. */
static void let_others_begin(void) {
  for (int i = 0; i < 3; ++i) usleep(1000);
}

/* An end of a pipe that another rank writes to, when a message tells it. */
static int first_of(const char* fifo) { return open(fifo, O_RDWR); }
static void tell(int of, char what) {
  const int end = first_of(place("fifo", of));
  expect(write(end, &what, 1) == 1, "write");
  close(end);
}

/* The ranks wait in turns, one at a time: the others are free to help it, after a meeting that only those take part in. */
static void wait_in(int way) {
  const int end = first_of(place("fifo", rank));
  char got = 0;
  int status;
  struct pollfd ends = {end, POLLIN, 0};
  struct timespec most = {60, 0};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(end, &set);
  struct timeval time = {60, 0};
  struct sockaddr_un mine = address(rank);
  struct iovec part = {&got, 1};
  switch (way) {
    case 0:
      expect(read(end, &got, 1) == 1 && got == 'x', "read");
      break;
    case 1:
      expect(poll(&ends, 1, 60000) == 1 && ends.revents == POLLIN, "poll");
      break;
    case 2:
      expect(select(end + 1, &set, NULL, NULL, &time) == 1 && FD_ISSET(end, &set), "select");
      break;
    case 3: {
      const int events = epoll_create1(0);
      struct epoll_event event = {.events = EPOLLIN};
      epoll_ctl(events, EPOLL_CTL_ADD, end, &event);
      expect(epoll_wait(events, &event, 1, -1) == 1 && event.events == EPOLLIN, "epoll_wait");
      close(events);
      break;
    }
    case 4: {
      const int listens = socket(AF_UNIX, SOCK_STREAM, 0);
      unlink(mine.sun_path);
      expect(bind(listens, (struct sockaddr*)&mine, sizeof mine) == 0 && listen(listens, 1) == 0, "listen");
      MPI_Send(NULL, 0, MPI_INT, next_rank(), 1, MPI_COMM_WORLD);
      const int one = accept(listens, NULL, NULL);
      expect(one >= 0, "accept");
      expect(recv(one, &got, 1, 0) == 1 && got == 'y', "recv");
      expect(recv(one, &got, 1, 0) == 0, "the end of a connection");
      close(one);
      close(listens);
      unlink(mine.sun_path);
      break;
    }
    case 5: {
      const int file = open(place("lock", rank), O_RDWR | O_CREAT, 0600);
      expect(flock(file, LOCK_EX) == 0, "flock");
      close(file);
      break;
    }
    case 6: {
      const pid_t child = fork();
      if (child == 0) _exit(read(end, &got, 1) == 1 ? 7 : 8);
      expect(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "waitpid");
      break;
    }
    case 7: {
      char words[PATH_MAX + 64];
      snprintf(words, sizeof words, "head -c 1 < %s > /dev/null; exit 9", place("fifo", rank));
      expect(system(words) >> 8 == 9, "system");
      break;
    }
    case 8:
      expect(ppoll(&ends, 1, &most, NULL) == 1 && pselect(end + 1, &set, NULL, NULL, &most, NULL) == 1, "ppoll");
      break;
    case 9:
      expect(readv(end, &part, 1) == 1 && got == 'x', "readv");
      break;
    case 10: {
      struct {
        long type;
        char text[4];
      } message;
      const int queue = msgget(ftok(place("fifo", rank), 1), IPC_CREAT | 0600);
      MPI_Send(NULL, 0, MPI_INT, next_rank(), 1, MPI_COMM_WORLD);
      expect(msgrcv(queue, &message, sizeof message.text, 0, 0) == 4 && message.text[0] == 'm', "msgrcv");
      msgctl(queue, IPC_RMID, NULL);
      break;
    }
    case 11: {
      const int queue = semget(ftok(place("fifo", rank), 2), 1, IPC_CREAT | 0600);
      struct sembuf down = {0, -1, 0};
      MPI_Send(NULL, 0, MPI_INT, next_rank(), 1, MPI_COMM_WORLD);
      expect(semop(queue, &down, 1) == 0, "semop");
      semctl(queue, 0, IPC_RMID);
      break;
    }
    case 12: { /* More than the pipe takes. */
      static char many[300000];
      const int out = open(place("fifo", rank), O_RDWR);
      expect(write(out, many, sizeof many) == (ssize_t)sizeof many, "a long write");
      close(out);
      break;
    }
    case 13: { /* Opening one waits for the other end. */
      mkfifo(place("other", rank), 0600);
      MPI_Send(NULL, 0, MPI_INT, next_rank(), 1, MPI_COMM_WORLD);
      const int other = open(place("other", rank), O_RDONLY);
      expect(other >= 0 && read(other, &got, 1) == 1 && got == 'o', "open");
      close(other);
      mkfifo(place("third", rank), 0600);
      MPI_Send(NULL, 0, MPI_INT, next_rank(), 1, MPI_COMM_WORLD);
      FILE* const stream = fopen(place("third", rank), "r");
      expect(stream != NULL && fgetc(stream) == 'p', "fopen");
      if (stream != NULL) fclose(stream);
      unlink(place("other", rank));
      unlink(place("third", rank));
      break;
    }
    case 14: { /* In memory that processes share. */
      const int file = open(place("memory", rank), O_RDWR | O_CREAT, 0600);
      expect(ftruncate(file, 4096) == 0, "ftruncate");
      pthread_mutex_t* const shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      sem_t* const semaphore = (sem_t*)((char*)shared + 2048);
      close(file);
      pthread_mutexattr_t attributes;
      pthread_mutexattr_init(&attributes);
      pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
      pthread_mutex_init(shared, &attributes);
      sem_init(semaphore, 1, 0);
      MPI_Send(NULL, 0, MPI_INT, next_rank(), 1, MPI_COMM_WORLD);
      expect(sem_wait(semaphore) == 0, "sem_wait");
      expect(pthread_mutex_lock(shared) == 0, "a mutex of several processes");
      pthread_mutex_unlock(shared);
      munmap(shared, 4096);
      unlink(place("memory", rank));
      break;
    }
    case 15: { /* As C++'s atomics wait. */
      static int word;
      const struct place_of_word mine = {&word, number_of_process()};
      word = 0;
      MPI_Send(&mine, sizeof mine, MPI_BYTE, next_rank(), 1, MPI_COMM_WORLD);
      struct timespec moment = {0, 300000000}; /* Of another process, a time ends it. */
      while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0)
        if (syscall(SYS_futex, &word, 0, 0, &moment, NULL, 0) != 0 && errno == ETIMEDOUT) break;
      break;
    }
  }
  if (way == 1 || way == 2 || way == 3 || way == 8) expect(read(end, &got, 1) == 1, "what was polled for");
  close(end);
}

/* What ends it. */
static void help(int way, int whom) {
  struct sockaddr_un its = address(whom);
  switch (way) {
    case 4: {
      MPI_Recv(NULL, 0, MPI_INT, whom, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const int one = socket(AF_UNIX, SOCK_STREAM, 0);
      expect(connect(one, (struct sockaddr*)&its, sizeof its) == 0, "connect");
      let_others_begin();
      expect(send(one, "y", 1, 0) == 1, "send");
      let_others_begin();
      close(one);
      break;
    }
    case 10: {
      struct {
        long type;
        char text[4];
      } message = {1, "mess"};
      MPI_Recv(NULL, 0, MPI_INT, whom, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      let_others_begin();
      expect(msgsnd(msgget(ftok(place("fifo", whom), 1), 0600), &message, sizeof message.text, 0) == 0, "msgsnd");
      break;
    }
    case 11: {
      struct sembuf up = {0, 1, 0};
      MPI_Recv(NULL, 0, MPI_INT, whom, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      let_others_begin();
      expect(semop(semget(ftok(place("fifo", whom), 2), 1, 0600), &up, 1) == 0, "semop up");
      break;
    }
    case 12: {
      static char many[300000];
      const int end = first_of(place("fifo", whom));
      for (size_t all = 0; all < sizeof many;) {
        const ssize_t got = read(end, many, sizeof many);
        expect(got > 0, "a long read");
        if (got <= 0) break;
        all += (size_t)got;
      }
      close(end);
      break;
    }
    case 13: {
      MPI_Recv(NULL, 0, MPI_INT, whom, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      let_others_begin();
      int end = open(place("other", whom), O_WRONLY);
      expect(write(end, "o", 1) == 1, "write to who opens");
      close(end);
      MPI_Recv(NULL, 0, MPI_INT, whom, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      let_others_begin();
      end = open(place("third", whom), O_WRONLY);
      expect(write(end, "p", 1) == 1, "write to who opens a stream");
      close(end);
      break;
    }
    case 14: {
      MPI_Recv(NULL, 0, MPI_INT, whom, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const int file = open(place("memory", whom), O_RDWR);
      pthread_mutex_t* const shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      close(file);
      expect(pthread_mutex_lock(shared) == 0, "the mutex");
      let_others_begin();
      sem_post((sem_t*)((char*)shared + 2048));
      let_others_begin();
      pthread_mutex_unlock(shared);
      munmap(shared, 4096);
      break;
    }
    case 15: {
      struct place_of_word its;
      MPI_Recv(&its, sizeof its, MPI_BYTE, whom, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      let_others_begin();
      if (its.process != number_of_process()) break;
      __atomic_store_n(its.word, 1, __ATOMIC_RELEASE);
      syscall(SYS_futex, its.word, 1, 1, NULL, NULL, 0);
      break;
    }
    default:
      let_others_begin();
      tell(whom, 'x');
  }
}

/* In each way all ranks wait for the one before them in a ring: rank 0 helps first. One that is alone helps itself before. */
static void blocking(const char* directory) {
  snprintf(room, sizeof room, "%s", directory);
  mkfifo(place("fifo", rank), 0600);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int way = 0; way < ways_of_blocking; ++way) {
    int locked = -1;
    if (size == 1) {
      const int needs_another = way == 4 || (way >= 10 && way != 5);
      const int kept = first_of(place("fifo", rank));
      if (!needs_another) {
        tell(rank, 'x');
        wait_in(way);
      }
      close(kept);
      continue;
    }
    if (way == 5) {
      locked = open(place("lock", next_rank()), O_RDWR | O_CREAT, 0600);
      expect(flock(locked, LOCK_EX) == 0, "flock of the next");
    }
    const int kept = first_of(place("fifo", next_rank())); /* What is written stays in it from now on. */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int waiting = 0; waiting < 2; ++waiting) { /* The even ranks wait for odd ones, then the other way round. */
      if (rank % 2 == waiting) {
        wait_in(way);
      } else if (way == 5) {
        let_others_begin();
      } else {
        help(way, rank_before());
      }
      if (rank % 2 != waiting && way == 5) {
        close(locked);
      }
      if (way != 5) MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    close(kept);
  }
  unlink(place("fifo", rank));
  unlink(place("lock", rank));
}

/* Nobody ends the call of rank 0; the last rank ends the job, or all wait. */
static void stopped(const char* directory, const char* call, const char* end) {
  snprintf(room, sizeof room, "%s", directory);
  if (rank == size - 1) {
    MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int file = open(place("lock", 0), O_RDWR | O_CREAT, 0600);
    flock(file, LOCK_EX);
    MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    usleep(30000);
    if (strcmp(end, "exit") == 0) exit(3);
    if (strcmp(end, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(end, "die") == 0) raise(SIGKILL);
  }
  if (rank == 0) {
    mkfifo(place("fifo", 0), 0600);
    const int file = first_of(place("fifo", 0));
    const int locked = open(place("lock", 0), O_RDWR | O_CREAT, 0600);
    struct pollfd one = {file, POLLIN, 0};
    char got;
    MPI_Send(NULL, 0, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(call, "read") == 0) expect(read(file, &got, 1) == 0, "read");
    if (strcmp(call, "poll") == 0) expect(poll(&one, 1, -1) == 0, "poll");
    while (strcmp(call, "flock") == 0 && flock(locked, LOCK_EX) != 0 && errno == EINTR) continue;
    if (strcmp(call, "wait") == 0) {
      const pid_t child = fork();
      if (child == 0) execl("/bin/sleep", "sleep", "0.3", (char*)NULL), _exit(9);
      waitpid(child, NULL, 0);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* --- Locks of files ----------------------------------------------------------------------------------------------- */

static int lock_bytes(int file, int command, int type, off_t from, off_t size) {
  struct flock asked = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = from, .l_len = size};
  return fcntl(file, command, &asked);
}

static long long number_in(int file) {
  long long number = 0;
  return pread(file, &number, sizeof number, 0) >= 0 ? number : -1;
}

enum { turns = 10 };
static void count_under_lock(int file, int by_lockf) {
  for (int i = 0; i < turns; ++i) {
    const int taken = by_lockf ? lockf(file, F_LOCK, 0) : lock_bytes(file, F_SETLKW, F_WRLCK, 0, 0);
    expect(taken == 0, "a lock");
    const long long number = number_in(file) + 1;
    usleep(100); /* Others may run. */
    expect(pwrite(file, &number, sizeof number, 0) == sizeof number, "pwrite");
    expect((by_lockf ? lockf(file, F_ULOCK, 0) : lock_bytes(file, F_SETLK, F_UNLCK, 0, 0)) == 0, "unlock");
  }
}

static int in_child(int (*body)(const char*), const char* path) {
  const pid_t child = fork();
  if (child == 0) _exit(body(path));
  const int status = status_of(child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
static int is_kept_out(const char* path) {
  const int file = open(path, O_RDWR);
  return lock_bytes(file, F_SETLK, F_WRLCK, 0, 1) == -1 && (errno == EAGAIN || errno == EACCES) ? 3 : 4;
}

static void locks(const char* directory) {
  snprintf(room, sizeof room, "%s", directory);
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s", place("counted", 0));
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  for (int by_lockf = 0; by_lockf < 2; ++by_lockf) {
    MPI_Barrier(MPI_COMM_WORLD);
    count_under_lock(file, by_lockf);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(number_in(file) == (long long)turns * size * (by_lockf + 1), "the count");
  }
  /* One's own locks never keep one out; parts of them can go. */
  const int again = open(path, O_RDWR);
  const off_t mine = 100 * (rank + 1);
  expect(lock_bytes(file, F_SETLK, F_WRLCK, mine, 100) == 0 && lock_bytes(again, F_SETLK, F_RDLCK, mine + 20, 10) == 0 &&
             lock_bytes(again, F_SETLK, F_WRLCK, mine + 20, 10) == 0 && lock_bytes(file, F_SETLK, F_UNLCK, mine + 90, 10) == 0,
         "locks by two descriptors");
  MPI_Barrier(MPI_COMM_WORLD);
  struct flock asked = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100 * (next_rank() + 1), .l_len = 50};
  expect(fcntl(file, F_GETLK, &asked) == 0, "F_GETLK");
  if (size > 1) {
    expect(asked.l_type == F_WRLCK && asked.l_pid != 0, "whose lock it is");
    expect(lock_bytes(file, F_SETLK, F_RDLCK, 100 * (next_rank() + 1), 1) == -1 && errno == EAGAIN, "a lock of another");
    expect(lseek(file, 100 * (next_rank() + 1), SEEK_SET) > 0 && lockf(file, F_TEST, 1) == -1 && errno == EACCES, "F_TEST");
  } else {
    expect(asked.l_type == F_UNLCK, "no lock of another");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  close(again); /* Drops all. */
  MPI_Barrier(MPI_COMM_WORLD);
  expect(lock_bytes(file, F_SETLK, F_RDLCK, 0, 0) == 0, "nothing is locked after close");
  MPI_Barrier(MPI_COMM_WORLD);
  lock_bytes(file, F_SETLK, F_UNLCK, 0, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  /* A descriptor must allow what the lock is for. */
  const int only_read = open(path, O_RDONLY);
  expect(lock_bytes(only_read, F_SETLK, F_WRLCK, mine, 1) == -1 && errno == EBADF, "a lock for writing");
  expect(lock_bytes(only_read, F_SETLK, F_RDLCK, mine, 1) == 0 && lock_bytes(file, F_SETLK, F_WRLCK, mine, 1) == 0,
         "first for reading, then for writing");
  close(only_read);
  /* Another process is kept out, a child too, which has none of its parent's. */
  char own[PATH_MAX + 64];
  snprintf(own, sizeof own, "%s", place("own", rank));
  int one = open(own, O_RDWR | O_CREAT, 0600);
  expect(lock_bytes(one, F_SETLK, F_WRLCK, 0, 0) == 0 && in_child(is_kept_out, own) == 3, "a child is kept out");
  FILE* const stream = fopen(own, "r");
  fclose(stream);
  expect(in_child(is_kept_out, own) == 4, "fclose drops");
  const int second = open(own, O_RDONLY);
  expect(lock_bytes(one, F_SETLK, F_WRLCK, 0, 0) == 0 && in_child(is_kept_out, own) == 3, "a child is kept out again");
  expect(close_range((unsigned)second, (unsigned)second, 0) == 0 && in_child(is_kept_out, own) == 4, "close_range drops");
  close(one);
  unlink(own);
  /* Two that wait for each other: one is told. */
  if (size > 1 && rank < 2) {
    snprintf(path, sizeof path, "%s", place("circle", 0));
    one = open(path, O_RDWR | O_CREAT, 0600);
    int together = number_of_process();
    MPI_Sendrecv_replace(&together, 1, MPI_INT, 1 - rank, 3, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(lock_bytes(one, F_SETLK, F_WRLCK, rank, 1) == 0, "one's own half");
    MPI_Sendrecv(NULL, 0, MPI_INT, 1 - rank, 4, NULL, 0, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int is_told = 0;
    /* Between processes of a job the kernel sees no circle. */
    if (together == number_of_process()) {
      is_told = lock_bytes(one, F_SETLKW, F_WRLCK, 1 - rank, 1) == -1;
      if (is_told) expect(errno == EDEADLK, "a circle");
      lock_bytes(one, F_SETLK, F_UNLCK, 0, 0);
      int other = is_told;
      MPI_Sendrecv_replace(&other, 1, MPI_INT, 1 - rank, 5, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(is_told + other == 1, "one of two is told");
    }
    close(one);
    unlink(path);
  }
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  unlink(place("counted", 0));
}

/* --- Directory and mask ---------------------------------------------------------------------------------------------- */

static int is_in(const char* path) {
  char here[PATH_MAX];
  return getcwd(here, sizeof here) != NULL && strcmp(here, path) == 0;
}
static void* look_around(void* path) { return is_in(path) ? path : NULL; }
static void* go_back(void* path) { return chdir(path) == 0 ? path : NULL; }

static void directory(const char* base) {
  char own[PATH_MAX], begun[PATH_MAX], found[PATH_MAX], text[PATH_MAX + 64];
  snprintf(own, sizeof own, "%s/directory%d", base, rank);
  expect(getcwd(begun, sizeof begun) != NULL, "getcwd");
  umask(022);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(mkdir(own, 0700) == 0, "mkdir");
  expect(chdir("/nowhere/at/all") != 0 && errno == ENOENT && is_in(begun), "a directory that is not there");
  if (rank % 2 == 0) { /* The others never change it so far. */
    expect(chdir(own) == 0, "chdir");
    expect((umask(077) & 0777) == 022, "umask");
  }
  for (int i = 0; i < 3; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    expect(is_in(rank % 2 == 0 ? own : begun), "where the rank is");
  }
  if (rank % 2 != 0) {
    const int to = open(own, O_RDONLY | O_DIRECTORY);
    expect(fchdir(to) == 0, "fchdir");
    close(to);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int made = open("here", O_WRONLY | O_CREAT, 0666);
  struct stat there;
  expect(made >= 0 && fstat(made, &there) == 0 && (there.st_mode & 0777) == (rank % 2 == 0 ? 0600 : 0644), "the mask");
  close(made);
  snprintf(text, sizeof text, "%s/here", own);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(access(text, F_OK) == 0 && syscall(SYS_openat, AT_FDCWD, "nothing", O_RDONLY) == -1, "a file there");
  memset(found, 0, sizeof found);
  expect(readlink("/proc/self/cwd", found, sizeof found - 1) > 0 && strcmp(found, own) == 0, "/proc/self/cwd");
  struct sockaddr_un relative = {.sun_family = AF_UNIX, .sun_path = "socket"};
  const int listens = socket(AF_UNIX, SOCK_STREAM, 0), connects = socket(AF_UNIX, SOCK_STREAM, 0);
  expect(bind(listens, (struct sockaddr*)&relative, sizeof relative) == 0 && listen(listens, 1) == 0 &&
             connect(connects, (struct sockaddr*)&relative, sizeof relative) == 0,
         "a socket by a relative name");
  close(listens);
  close(connects);
  unlink("socket");
  FILE* const below = fopen("/proc/self/cwd/here", "r");
  expect(below != NULL, "a file below /proc/self/cwd");
  if (below != NULL) fclose(below);
  snprintf(text, sizeof text, "test \"$(pwd)\" = %s", own);
  expect(system(text) == 0, "the directory of a command");
  const pid_t child = fork();
  if (child == 0) _exit(is_in(own) ? 0 : 1);
  expect(status_of(child) == 0, "the directory of a child");
  pthread_t thread;
  void* same = NULL;
  expect(pthread_create(&thread, NULL, look_around, own) == 0 && pthread_join(thread, &same) == 0 && same == own, "a thread's");
  MPI_Barrier(MPI_COMM_WORLD);
  unlink("here");
  expect(pthread_create(&thread, NULL, go_back, begun) == 0 && pthread_join(thread, &same) == 0 && same == begun, "a thread goes");
  expect(is_in(begun), "where a thread has gone");
  MPI_Barrier(MPI_COMM_WORLD);
  expect(is_in(begun), "the beginning");
  expect(rmdir(own) == 0, "rmdir");
}

/* --- Signals ---------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t usr1, usr2, alarms, children_ended;
static volatile int timer_value;
static int byte_end = -1;
static sigjmp_buf out;
static void on_usr1(int number) { usr1 += number == SIGUSR1; }
static void on_usr2(int number, siginfo_t* details, void* context) {
  usr2 += number == SIGUSR2 && details != NULL && context != NULL;
  timer_value = details->si_value.sival_int;
}
static void on_alarm(int number) { alarms += number == SIGALRM; }
static volatile sig_atomic_t has_written;
static void on_alarm_writes(int number) {
  on_alarm(number);
  if (!has_written && write(byte_end, "b", 1) != 1) alarms = 1000;
  has_written = 1;
}
static void on_alarm_leaves(int number) {
  on_alarm(number);
  siglongjmp(out, 1);
}
static void on_child(int number) { children_ended += number == SIGCHLD; }
static volatile sig_atomic_t children_reaped;
static void on_child_reaps(int number) {
  const int saved = errno;
  on_child(number);
  while (waitpid(-1, NULL, WNOHANG) > 0) ++children_reaped;
  errno = saved;
}

static void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  expect(sigaction(number, &action, NULL) == 0, "sigaction");
}
/* Again and again: however long it takes to come to the call that is to be interrupted. */
static void start_timer(long ms) {
  const struct itimerval set = {{ms / 1000, ms % 1000 * 1000}, {ms / 1000, ms % 1000 * 1000}};
  expect(setitimer(ITIMER_REAL, &set, NULL) == 0, "setitimer");
}
static void stop_timer(void) {
  const struct itimerval none = {{0, 0}, {0, 0}};
  expect(setitimer(ITIMER_REAL, &none, NULL) == 0, "setitimer");
}
/* Long enough for any machine; a second or so at least. */
enum { looks_max = 20000 };
#define AWAIT(holds) \
  for (int looks = 0; looks < looks_max && !(holds); ++looks) usleep(1000)
static int shares_process(void) {
  int mine = number_of_process(), least, most;
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return size > 1 && least == most;
}
static int is_first_of_process(void) {
  int* const all = malloc((size_t)size * sizeof *all);
  const int mine = number_of_process();
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  int first = 0;
  while (all[first] != mine) ++first;
  free(all);
  return first == rank;
}

static void signals(const char* directory) {
  snprintf(room, sizeof room, "%s", directory);
  sigset_t set, pending;
  int number;
  /* One to the process: every rank has it, that which computes at once, those that wait on their own stacks. */
  handle(SIGUSR1, on_usr1, SA_RESTART);
  const int sends = is_first_of_process();
  MPI_Barrier(MPI_COMM_WORLD);
  const pid_t sender = sends ? fork() : -1;
  if (sender == 0) {
    usleep(50000);
    kill((pid_t)syscall(SYS_getppid), SIGUSR1);
    _exit(0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2 == 0) /* Without a call of MPI or the system. */
    while (usr1 == 0) continue;
  MPI_Barrier(MPI_COMM_WORLD);
  AWAIT(usr1 != 0);
  expect(usr1 == 1, "a signal to the process");
  expect(!sends || status_of(sender) == 0, "who sends");
  MPI_Barrier(MPI_COMM_WORLD);
  /* One's own. */
  if (rank % 2 == 0) expect(raise(SIGUSR1) == 0 && usr1 == 2, "raise");
  if (rank % 2 == 0) expect(kill(getpid(), SIGUSR1) == 0 && usr1 == 3, "kill");
  MPI_Barrier(MPI_COMM_WORLD);
  expect(usr1 == (rank % 2 == 0 ? 3 : 1), "no signal of another rank");
  /* Masks. */
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  usr1 = 0;
  expect(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGUSR1) == 0 && usr1 == 0, "a blocked one");
  expect(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 1, "sigpending");
  MPI_Barrier(MPI_COMM_WORLD);
  expect(sigwait(&set, &number) == 0 && number == SIGUSR1 && usr1 == 0, "sigwait");
  const struct timespec no_time = {0, 0};
  expect(sigtimedwait(&set, NULL, &no_time) == -1 && errno == EAGAIN, "sigtimedwait");
  raise(SIGUSR1);
  expect(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0 && usr1 == 1, "unblocked");
  /* Timers: rank 0 takes back its own alone. */
  handle(SIGALRM, on_alarm, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) alarm(1000);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const unsigned rest = alarm(0);
    expect(rest > 0 && rest <= 1000, "alarm");
  } else {
    start_timer(30);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) {
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGALRM);
    sigprocmask(SIG_BLOCK, &block, &pending);
    while (alarms == 0) sigsuspend(&pending);
    sigprocmask(SIG_SETMASK, &pending, NULL);
    stop_timer();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect(rank == 0 ? alarms == 0 : alarms > 0, "an alarm of each");
  struct timespec whole = {2000, 0}, left = {0, 0};
  start_timer(30);
  expect(nanosleep(&whole, &left) == -1 && errno == EINTR && left.tv_sec > 0, "a sleep is ended");
  expect(sleep(2000) > 0, "what is left of a sleep");
  /* A call that blocks ends, or begins again, or is left. */
  mkfifo(place("fifo", rank), 0600);
  byte_end = first_of(place("fifo", rank));
  char got = 0;
  expect(read(byte_end, &got, 1) == -1 && errno == EINTR, "EINTR");
  struct pollfd end = {byte_end, POLLIN, 0};
  expect(poll(&end, 1, -1) == -1 && errno == EINTR, "EINTR of poll");
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  expect(sem_wait(&semaphore) == -1 && errno == EINTR, "EINTR of sem_wait");
  handle(SIGALRM, on_alarm_writes, SA_RESTART);
  expect(read(byte_end, &got, 1) == 1 && got == 'b', "SA_RESTART");
  stop_timer();
  const pid_t waits = fork();
  if (waits == 0) {
    const int its = open(place("held", rank), O_RDWR | O_CREAT, 0600);
    expect(lock_bytes(its, F_SETLK, F_WRLCK, 5, 1) == 0 && write(byte_end, "l", 1) == 1, "a lock of a child");
    sleep(100);
    _exit(1);
  }
  const int held = open(place("held", rank), O_RDWR | O_CREAT, 0600);
  expect(read(byte_end, &got, 1) == 1 && got == 'l', "a child");
  for (volatile int i = 0; i < 4; ++i) { /* The second needs the mask of before. */
    handle(SIGALRM, on_alarm_leaves, 0);
    if (sigsetjmp(out, 1) == 0) {
      start_timer(20);
      if (i < 2) expect(read(byte_end, &got, 1) == -2, "read is left by a jump");
      if (i == 2) expect(waitpid(waits, NULL, 0) == -2, "waitpid is left by a jump");
      if (i == 3) expect(lock_bytes(held, F_SETLKW, F_WRLCK, 5, 1) == -2, "F_SETLKW is left by a jump");
    }
    stop_timer();
    handle(SIGALRM, on_alarm, SA_RESTART); /* One that is pending still is not to leave what follows. */
    MPI_Barrier(MPI_COMM_WORLD);
  }
  kill(waits, SIGKILL);
  expect(WIFSIGNALED(status_of(waits)), "a child that was killed");
  expect(lock_bytes(held, F_SETLKW, F_WRLCK, 5, 1) == 0, "the lock afterwards");
  close(held);
  unlink(place("held", rank));
  handle(SIGALRM, on_alarm_leaves, 0);
  if (sigsetjmp(out, 1) == 0) {
    start_timer(20);
    for (;;) continue; /* And a loop. */
  }
  stop_timer();
  handle(SIGALRM, on_alarm, SA_RESTART);
  expect(write(byte_end, "c", 1) == 1 && read(byte_end, &got, 1) == 1 && got == 'c', "read afterwards");
  /* The mask of a call. */
  usr1 = 0;
  sigprocmask(SIG_BLOCK, &set, NULL);
  sigset_t none;
  sigemptyset(&none);
  fd_set ends;
  FD_ZERO(&ends);
  FD_SET(byte_end, &ends);
  struct epoll_event event_there;
  const int events = epoll_create1(0);
  for (int way = 0; way < 4; ++way) {
    raise(SIGUSR1);
    expect(usr1 == way, "blocked before the call");
    const struct timespec some_time = {way == 3 ? 0 : 1000, 0};
    const int ended = way == 0   ? ppoll(&end, 1, &some_time, &none)
                      : way == 1 ? pselect(byte_end + 1, &ends, NULL, NULL, NULL, &none)
                      : way == 2 ? epoll_pwait(events, &event_there, 1, -1, &none)
                                 : ppoll(&end, 1, &some_time, &none);
    expect((ended == -1 && errno == EINTR) || (way == 3 && ended == 0), "a call with a mask");
    expect(usr1 == way + 1, "the handler that the mask lets run");
  }
  raise(SIGUSR1);
  expect(usr1 == 4, "blocked after the call");
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  expect(usr1 == 5, "unblocked after the calls");
  close(events);
  close(byte_end);
  unlink(place("fifo", rank));
  /* Once. */
  handle(SIGUSR1, on_usr1, (int)SA_RESETHAND);
  struct sigaction now;
  expect(raise(SIGUSR1) == 0 && usr1 == 6 && sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL, "SA_RESETHAND");
  handle(SIGUSR1, on_usr1, SA_RESTART);
  const struct sigaction any = {.sa_handler = on_usr1};
  if (shares_process()) expect(sigaction(SIGRTMAX + 1, &any, NULL) == -1 && errno == EINVAL, "weft's own signal");
  /* A timer with a value. */
  const struct sigaction with_value = {.sa_sigaction = on_usr2, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaction(SIGUSR2, &with_value, NULL);
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
  event.sigev_value.sival_int = 70 + rank;
  const struct itimerspec soon = {{0, 0}, {0, 10000000}};
  expect(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &soon, NULL) == 0, "timer_create");
  for (int i = 0; i < looks_max && usr2 == 0; ++i) MPI_Barrier(MPI_COMM_SELF), usleep(1000);
  expect(usr2 == 1 && timer_value == 70 + rank && timer_delete(timer) == 0, "a timer's value");
  MPI_Barrier(MPI_COMM_WORLD);
  /* Children of one's own. */
  handle(SIGCHLD, on_child, SA_RESTART);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2 == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    AWAIT(children_ended != 0);
    expect(children_ended == 1, children_ended == 0 ? "no SIGCHLD" : "more than one SIGCHLD");
    expect(status_of(child) == 0, "the child of SIGCHLD");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect(children_ended == (rank % 2 == 0), "no SIGCHLD of another rank's child");
  /* One that is waited for at once; then two that end at one time, of which the kernel may tell once. */
  children_ended = 0;
  pid_t ends_soon = fork();
  if (ends_soon == 0) _exit(0);
  expect(status_of(ends_soon) == 0, "a child that is waited for");
  AWAIT(children_ended != 0);
  expect(children_ended == 1, "SIGCHLD of a child that is waited for");
  MPI_Barrier(MPI_COMM_WORLD);
  handle(SIGCHLD, on_child_reaps, SA_RESTART);
  for (int i = 0; i < 2; ++i) {
    ends_soon = fork();
    if (ends_soon == 0) _exit(0);
  }
  AWAIT(children_reaped == 2);
  expect(children_reaped == 2, "SIGCHLD of two children");
  MPI_Barrier(MPI_COMM_WORLD);
  handle(SIGCHLD, SIG_DFL, 0);
  /* A child has its parent's handlers and none of the other ranks'. */
  usr1 = 0;
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
    _exit(usr1 == 2 ? 0 : 1);
  }
  expect(status_of(child) == 0 && usr1 == 0, "a child's handlers");
  handle(SIGUSR1, SIG_IGN, 0);
  expect(raise(SIGUSR1) == 0, "an ignored one");
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A file for oneself, by the number of the process as code that ranks share has it. */
static void scratch(const char* directory) {
  char name[PATH_MAX];
  snprintf(name, sizeof name, "%s/scratch.%d.tmp", directory, (int)number_of_process());
  for (int i = 0; i < size; ++i) {
    if (i == rank) {
      FILE* const file = fopen(name, "w");
      expect(file != NULL && fprintf(file, "%d", rank) > 0 && fclose(file) == 0, "a file");
      /* One's own again is nobody's business. */
      const int again = open(name, O_WRONLY | O_TRUNC);
      expect(again >= 0 && close(again) == 0, "again");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* A frame that is larger than the stack, and touches its far end first; with a handler as Fortran's run time sets one. */
static __attribute__((noinline)) int far_down(size_t size) {
  volatile char* const frame = __builtin_alloca(size);
  frame[0] = 1;
  return frame[0] + (int)size;
}
static void on_fault(int number) {
  fprintf(stderr, "the program's handler\n");
  _exit(number);
}
static void overflow(const char* mib) {
  signal(SIGSEGV, on_fault);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) far_down((size_t)atoi(mib) << 20);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Handlers that interrupt the allocator, and weft in the middle of a call, and call what lets others run elsewhere. */
static int locked_file;
static void on_alarm_calls(int number) {
  const int saved = errno;
  on_alarm(number);
  usleep(50);
  lock_bytes(locked_file, F_SETLK, F_WRLCK, rank, 1);
  errno = saved;
}
static void in_the_middle(const char* directory) {
  snprintf(room, sizeof room, "%s", directory);
  locked_file = open(place("locked", rank), O_RDWR | O_CREAT, 0600);
  handle(SIGALRM, on_alarm_calls, SA_RESTART);
  MPI_Barrier(MPI_COMM_WORLD);
  start_timer(2);
  void* kept[64] = {NULL};
  for (unsigned i = 0; alarms < 20; ++i) {
    free(kept[i % 64]);
    kept[i % 64] = malloc(i * 977 % 70000);
    for (volatile int of_program = 0; of_program < 3000;) ++of_program;
    if (i % 16 == 0) lock_bytes(locked_file, F_SETLK, i % 32 == 0 ? F_WRLCK : F_UNLCK, 10, 1);
  }
  for (int i = 0; i < 64; ++i) free(kept[i]);
  stop_timer();
  MPI_Barrier(MPI_COMM_WORLD);
  close(locked_file);
  unlink(place("locked", rank));
}

/* A rank ends with timers that go on, of which one would end its process, and signals that are pending. */
static void ends_with_timers(void) {
  const int has_default = shares_process() && rank % 2 == 0;
  if (!has_default) handle(SIGALRM, on_alarm, SA_RESTART);
  handle(SIGUSR1, on_usr1, SA_RESTART);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  raise(SIGUSR1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (has_default)
    alarm(1);
  else
    start_timer(3);
}

/* All but the last rank handle it. */
static void raises_default(void) {
  handle(SIGTERM, rank == size - 1 ? SIG_DFL : on_usr1, SA_RESTART);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) raise(SIGTERM);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void on_term(int number) { exit(number == SIGTERM ? 5 : 6); }
/* The last rank ends in a handler while it waits in MPI, or in a call that blocks. */
static void ends_in_handler(const char* directory, const char* where) {
  snprintf(room, sizeof room, "%s", directory);
  if (rank == size - 1) {
    handle(SIGALRM, on_term, 0);
    handle(SIGTERM, on_term, 0);
    const pid_t child = fork();
    if (child == 0) {
      usleep(30000);
      kill(getppid(), SIGTERM);
      _exit(0);
    }
    char got;
    mkfifo(place("fifo", rank), 0600);
    const int end = first_of(place("fifo", rank));
    if (strcmp(where, "read") == 0) expect(read(end, &got, 1) == 2, "read");
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    if (strcmp(where, "semaphore") == 0) expect(sem_wait(&semaphore) == 2, "sem_wait");
    pthread_barrier_t barrier;
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&barrier, &shared, 2);
    if (strcmp(where, "barrier") == 0) expect(pthread_barrier_wait(&barrier) == 2, "pthread_barrier_wait");
    if (strcmp(where, "loop") == 0)
      for (;;) continue;
    MPI_Recv(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) sleep(20); /* So that it is no deadlock. */
  MPI_Barrier(MPI_COMM_WORLD);
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
  if (strcmp(what, "blocking") == 0) blocking(argv[2]);
  if (strcmp(what, "stopped") == 0) stopped(argv[2], argv[3], argv[4]);
  if (strcmp(what, "signals") == 0) signals(argv[2]);
  if (strcmp(what, "scratch") == 0) scratch(argv[2]);
  if (strcmp(what, "overflow") == 0) overflow(argv[2]);
  if (strcmp(what, "middle") == 0) in_the_middle(argv[2]);
  if (strcmp(what, "timers") == 0) ends_with_timers();
  if (strcmp(what, "default") == 0) raises_default();
  if (strcmp(what, "handler") == 0) ends_in_handler(argv[2], argv[3]);
  if (strcmp(what, "locks") == 0) locks(argv[2]);
  if (strcmp(what, "directory") == 0) directory(argv[2]);
  if (strcmp(what, "output") == 0) output(argv[2]);
  if (strcmp(what, "descriptors") == 0) descriptors(argv[2]);
  int right = wrong == 0, all;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) fprintf(stderr, "right in %d of %d\n", all, size);
  MPI_Finalize();
  /* The others are there while the first end. */
  if (strcmp(what, "timers") == 0 && rank % 2 != 0)
    for (int i = 0; i < 150; ++i) usleep(10000);
  return 0;
}
