/* What a process owes its program, by the word that is given, where ranks share one: each rank tells what is wrong, and rank 0 at the
   end in how many ranks all was right. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int rank, size, wrong;

static void expect(int right, const char* what) {
  if (right) return;
  ++wrong;
  fprintf(stderr, "rank %d: %s (errno %d)\n", rank, what, errno);
}
static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static char directory[PATH_MAX];
static const char* place(const char* what, int of) {
  static char name[PATH_MAX + 64];
  snprintf(name, sizeof name, "%s/%s.%d", directory, what, of);
  return name;
}

/* --- The stack --------------------------------------------------------------------------------------------------- */

static int is_on_own_stack(const char* here) {
  pthread_attr_t all;
  void* begin;
  size_t bytes;
  if (pthread_getattr_np(pthread_self(), &all) != 0 || pthread_attr_getstack(&all, &begin, &bytes) != 0) return 0;
  pthread_attr_destroy(&all);
  return here >= (char*)begin && here < (char*)begin + bytes;
}
static void* look_at_stack(void* none) {
  char here;
  expect(is_on_own_stack(&here), "the stack of a thread");
  return none;
}
static void stack(void) {
  char here;
  pthread_t thread;
  for (int i = 0; i < 3; ++i) {
    expect(is_on_own_stack(&here), "the bounds of the stack");
    meet();
  }
  expect(pthread_create(&thread, NULL, look_at_stack, NULL) == 0 && pthread_join(thread, NULL) == 0, "a thread");
}

/* --- Faults ------------------------------------------------------------------------------------------------------ */

enum { page_bytes = 4096 };
static char* page;
static volatile int faults, others;
static sigjmp_buf back;

static int is_in_page(const void* at) { return (const char*)at >= page && (const char*)at < page + page_bytes; }
static void on_write(int number, siginfo_t* details, void* context) {
  (void)number;
  (void)context;
  ++faults;
  if (!is_in_page(details->si_addr)) _exit(9);
  mprotect(page, page_bytes, PROT_READ | PROT_WRITE);
}
/* Waits while other ranks of the worker fault: what it keeps on its stack stays. */
static void on_write_waits(int number, siginfo_t* details, void* context) {
  volatile unsigned char kept[page_bytes];
  for (int i = 0; i < page_bytes; ++i) kept[i] = (unsigned char)(rank + 1);
  usleep(20000);
  for (int i = 0; i < page_bytes; ++i)
    if (kept[i] != rank + 1) _exit(10);
  on_write(number, details, context);
}
static void on_fault(int number) {
  ++others;
  siglongjmp(back, number);
}
static void handle(int number, void (*with_details)(int, siginfo_t*, void*), void (*without)(int), int flags) {
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_flags = flags;
  if (with_details != NULL) {
    action.sa_sigaction = with_details;
    action.sa_flags |= SA_SIGINFO;
  } else {
    action.sa_handler = without;
  }
  expect(sigaction(number, &action, NULL) == 0, "sigaction");
  expect(sigaction(number, NULL, &before) == 0 &&
             (with_details != NULL ? before.sa_sigaction == with_details : before.sa_handler == without),
         "the rank's own handler");
}

