/* What is left of a meeting: communicators that end, children that die, ports at which many wait. The program starts itself; what
   it does as a child its first word says. By a word it does one thing alone, for tests/multi/meeting_test.cpp.

   Run with: -n 1 --timeout 60
   Run with: -n 4 --workers 2 --timeout 60
   Run with: -n 4 --processes 2 --timeout 60
   Run with: -n 36 --workers 2 --timeout 100 */
#define _GNU_SOURCE
#include "../conform.h"
#include "../file_paths.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

static char program[PATH_MAX];

/* Counts children of this process: those that have ended and are not buried, or those that live. */
static int children(int ended) {
  DIR* const all = opendir("/proc");
  int count = 0;
  for (struct dirent* one = all == NULL ? NULL : readdir(all); one != NULL; one = readdir(all)) {
    char name[300], text[512] = "", state = 0;
    int parent = 0;
    if (!isdigit(one->d_name[0])) continue;
    snprintf(name, sizeof name, "/proc/%s/stat", one->d_name);
    FILE* const file = fopen(name, "r");
    if (file == NULL) continue;
    if (fgets(text, sizeof text, file) != NULL && strrchr(text, ')') != NULL &&
        sscanf(strrchr(text, ')') + 1, " %c %d", &state, &parent) == 2 && parent == getpid())
      count += (state == 'Z') == ended;
    fclose(file);
  }
  if (all != NULL) closedir(all);
  return count;
}

static void wait_for_end_of_children(void) {
  for (int i = 0; i < 1000 && children(0) != 0; ++i) usleep(10000);
  EXPECT_INT(children(0), 0);
}

/* One rank of this program as a child of the calling rank. */
static MPI_Comm started(const char* what, const char* more) {
  char* words[] = {(char*)what, (char*)more, NULL};
  MPI_Comm between = MPI_COMM_NULL;
  EXPECT_INT(MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between, MPI_ERRCODES_IGNORE), MPI_SUCCESS);
  return between;
}

