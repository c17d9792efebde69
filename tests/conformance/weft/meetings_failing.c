/* Processes of jobs that were joined die, and the others go on: also ranks of workers that have nothing to do with the other job.

   Run with: --on-failure error -n 1 --timeout 60
   Run with: --on-failure error -n 4 --workers 2 --timeout 60
   Run with: --on-failure error -n 4 --processes 2 --timeout 60 */
#define _GNU_SOURCE
#include "../conform.h"
#include <mpi-ext.h>

#include <limits.h>
#include <signal.h>
#include <unistd.h>

static char program[PATH_MAX];

static MPI_Comm started(const char* what, int ranks, MPI_Comm by) {
  char* words[] = {(char*)what, NULL};
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  if (ranks > 1) MPI_Info_set(info, "weft_ranks_per_process", "1");
  EXPECT_INT(MPI_Comm_spawn(program, words, ranks, info, 0, by, &between, MPI_ERRCODES_IGNORE), MPI_SUCCESS);
  MPI_Info_free(&info);
  MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
  return between;
}

/* Only one rank here has met the child that dies. */
static void lose_a_child(void) {
  if (rank == 0) {
    MPI_Comm between = started("dies", 1, MPI_COMM_SELF);
    int value = 0;
    MPI_Request request;
    EXPECT_INT(MPI_Irecv(&value, 1, MPI_INT, 0, 1, between, &request), MPI_SUCCESS);
    EXPECT_INT(MPI_Send(&value, 1, MPI_INT, 0, 2, between), MPI_SUCCESS);
    EXPECT_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    EXPECT_CLASS(MPI_Recv(&value, 1, MPI_INT, 0, 1, between, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, 0, 2, between), MPIX_ERR_PROC_FAILED);
    EXPECT_CLASS(MPI_Barrier(between), MPIX_ERR_PROC_FAILED);
    MPI_Group failed;
    int count = -1;
    EXPECT_INT(MPIX_Comm_get_failed(between, &failed), MPI_SUCCESS);
    MPI_Group_size(failed, &count);
    EXPECT_INT(count, 1);
    MPI_Group_free(&failed);
    EXPECT_INT(MPI_Comm_free(&between), MPI_SUCCESS);
  }
  int one = 1, sum = 0;
  EXPECT_INT(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_INT(sum, size);
}

static void go_on(MPI_Comm merged, int living) {
  int count = 0, one = 1, sum = 0, flag = 6 | (rank == 0);
  MPI_Comm next, again;
  EXPECT_INT(MPIX_Comm_shrink(merged, &next), MPI_SUCCESS);
  MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
  MPI_Comm_size(next, &count);
  EXPECT_INT(count, living);
  EXPECT_INT(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, next), MPI_SUCCESS);
  EXPECT_INT(sum, living);
  EXPECT_INT(MPIX_Comm_agree(next, &flag), MPI_SUCCESS);
  EXPECT(flag == 6 || flag == 7, "%d", flag);
  EXPECT_INT(MPI_Comm_dup(next, &again), MPI_SUCCESS);
  EXPECT_INT(MPI_Barrier(again), MPI_SUCCESS);
  MPI_Comm_free(&again);
  MPI_Comm_free(&next);
}

/* One of two children dies in the middle; the ranks of both jobs that live agree on who that are. */
static void shrink_over_both_jobs(void) {
  MPI_Comm between = started("one dies", 2, MPI_COMM_WORLD), merged;
  EXPECT_INT(MPI_Intercomm_merge(between, 0, &merged), MPI_SUCCESS);
  MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
  MPI_Barrier(merged);
  go_on(merged, size + 1);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&between);
}

static int child(const char* what, MPI_Comm parent) {
  if (strcmp(what, "dies") == 0) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, 0, 2, parent, MPI_STATUS_IGNORE);
    kill(getpid(), SIGKILL);
  }
  MPI_Comm merged;
  int others;
  MPI_Comm_remote_size(parent, &others);
  MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
  MPI_Intercomm_merge(parent, 1, &merged);
  MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
  MPI_Barrier(merged);
  if (rank == 1) kill(getpid(), SIGKILL);
  go_on(merged, others + 1);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&parent);
  MPI_Finalize();
  return wrong_count != 0;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(argv[1], parent);
  if (realpath(argv[0], program) == NULL) return 1;
  lose_a_child();
  shrink_over_both_jobs();
  return end();
}