static void handle_faults(void) {
  page = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  handle(SIGSEGV, on_write, NULL, 0);
  meet();
  /* A write barrier, whose handler returns. */
  for (int i = 1; i <= 3; ++i) {
    page[7] = (char)i;
    expect(faults == i, "a write to a page that is protected");
    mprotect(page, page_bytes, PROT_READ);
    meet();
  }
  handle(SIGSEGV, on_write_waits, NULL, 0);
  for (int i = 1; i <= 3; ++i) {
    const double before = (double)faults / i; /* In a register that the handler's frame brings back. */
    page[8] = (char)i;
    expect(before * i == faults - 1 && faults == 3 + i, "a handler that waits");
    mprotect(page, page_bytes, PROT_READ);
    meet();
  }
  faults = 3;
  /* Handlers that are left by a jump. */
  handle(SIGBUS, NULL, on_fault, 0);
  handle(SIGFPE, NULL, on_fault, 0);
  handle(SIGSEGV, NULL, rank % 2 == 0 ? on_fault : SIG_DFL, 0);
  meet();
  const int file = open(place("short", rank), O_RDWR | O_CREAT, 0600);
  volatile char* const beyond = mmap(NULL, page_bytes, PROT_READ, MAP_SHARED, file, 0);
  for (volatile int i = 0; i < 3; ++i) {
    if (sigsetjmp(back, 1) == 0) {
      (void)beyond[0];
      expect(0, "a page beyond the file");
    }
    if (sigsetjmp(back, 1) == 0) raise(SIGFPE);
    if (rank % 2 == 0 && sigsetjmp(back, 1) == 0) page[0] = 1;
    meet();
  }
  expect(others == (rank % 2 == 0 ? 9 : 6), "handlers that are left by a jump");
  close(file);
  unlink(place("short", rank));
  /* Each has a stack for handlers, as far as it knows. */
  char* const alternate = malloc(SIGSTKSZ);
  const stack_t wanted = {.ss_sp = alternate, .ss_size = SIGSTKSZ};
  stack_t now;
  expect(sigaltstack(&wanted, NULL) == 0, "sigaltstack");
  meet();
  expect(sigaltstack(NULL, &now) == 0 && now.ss_sp == alternate, "the rank's own alternate stack");
  handle(SIGSEGV, on_write, NULL, SA_ONSTACK);
  page[1] = 1;
  expect(faults == 4, "a handler with SA_ONSTACK");
  /* A child has the rank's handlers, and may change them. */
  mprotect(page, page_bytes, PROT_READ);
  const pid_t child = fork();
  if (child == 0) {
    page[1] = 2;
    handle(SIGSEGV, NULL, on_fault, 0);
    mprotect(page, page_bytes, PROT_READ);
    if (sigsetjmp(back, 1) == 0) page[1] = 3;
    _exit(faults == 5 && others == (rank % 2 == 0 ? 10 : 7) && wrong == 0 ? 0 : 8);
  }
  int status;
  expect(waitpid(child, &status, 0) == child && status == 0, "a child's handlers");
  page[1] = 4;
  expect(faults == 5, "the rank's handler, whatever a child has done");
  meet();
}
static void fault_without_handler(void) {
  if (rank != size - 1) handle(SIGSEGV, NULL, on_fault, 0);
  meet();
  if (rank == size - 1) *(volatile char*)16 = 1;
  meet();
}

/* --- Standard output, assigned ------------------------------------------------------------------------------------ */

static int has_text(const char* name, const char* text) {
  char found[512] = "";
  FILE* const file = fopen(name, "r");
  if (file == NULL) return 0;
  found[fread(found, 1, sizeof found - 1, file)] = 0;
  fclose(file);
  if (strcmp(found, text) == 0) return 1;
  fprintf(stderr, "rank %d: %s has '%s'\n", rank, name, found);
  return 0;
}
static void assign(void) {
  FILE *const out = stdout, *const err = stderr;
  char text[128];
  if (rank % 2 == 1) stdout = fopen(place("out", rank), "w");
  if (rank % 2 == 1) stderr = fopen(place("err", rank), "w");
  meet();
  printf("printf of %d\n", rank);
  puts("puts");
  putchar('p');
  putchar('\n');
  fprintf(stdout, "fprintf\n");
  errno = ENOENT;
  perror("perror");
  fflush(stdout);
  meet();
  if (rank % 2 == 1) {
    expect(stdout != out && fclose(stdout) == 0 && fclose(stderr) == 0, "fclose");
    stdout = out;
    stderr = err;
    snprintf(text, sizeof text, "printf of %d\nputs\np\nfprintf\n", rank);
    expect(has_text(place("out", rank), text), "the file of standard output");
    expect(has_text(place("err", rank), "perror: No such file or directory\n"), "the file of standard error");
  }
  meet();
}

/* --- Streams of the C library -------------------------------------------------------------------------------------- */