/* A communicator is freed while a receive from the other job is open, and all ranks wait. */
static void free_with_an_open_receive(void) {
  MPI_Request request;
  int value = 0;
  if (rank == 0) {
    MPI_Comm between = started("late", NULL);
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, between, &request);
    MPI_Comm_free(&between);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_INT(value, 17);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
static void be_late(MPI_Comm parent) {
  int value = 17;
  MPI_Comm others[8];
  usleep(300000);
  MPI_Send(&value, 1, MPI_INT, 0, 1, parent);
  MPI_Comm_free(&parent);
  /* One of these gets the handle that the parent's had. */
  for (int i = 0; i < LENGTH(others); ++i) MPI_Comm_dup(MPI_COMM_SELF, &others[i]);
  MPI_Comm_get_parent(&parent);
  EXPECT(parent == MPI_COMM_NULL, "a parent that has been freed");
  for (int i = 0; i < LENGTH(others); ++i) MPI_Comm_free(&others[i]);
}

/* A child that ends is no child any more once a communicator has been disconnected. */
static void bury_children(void) {
  if (rank == 0) {
    MPI_Comm between = started("quick", NULL), own;
    MPI_Comm_disconnect(&between);
    wait_for_end_of_children();
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Comm_disconnect(&own);
    EXPECT_INT(children(1), 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A job that has been disconnected is nobody's concern, however it ends. */
static void ignore_deaths_of_strangers(void) {
  if (rank == 0) {
    MPI_Comm between = started("dies alone", NULL);
    MPI_Comm_disconnect(&between);
    wait_for_end_of_children();
  }
  /* Longer than it takes to notice a death. */
  const double end = MPI_Wtime() + 0.3;
  int flag = 0;
  while (MPI_Wtime() < end) MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank has a directory of its own, in which its children begin. */
static void keep_the_directory_of_the_rank(void) {
  char before[PATH_MAX], own[PATH_MAX];
  if (getcwd(before, sizeof before) == NULL) return;
  if (rank == 0) {
    snprintf(own, sizeof own, "/tmp/conform-meetings-%ld", (long)getpid());
    mkdir(own, 0700);
    EXPECT_INT(chdir(own), 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    MPI_Comm between = started("is in", rank == 0 ? own : before);
    int wrong = -1;
    MPI_Recv(&wrong, 1, MPI_INT, 0, 2, between, MPI_STATUS_IGNORE);
    EXPECT_INT(wrong, 0);
    MPI_Comm_disconnect(&between);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Comm between = started("is in", own);
    int wrong = -1;
    MPI_Recv(&wrong, 1, MPI_INT, 0, 2, between, MPI_STATUS_IGNORE);
    EXPECT_INT(wrong, 0);
    MPI_Comm_disconnect(&between);
    EXPECT_INT(chdir(before), 0);
    rmdir(own);
  }
}
static void be_in(const char* wanted, MPI_Comm parent) {
  char here[PATH_MAX] = "", real[PATH_MAX] = "";
  int wrong = getcwd(here, sizeof here) == NULL || realpath(wanted, real) == NULL || strcmp(here, real) != 0;
  MPI_Send(&wrong, 1, MPI_INT, 0, 2, parent);
}

/* Also where the rank's thread is kept on one CPU. What is started here is no program of MPI. */
static void read_line(const char* name, const char* begin, char* line, int room) {
  FILE* const file = fopen(name, "r");
  while (file != NULL && fgets(line, room, file) != NULL && strncmp(line, begin, strlen(begin)) != 0) line[0] = 0;
  if (file != NULL) fclose(file);
}
static void start_on_all_cpus(void) {
  if (size != 1) return;
  char name[64] = "/tmp/conform-meetings-XXXXXX", command[200], above[64], wanted[100] = "", found[100] = "";
  char* words[] = {"-c", command, NULL};
  MPI_Comm between;
  close(mkstemp(name));
  snprintf(command, sizeof command, "grep Cpus_allowed_list /proc/self/status > %s", name);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Comm_spawn("/bin/sh", words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  snprintf(above, sizeof above, "/proc/%d/status", (int)getppid());
  read_line(above, "Cpus_allowed_list", wanted, sizeof wanted);
  read_line(name, "Cpus_allowed_list", found, sizeof found);
  EXPECT(wanted[0] != 0 && strcmp(wanted, found) == 0, "%s and not %s", found, wanted);
  unlink(name);
}

/* No side would know the ranks of a group of several jobs by the same numbers. */
static void refuse_groups_of_several_jobs(void) {
  MPI_Comm between = MPI_COMM_NULL, merged, made;
  char* words[] = {"merges", NULL};
  EXPECT_INT(MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE), MPI_SUCCESS);
  MPI_Intercomm_merge(between, 0, &merged);
  MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Intercomm_create(merged, 0, MPI_COMM_WORLD, 0, 4, &made), MPI_ERR_COMM);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&between);
}
static void merge(MPI_Comm parent) {
  MPI_Comm merged, made;
  MPI_Intercomm_merge(parent, 1, &merged);
  MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Intercomm_create(merged, 0, MPI_COMM_WORLD, 0, 4, &made), MPI_ERR_COMM);
  MPI_Comm_free(&merged);
}

/* More ranks wait at ports than a process has threads for files; one works on a file meanwhile, and then lets them go on. */
static void accept_on_many_ranks(void) {
  enum { acceptors = 34 };
  static char ports[64][MPI_MAX_PORT_NAME];
  char own[MPI_MAX_PORT_NAME] = "";
  MPI_Comm between;
  if (rank < acceptors) MPI_Open_port(MPI_INFO_NULL, own);
  MPI_Allgather(own, sizeof own, MPI_CHAR, ports, sizeof own, MPI_CHAR, MPI_COMM_WORLD);
  make_path("meetings");
  if (rank < acceptors) {
    MPI_Comm_accept(own, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
    MPI_Comm_disconnect(&between);
    MPI_Close_port(own);
  } else if (rank == acceptors) {
    MPI_File file;
    int value = 5, back = 0;
    usleep(200000); /* The others wait by now. */
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_atomicity(file, 1); /* By a thread, wherever the file lies. */
    MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 0, &back, 1, MPI_INT, MPI_STATUS_IGNORE);
    EXPECT_INT(back, 5);
    MPI_File_close(&file);
    for (int i = 0; i < acceptors; ++i) {
      MPI_Comm_connect(ports[i], MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
      MPI_Comm_disconnect(&between);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A child sends without end to a rank that receives nothing: it is told to slow down, and goes on when that receives. How far it
   has come stands in a file that both have mapped. */
enum { piece = 1024, pieces = 24 * 1024 };
static void slow_a_sender_down(void) {
  if (rank == 0) {
    char name[64] = "/tmp/conform-meetings-XXXXXX";
    static char data[piece];
    const int file = mkstemp(name);
    EXPECT_INT(ftruncate(file, sizeof(int)), 0);
    volatile int* const sent = mmap(NULL, sizeof(int), PROT_READ, MAP_SHARED, file, 0);
    MPI_Comm between = started("floods", name);
    /* From when it begins, while it gets further. */
    int flag = 0;
    for (const double end = MPI_Wtime() + 20; *sent == 0 && MPI_Wtime() < end;) MPI_Iprobe(0, 7, between, &flag, MPI_STATUS_IGNORE);
    for (int before = -1; before != *sent && *sent < pieces;) {
      before = *sent;
      const double end = MPI_Wtime() + 0.2;
      while (MPI_Wtime() < end) MPI_Iprobe(0, 7, between, &flag, MPI_STATUS_IGNORE);
    }
    EXPECT(*sent > 0 && *sent < pieces, "it has sent %d", *sent);
    int wrong = 0, last = -1;
    for (int i = 0; i < pieces; ++i) {
      MPI_Recv(data, piece, MPI_CHAR, 0, 6, between, MPI_STATUS_IGNORE);
      memcpy(&last, data, sizeof last);
      wrong += last != i;
    }
    EXPECT_INT(wrong, 0);
    MPI_Comm_disconnect(&between);
    munmap((void*)sent, sizeof(int));
    close(file);
    unlink(name);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
static void flood(const char* name, MPI_Comm parent) {
  static char data[piece];
  FILE* const file = fopen(name, "r+");
  volatile int* const sent = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  for (int i = 0; i < pieces; ++i) {
    memcpy(data, &i, sizeof i);
    MPI_Send(data, piece, MPI_CHAR, 0, 6, parent);
    *sent = i + 1;
  }
  munmap((void*)sent, sizeof(int));
  fclose(file);
}

/* One thing alone: the job ends by it, and so does the other one. */
static int end_badly(const char* what) {
  MPI_Comm between = MPI_COMM_NULL;
  char* words[] = {strcmp(what, "parent aborts") == 0 ? "waits" : strcmp(what, "child aborts") == 0 ? "aborts" : "is killed", NULL};
  MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
  MPI_Barrier(between);
  if (rank == 0) printf("both are there\n");
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD); /* It is said before the job ends. */
  if (strcmp(what, "parent aborts") == 0 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_Recv(NULL, 0, MPI_INT, 0, 9, between, MPI_STATUS_IGNORE); /* Nobody sends it. */
  return 0;
}
static void end_as_child(const char* what, MPI_Comm parent) {
  MPI_Barrier(parent);
  usleep(100000);
  if (rank == 1 && strcmp(what, "aborts") == 0) MPI_Abort(MPI_COMM_WORLD, 8);
  if (rank == 1 && strcmp(what, "is killed") == 0) kill(getpid(), SIGKILL);
  MPI_Recv(NULL, 0, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE);
}

/* Meets another job by a published name, and once more over the communicator of that: as the one that accepts ("accepts", or
   "accepts at" an address), or as the other. */
static int meet(const char* what, const char* name) {
  static const char at[] = "accepts at ";
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm between = MPI_COMM_NULL, again = MPI_COMM_NULL;
  int sum = -1, code;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (strncmp(what, "accepts", strlen("accepts")) == 0) {
    if (rank == 0) {
      MPI_Info info;
      MPI_Info_create(&info);
      if (strncmp(what, at, strlen(at)) == 0) MPI_Info_set(info, "ip_address", what + strlen(at));
      MPI_Open_port(info, port);
      MPI_Info_free(&info);
      MPI_Publish_name(name, MPI_INFO_NULL, port);
    }
    code = MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
  } else {
    if (rank == 0)
      for (int i = 0; i < 3000 && MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS; ++i) usleep(10000);
    code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between);
  }
  if (code == MPI_SUCCESS) {
    MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, between);
    if (rank == 0) printf("%s and meets %d\n", what, sum);
    code = MPI_Intercomm_create(MPI_COMM_WORLD, 0, between, 0, 5, &again);
  }
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (rank == 0) printf("%s: %s\n", what, text);
  } else {
    MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, again);
    if (rank == 0) printf("%s and meets %d again\n", what, sum);
    MPI_Comm_disconnect(&again);
    MPI_Comm_disconnect(&between);
  }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}

/* Starts children on another host, or on its own. */
static int spawn_on(const char* host) {
  MPI_Info info;
  MPI_Comm between = MPI_COMM_NULL;
  int sum = -1, value = 1;
  char* words[] = {"on host", NULL};
  MPI_Info_create(&info);
  MPI_Info_set(info, "host", host);
  MPI_Comm_spawn(program, words, 2, info, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
  MPI_Info_free(&info);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, between);
  if (rank == 0) {
    char name[256] = "";
    MPI_Recv(name, sizeof name, MPI_CHAR, 0, 8, between, MPI_STATUS_IGNORE);
    printf("children: %d in network %s\n", sum, name);
  }
  MPI_Comm_disconnect(&between);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
static void be_on_host(MPI_Comm parent) {
  char name[256] = "";
  int sum = -1, value = 10;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, parent);
  EXPECT(readlink("/proc/self/ns/net", name, sizeof name - 1) > 0, "no name of a network");
  if (rank == 0) MPI_Send(name, sizeof name, MPI_CHAR, 0, 8, parent);
}

static int child(const char* what, const char* more, MPI_Comm parent) {
  if (strcmp(what, "late") == 0) be_late(parent), parent = MPI_COMM_NULL;
  if (strcmp(what, "is in") == 0) be_in(more, parent);
  if (strcmp(what, "merges") == 0) merge(parent);
  if (strcmp(what, "floods") == 0) flood(more, parent);
  if (strcmp(what, "on host") == 0) be_on_host(parent);
  if (strcmp(what, "waits") == 0 || strcmp(what, "aborts") == 0 || strcmp(what, "is killed") == 0) end_as_child(what, parent);
  if (parent != MPI_COMM_NULL) MPI_Comm_disconnect(&parent);
  if (strcmp(what, "dies alone") == 0) kill(getpid(), SIGKILL);
  MPI_Finalize();
  return wrong_count != 0;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(argv[1], argc > 2 ? argv[2] : NULL, parent);
  if (realpath(argv[0], program) == NULL) return 1;
  if (argc == 3 && strcmp(argv[1], "spawns on") == 0) return spawn_on(argv[2]);
  if (argc == 3) return meet(argv[1], argv[2]);
  if (argc == 2) return end_badly(argv[1]);
  if (size > 4) {
    accept_on_many_ranks();
    return end();
  }
  free_with_an_open_receive();
  bury_children();
  ignore_deaths_of_strangers();
  keep_the_directory_of_the_rank();
  start_on_all_cpus();
  refuse_groups_of_several_jobs();
  slow_a_sender_down();
  return end();
}
