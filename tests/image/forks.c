/* One rank forks children, which end by exit(), while another asks without end what its environment holds. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

const char* library_variable(const char* name); /* Of a library that all ranks share. */

static int ends_well(void) {
  const pid_t child = fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(10);
    (void)library_variable("HOME");
    exit(0);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char** argv) {
  int rank, wrong = 0, flag = 0;
  MPI_Request end;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Irecv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, &end);
    while (!flag) {
      for (int i = 0; i < 1000; ++i) (void)library_variable("HOME");
      MPI_Test(&end, &flag, MPI_STATUS_IGNORE);
    }
  } else {
    for (int i = 0; i < 50 && !wrong; ++i) wrong = !ends_well();
    MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  printf("%s\n", wrong ? "wrong" : "right");
  return wrong;
}