enum { many_bytes = 1 << 20 };
static int partner(void) { return rank ^ 1; }
static FILE* fifo(const char* what, int of, const char* mode) {
  FILE* const file = fopen(place(what, of), mode);
  expect(file != NULL && fileno(file) > 2, "fopen of a pipe with a name");
  return file;
}
static void write_streams(void) {
  static char many[many_bytes];
  memset(many, 7, sizeof many);
  FILE* const file = fifo("fifo", rank, "w");
  meet();
  /* A number whose digits come one by one. */
  for (int i = 0; i < 3; ++i) {
    expect(fprintf(file, i == 0 ? "hello %d" : "%d", i) > 0 && fflush(file) == 0, "fprintf");
    usleep(1000);
  }
  expect(fputs(" end\n", file) >= 0, "fputs");
  expect(fwrite(many, 1, many_bytes, file) == many_bytes, "fwrite of more than a pipe takes");
  expect(fseek(file, 0, SEEK_SET) == -1 && errno == ESPIPE, "fseek");
  expect(fclose(file) == 0, "fclose");
}
static void read_streams(void) {
  static char many[many_bytes];
  char word[32] = "", rest[32] = "";
  int number = -1;
  FILE* const file = fifo("fifo", partner(), "r");
  meet();
  expect(fscanf(file, "%31s %d %31s", word, &number, rest) == 3 && number == 12 && strcmp(word, "hello") == 0, "fscanf");
  expect(fgetc(file) == '\n', "fgetc");
  expect(fread(many, 1, many_bytes, file) == many_bytes && many[many_bytes - 1] == 7, "fread of more than a pipe takes");
  expect(fgets(word, sizeof word, file) == NULL && feof(file), "the end of a pipe");
  expect(fclose(file) == 0, "fclose");
}
/* A program between two ranks, which waits for the first and keeps the second waiting. */
static void popen_streams(void) {
  char command[PATH_MAX + 64], line[64] = "";
  int number = -1;
  snprintf(command, sizeof command, rank % 2 == 0 ? "cat > %s" : "cat %s", place("through", rank & ~1));
  FILE* const file = popen(command, rank % 2 == 0 ? "w" : "r");
  expect(file != NULL, "popen");
  meet();
  if (rank % 2 == 0) {
    usleep(2000);
    expect(fprintf(file, "through %d\n", rank) > 0, "fprintf");
  } else {
    fflush(NULL); /* Waits for no other rank. */
    expect(fscanf(file, "%63s %d", line, &number) == 2 && number == partner(), "fscanf");
  }
  expect(pclose(file) == 0, "pclose");
}
/* A child opens files under numbers that are other ranks' in its parent. What is in their streams does not go there when it ends. */
static void child_among_streams(void) {
  int ends[2];
  struct stat file;
  expect(pipe(ends) == 0, "pipe");
  FILE* const pending = fdopen(ends[1], "w");
  expect(pending != NULL && fprintf(pending, "of rank %d", rank) > 0, "fprintf");
  meet();
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 64; ++i)
      if (open(place("child", rank), O_WRONLY | O_CREAT | O_APPEND, 0600) < 0) _exit(1);
    exit(0);
  }
  int status = -1;
  expect(waitpid(child, &status, 0) == child && status == 0, "a child that ends beside streams");
  expect(stat(place("child", rank), &file) == 0 && file.st_size == 0, "the files of a child");
  meet();
  fclose(pending);
  close(ends[0]);
}
static void streams(void) {
  child_among_streams();
  if (rank % 2 == 0) expect(mkfifo(place("fifo", rank), 0600) == 0 && mkfifo(place("through", rank), 0600) == 0, "mkfifo");
  meet();
  if (partner() < size) rank % 2 == 0 ? write_streams() : read_streams();
  if (partner() >= size) meet();
  meet();
  if (partner() < size) popen_streams();
  if (partner() >= size) meet();
  meet();
  /* Reopened, and a child's. */
  int ends[2];
  char line[64] = "";
  expect(pipe(ends) == 0, "pipe");
  FILE *in = fdopen(ends[0], "r"), *out = fdopen(ends[1], "w");
  expect(fileno(in) == ends[0] && fdopen(ends[0], "w") == NULL && errno == EINVAL, "fdopen");
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) fprintf(out, "of a child\n"), exit(0);
  expect(waitpid(child, NULL, 0) == child && fgets(line, sizeof line, in) == line && strcmp(line, "of a child\n") == 0, "a child");
  out = freopen(place("again", rank), "w", out);
  expect(out != NULL && fgetc(in) == EOF && fputs("again\n", out) >= 0 && fclose(out) == 0, "freopen");
  expect(has_text(place("again", rank), "again\n"), "what was reopened");
  fclose(in);
  meet();
}
/* What a rank has not closed when it ends: what it has written arrives, and the end of it. */
static FILE* left_open;
static void leave_open(void) {
  if (rank % 2 == 0) mkfifo(place("left", rank), 0600);
  meet();
  if (partner() < size) left_open = fifo("left", rank & ~1, rank % 2 == 0 ? "w" : "r");
  meet();
}
static int end_with_streams(void) {
  char line[64] = "";
  if (left_open == NULL) return 0;
  if (rank % 2 == 0) return fprintf(left_open, "last words\n") < 0;
  if (fgets(line, sizeof line, left_open) == line && strcmp(line, "last words\n") == 0 && fgetc(left_open) == EOF) return 0;
  fprintf(stderr, "rank %d: what is left open: '%s'\n", rank, line);
  return 1;
}

