/* Each rank opens libraries of its own: those beside the program, whose directory is the first word. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks, wrong;
static const char* directory;
int program_total;
int program_number(void) { return rank; }

static void expect(int holds, const char* what) {
  if (holds) return;
  wrong = 1;
  printf("wrong in rank %d: %s\n", rank, what);
}

static void step(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void* open_library(const char* name, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return dlopen(path, flags);
}

static int call(void* library, const char* name) {
  int (*const function)(void) = (__extension__(int (*)(void))dlsym(library, name));
  return function != NULL ? function() : -1;
}

static void check_state(void) {
  expect(open_library("libplugin.so", RTLD_NOW | RTLD_NOLOAD) == NULL, "RTLD_NOLOAD of what is not open");
  step();
  void* const library = open_library("libplugin.so", RTLD_NOW);
  expect(library != NULL, "dlopen()");
  if (library == NULL) return;
  const int* const value = dlsym(library, "plugin_value");
  expect(*value == 100 + rank, "a constructor that calls the program");
  const int last = 3 + rank;
  for (int i = 1; i <= 3 + ranks; ++i) {
    step();
    if (i <= last) expect(call(library, "plugin_count") == i, "the state of a library");
  }
  expect(open_library("libplugin.so", RTLD_LAZY | RTLD_NOLOAD) == library, "RTLD_NOLOAD");
  expect(open_library("libplugin.so", RTLD_NOW) == library, "a library that is opened again");
  expect(dlclose(library) == 0 && dlclose(library) == 0, "dlclose()");
  expect(program_total == 0 && call(library, "plugin_count") == last + 1, "a library that is still in use");
  expect(dlclose(library) == 0 && program_total == last + 1, "a library's destructor");
  expect(open_library("libplugin.so", RTLD_NOW | RTLD_NOLOAD) == NULL, "a library that was closed");
  step();
  void* const anew = open_library("libplugin.so", RTLD_NOW);
  expect(anew != NULL && call(anew, "plugin_count") == 1, "a library that is opened anew");
}

static void* open_in_thread(void* name) { return open_library(name, RTLD_NOW); }

static void check_threads(void) {
  pthread_t thread;
  void *library = NULL, *const same = open_library("libplugin.so", RTLD_NOW);
  pthread_create(&thread, NULL, open_in_thread, (void*)"libplugin.so");
  pthread_join(thread, &library);
  expect(library == same, "a library that a thread opens");
  expect(dlclose(same) == 0 && dlclose(same) == 0, "dlclose() of that");
}

/* Who opens second finds what the first has constructed, slowly. */
static void* count_in_thread(void* seen) {
  void* const library = open_library("libslow.so", RTLD_NOW);
  *(int*)seen = library != NULL ? call(library, "slow_constructed") : -1;
  return library;
}

static void check_threads_at_once(void) {
  pthread_t threads[2];
  int seen[3] = {0, 0, 0};
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count_in_thread, &seen[i]);
  void* const library = count_in_thread(&seen[2]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  expect(seen[0] == 1 && seen[1] == 1 && seen[2] == 1, "a library that several threads open at once");
  for (int i = 0; i < 3; ++i) expect(dlclose(library) == 0, "dlclose() of that");
}

static void check_needed(void) {
  void* const user = open_library("libplugin_user.so", RTLD_LAZY);
  void* const second = dlopen("libsecond.so", RTLD_NOW);
  expect(user != NULL && second != NULL, "dlopen() of a library and of what it needs");
  if (user == NULL || second == NULL) return;
  step();
  expect(call(user, "plugin_second") == 1 && call(second, "second_count") == 2, "a library that another needs");
  step();
  expect(dlclose(user) == 0 && call(second, "second_count") == 3, "one that outlives its user");
  expect(dlclose(second) == 0, "dlclose() of that");
}

