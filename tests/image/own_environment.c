/* What a process has once, as a program of many ranks uses it: each rank with variables of the
   environment of its own. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size, wrong;

static void expect(int holds, const char* what) {
  if (holds) return;
  wrong = 1;
  printf("wrong in rank %d: %s\n", rank, what);
}

static void step(void) { MPI_Barrier(MPI_COMM_WORLD); }

static int is_number(const char* text) { return text != NULL && atoi(text) == rank && text[0] != '\0'; }

/* What a program that this one starts sees. */
static int shell_number(void) {
  FILE* const pipe = popen("echo $WEFT_TEST_NUMBER", "r");
  int number = -1;
  if (pipe == NULL || fscanf(pipe, "%d", &number) != 1) number = -1;
  if (pipe != NULL && pclose(pipe) != 0) number = -2;
  return number;
}

static void check_environment(char** of_main) {
  char number[32], line[64];
  expect(of_main == environ, "the third argument of main()");
  expect(getenv("HOME") != NULL, "a variable that was there");
  snprintf(number, sizeof number, "%d", rank);
  step();
  setenv("WEFT_TEST_NUMBER", number, 1);
  step();
  expect(is_number(getenv("WEFT_TEST_NUMBER")), "setenv()");
  expect(shell_number() == rank, "the environment of popen()");
  snprintf(line, sizeof line, "test \"$WEFT_TEST_NUMBER\" = %d", rank);
  expect(system(line) == 0, "the environment of system()");
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", line, (char*)NULL);
    _exit(9);
  }
  int status = -1;
  waitpid(child, &status, 0);
  expect(status == 0, "the environment of execl()");
  step();
  setenv("WEFT_TEST_NUMBER", "other", 0);
  expect(is_number(getenv("WEFT_TEST_NUMBER")), "setenv() that shall not overwrite");
  static char text[32];
  snprintf(text, sizeof text, "WEFT_TEST_TEXT=%d", rank);
  putenv(text);
  step();
  expect(is_number(getenv("WEFT_TEST_TEXT")), "putenv()");
  text[15] = 'x';
  expect(getenv("WEFT_TEST_TEXT")[0] == 'x', "that putenv() keeps the text itself");
  step();
  if (rank % 2 == 0) unsetenv("WEFT_TEST_NUMBER");
  step();
  expect((getenv("WEFT_TEST_NUMBER") == NULL) == (rank % 2 == 0), "unsetenv()");
  setenv("TZ", "UTC0", 1);
  tzset();
  step();
  if (rank == 0) {
    clearenv();
    expect(getenv("HOME") == NULL, "clearenv()");
  }
  step();
  if (rank != 0) expect(getenv("HOME") != NULL, "another rank's clearenv()");
}

int main(int argc, char** argv, char** environment) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_environment(environment);
  MPI_Finalize();
  printf("%s\n", wrong ? "wrong" : "right");
  return wrong;
}