/* A call that cannot move, as a library's: the others of the worker wait for what a child writes much later. */
static void block(const char* seconds) {
  int ends[2];
  char got;
  if (rank == 0) {
    expect(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    if (child == 0) {
      usleep((useconds_t)(atof(seconds) * 1e6));
      _exit(write(ends[1], "x", 1) != 1);
    }
    expect(syscall(SYS_read, ends[0], &got, 1) == 1, "read");
    expect(waitpid(child, NULL, 0) == child, "waitpid");
  }
  meet();
}

/* --- Another program in the rank's place ------------------------------------------------------------------------------ */

static void* become_shell(void* command) {
  execlp("sh", "sh", "-c", command, (char*)NULL);
  perror("execlp");
  _exit(99);
}
static int become(const char* how) {
  char command[256];
  expect(execl("/no/such/program", "it", (char*)NULL) == -1 && errno == ENOENT, "a program that is not there");
  setenv("OF_RANK", rank == 0 ? "zero" : "other", 1);
  if (rank % 2 == 0) {
    usleep(2000);
    printf("rank goes on\n");
    return 0;
  }
  const int is_last = rank == size - 1 || rank == size - 2;
  if (is_last && strcmp(how, "signal") == 0)
    snprintf(command, sizeof command, "kill -TERM $$");
  else
    snprintf(command, sizeof command, "read line; echo \"became $OF_RANK '$line'\"; exit %d", is_last ? atoi(how) : 0);
  fflush(stdout);
  if (strcmp(how, "thread") != 0) become_shell(command);
  pthread_t thread;
  expect(pthread_create(&thread, NULL, become_shell, command) == 0, "pthread_create");
  pthread_join(thread, NULL);
  return 99;
}
/* Of what the rank has opened the program has what it was given, and the end comes with the program's. */
static void prepare_successor(void) {
  if (rank % 2 == 0) mkfifo(place("early", rank), 0600);
  meet();
}
static int end_with_successor(void) {
  char line[64] = "", command[64];
  if (partner() >= size) return 0;
  FILE* const file = fopen(place("early", rank & ~1), rank % 2 == 0 ? "r" : "w");
  if (file == NULL) return 1;
  if (rank % 2 == 1) {
    snprintf(command, sizeof command, "echo early > /proc/self/fd/%d; sleep 0.1", fileno(file));
    execl("/bin/sh", "sh", "-c", command, (char*)NULL);
    _exit(98);
  }
  return fgets(line, sizeof line, file) != line || strcmp(line, "early\n") != 0 || fgetc(file) != EOF;
}

/* --- The end of main() by pthread_exit() -------------------------------------------------------------------------------- */

static void say(void* what) {
  printf("%s\n", (const char*)what);
  fflush(stdout);
}
static void* go_on(void* none) {
  for (int i = 0; i < 20; ++i) usleep(1000);
  say((void*)"thread");
  return none;
}
static void at_end(void) { say((void*)"handler"); }
static void leave(void) {
  pthread_cleanup_push(say, (void*)"inner");
  pthread_exit(NULL);
  pthread_cleanup_pop(0);
}
static void leave_main(void) {
  pthread_t thread;
  atexit(at_end);
  pthread_create(&thread, NULL, go_on, NULL);
  pthread_detach(thread);
  pthread_cleanup_push(say, (void*)"outer");
  pthread_cleanup_push(say, (void*)"never");
  pthread_cleanup_pop(0);
  leave();
  pthread_cleanup_pop(0);
}

/* --- What ranks of a process share -------------------------------------------------------------------------------------- */

static int is_equal(long mine) {
  long extremes[2] = {mine, -mine};
  MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  return extremes[0] == -extremes[1];
}
static void share(void) {
  /* By their numbers, between any programs. */
  int ids[3] = {-1, -1, -1};
  if (rank == 0) {
    ids[0] = shmget(IPC_PRIVATE, sizeof(int), IPC_CREAT | 0600);
    ids[1] = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
    ids[2] = eventfd(0, 0);
  }
  MPI_Bcast(ids, 3, MPI_INT, 0, MPI_COMM_WORLD);
  int* const of_all = shmat(ids[0], NULL, 0);
  struct sembuf up = {0, 1, SEM_UNDO};
  expect(of_all != (void*)-1 && __atomic_fetch_add(of_all, 1, __ATOMIC_RELAXED) < size, "shmat");
  expect(semop(ids[1], &up, 1) == 0, "semop");
  meet();
  expect(*of_all == size && semctl(ids[1], 0, GETVAL) == size, "what all have done");
  meet();
  shmdt(of_all);
  if (rank == 0) expect(shmctl(ids[0], IPC_RMID, NULL) == 0 && semctl(ids[1], 0, IPC_RMID) == 0, "IPC_RMID");
  if (!is_equal(syscall(SYS_getpid))) return;
  /* Within the process. */
  expect(is_equal(getpgrp()) && is_equal(getsid(0)) && is_equal((long)getuid()) && is_equal((long)getegid()), "users and groups");
  expect(is_equal(personality(0xffffffff)), "personality");
  const long long one = 1;
  long long sum = 0;
  expect(write(ids[2], &one, sizeof one) == sizeof one, "the number of a descriptor");
  meet();
  if (rank == 0) expect(read(ids[2], &sum, sizeof sum) == sizeof sum && sum == size, "eventfd");
  volatile int* memory = NULL;
  if (rank == 0) memory = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (rank == 0) *memory = 42;
  MPI_Bcast(&memory, sizeof memory, MPI_BYTE, 0, MPI_COMM_WORLD);
  expect(*memory == 42, "memory of another rank");
  const clock_t begun = clock();
  meet();
  while (rank == 0 && clock() - begun < CLOCKS_PER_SEC / 50) continue;
  meet();
  expect(clock() - begun >= CLOCKS_PER_SEC / 100, "the processor time of all");
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  if (argc > 2) snprintf(directory, sizeof directory, "%s", argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "stack") == 0) stack();
  if (strcmp(what, "faults") == 0) handle_faults();
  if (strcmp(what, "unhandled") == 0) fault_without_handler();
  if (strcmp(what, "assigned") == 0) assign();
  if (strcmp(what, "streams") == 0) streams();
  if (strcmp(what, "left") == 0) leave_open();
  if (strcmp(what, "shared") == 0) share();
  if (strcmp(what, "blocked") == 0) block(argv[2]);
  if (strcmp(what, "successor") == 0) prepare_successor();
  int right = wrong == 0, all;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) fprintf(stderr, "right in %d of %d\n", all, size);
  MPI_Finalize();
  if (strcmp(what, "successor") == 0) return end_with_successor();
  if (strcmp(what, "left") == 0) return end_with_streams();
  if (strcmp(what, "becomes") == 0) return become(argv[2]);
  if (strcmp(what, "leaves") == 0) leave_main();
  return wrong != 0;
}