static void check_kept(void) {
  void* const second = open_library("libsecond.so", RTLD_NOW | RTLD_NODELETE);
  void* const user = open_library("libplugin_user.so", RTLD_NOW);
  expect(call(user, "plugin_second") == 1, "one that is kept and another needs");
  expect(dlclose(second) == 0 && dlclose(user) == 0, "dlclose() of both");
  expect(call(second, "second_count") == 2, "RTLD_NODELETE");
}

static void check_places(void) {
  void* const one = open_library("libplugin.so", RTLD_NOW);
  void* const other = open_library("other/libplugin.so", RTLD_NOW);
  expect(one != NULL && other != NULL && one != other, "two of one name in two directories");
  expect(dlclose(one) == 0 && dlclose(other) == 0, "dlclose() of both");
}

static void check_circle(void) {
  void* const one = open_library("libcircle.so", RTLD_NOW);
  expect(one != NULL && call(one, "plugin_second") == 1, "two that need each other");
  expect(dlclose(one) == 0 && open_library("libcircle.so", RTLD_NOW) == one, "one of these that is opened again");
}

static void check_errors(void) {
  (void)open_library("libplugin_unknown.so", RTLD_NOW);
  (void)dlsym(RTLD_DEFAULT, "is_nowhere");
  const char* const error = dlerror();
  expect(error != NULL && strstr(error, "is_nowhere") != NULL && dlerror() == NULL, "the newer of two errors");
}

static void check_names(void) {
  void* const self = dlopen(NULL, RTLD_NOW);
  expect(self != NULL && dlsym(self, "program_number") == (void*)program_number, "dlopen(NULL)");
  expect(dlopen("", RTLD_NOW) == self, "dlopen() of an empty name");
  expect(dlclose(self) == 0, "dlclose() of that");
  expect(dlsym(RTLD_DEFAULT, "program_number") == (void*)program_number, "RTLD_DEFAULT");
  expect(dlopen("libm.so.6", RTLD_NOW) != NULL, "a library of the system");
  expect(dlopen("/nowhere/libnone.so", RTLD_NOW) == NULL && strstr(dlerror(), "/nowhere/libnone.so") != NULL,
         "the error of a library that is not there");
  expect(dlerror() == NULL, "an error that was told");
  expect(open_library("libplugin_unknown.so", RTLD_NOW) == NULL, "a name that nobody defines");
  const char* const error = dlerror();
  expect(error != NULL && strstr(error, "libplugin_unknown.so") != NULL &&
             strstr(error, "nobody_defines_this") != NULL && dlerror() == NULL,
         "the error of such a name");
  void* const lazy = open_library("libplugin_unknown.so", RTLD_LAZY);
  expect(lazy != NULL && call(lazy, "plugin_count") == 1, "such a name that nobody uses");
  /* The library that needs it was not linked to it. */
  expect(open_library("libplugin_alone.so", RTLD_NOW) == NULL, "a name that is not there yet");
  expect(open_library("libsecond_global.so", RTLD_NOW | RTLD_GLOBAL) != NULL, "RTLD_GLOBAL");
  void* const later = open_library("libplugin_alone.so", RTLD_NOW);
  expect(later != NULL && call(later, "plugin_second") == 1, "what was opened for all");
  expect(open_library("libthird_user.so", RTLD_NOW | RTLD_GLOBAL) != NULL, "RTLD_GLOBAL of what needs another");
  expect(open_library("libthird_alone.so", RTLD_NOW) != NULL, "what was opened for all with it");
}

static void check_child(void) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) _exit(open_library("other/libsecond.so", RTLD_NOW) == NULL);
  expect(waitpid(child, &status, 0) == child && status == 0, "a library that a forked child opens");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  directory = argv[1];
  check_state();
  check_threads();
  check_threads_at_once();
  check_needed();
  check_kept();
  check_places();
  check_circle();
  check_errors();
  check_names();
  /* The loader's lock stays taken in a child that is made while another thread loads. */
  MPI_Barrier(MPI_COMM_WORLD);
  check_child();
  MPI_Finalize();
  printf("%s\n", wrong ? "wrong" : "right");
  return wrong;
}
