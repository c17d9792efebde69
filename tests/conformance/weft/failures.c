/* Failure mitigation (MPIX_): the process of the last rank dies, later that of rank 1 in the middle of an agreement; those
   that live are told, revoke, agree, shrink and go on.

   Run with: --on-failure error -n 6 --processes 3 --timeout 60
   Run with: --on-failure error -n 5 --ranks-per-process 1 --timeout 60 */
#include <signal.h>
#include <unistd.h>

#include "../conform.h"
#include <mpi-ext.h>

#if !defined MPIX_ERR_PROC_FAILED || !defined MPIX_ERR_PROC_FAILED_PENDING || !defined MPIX_ERR_REVOKED || !defined MPIX_FT
#error "programs ask for these by #ifdef"
#endif

static int processes, last, per_process; /* `last`: the first rank of the last process. */

static void die(void) { kill(getpid(), SIGKILL); }

/* Of a rank whose process is about to die. */
static void wait_for_end(MPI_Comm comm) { MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 98, comm, MPI_STATUS_IGNORE); }

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

static MPI_Comm copy_of(MPI_Comm comm) {
  MPI_Comm made;
  MPI_Comm_dup(comm, &made);
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

static int size_of(MPI_Group group) {
  int count = -1;
  MPI_Group_size(group, &count);
  MPI_Group_free(&group);
  return count;
}

/* Nobody has died. */
static void agreements_of_all(void) {
  int flag = rank == 1 ? 5 : 7, many[20], is_revoked = 7;
  MPI_Comm comm = copy_of(MPI_COMM_WORLD), same;
  MPI_Request requests[20];
  EXPECT_INT(MPIX_Comm_agree(comm, &flag), MPI_SUCCESS);
  EXPECT_INT(flag, 5);
  for (int i = 0; i < 20; ++i) {
    many[i] = rank == 0 ? ~i : -1;
    EXPECT_INT(MPIX_Comm_iagree(comm, &many[i], &requests[i]), MPI_SUCCESS);
  }
  EXPECT_INT(MPI_Waitall(20, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (int i = 0; i < 20; ++i) EXPECT_INT(many[i], ~i);
  EXPECT_INT(MPIX_Comm_shrink(comm, &same), MPI_SUCCESS);
  int result, count;
  MPI_Comm_compare(comm, same, &result);
  EXPECT_INT(result, MPI_CONGRUENT);
  MPI_Comm_free(&same);
  EXPECT_INT(MPIX_Comm_ishrink(comm, &same, &requests[0]), MPI_SUCCESS);
  EXPECT_INT(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Comm_size(same, &count);
  EXPECT_INT(count, size);
  MPI_Barrier(same);
  MPI_Comm_free(&same);
  EXPECT_INT(MPIX_Comm_is_revoked(comm, &is_revoked), MPI_SUCCESS);
  EXPECT_INT(is_revoked, 0);
  MPI_Group failed;
  EXPECT_INT(MPIX_Comm_get_failed(comm, &failed), MPI_SUCCESS);
  EXPECT_INT(size_of(failed), 0);
  flag = 1;
  EXPECT_CLASS(MPIX_Comm_agree(MPI_COMM_NULL, &flag), MPI_ERR_COMM);
  EXPECT_CLASS(MPIX_Comm_agree(comm, NULL), MPI_ERR_ARG);
  EXPECT_CLASS(MPIX_Comm_ack_failed(comm, -1, &count), MPI_ERR_COUNT);
  MPI_Comm_free(&comm);
}

/* Revoked while others are in every kind of call. */
static void revoked(void) {
  MPI_Comm comm = copy_of(MPI_COMM_WORLD), next;
  static char large[1 << 20];
  int value = 0, is_revoked = 0, flag = 1;
  MPI_Request requests[2], receive, barrier;
  MPI_Recv_init(&value, 1, MPI_INT, 0, 12, comm, &receive);
  MPI_Barrier_init(comm, MPI_INFO_NULL, &barrier);
  if (rank == 0) {
    usleep(20000);
    EXPECT_INT(MPIX_Comm_revoke(comm), MPI_SUCCESS);
    EXPECT_INT(MPIX_Comm_revoke(comm), MPI_SUCCESS);
  } else if (rank == 1) {
    EXPECT_CLASS(MPI_Barrier(comm), MPIX_ERR_REVOKED);
  } else if (rank == 2) {
    if (MPI_Start(&barrier) == MPI_SUCCESS) EXPECT_CLASS(MPI_Wait(&barrier, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    EXPECT_CLASS(MPI_Recv(&value, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
  } else if (rank == 3) {
    EXPECT_CLASS(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
  } else if (rank == 4) {
    MPI_Isend(large, sizeof large, MPI_CHAR, 0, 8, comm, &requests[0]);
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, &requests[1]);
    EXPECT_CLASS(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    EXPECT_CLASS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
  } else {
    EXPECT_CLASS(MPI_Ssend(large, sizeof large, MPI_CHAR, 4, 10, comm), MPIX_ERR_REVOKED);
    EXPECT_CLASS(MPI_Probe(0, 11, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
  }
  EXPECT_INT(MPIX_Comm_is_revoked(comm, &is_revoked), MPI_SUCCESS);
  EXPECT_INT(is_revoked, 1);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, 0, 1, comm), MPIX_ERR_REVOKED);
  EXPECT_CLASS(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &requests[0]), MPIX_ERR_REVOKED);
  EXPECT_CLASS(MPI_Start(&receive), MPIX_ERR_REVOKED);
  EXPECT_CLASS(MPI_Start(&barrier), MPIX_ERR_REVOKED);
  MPI_Request_free(&receive);
  MPI_Request_free(&barrier);
  EXPECT_CLASS(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm), MPIX_ERR_REVOKED);
  EXPECT_CLASS(MPI_Comm_dup(comm, &next), MPIX_ERR_REVOKED);
  EXPECT_INT(MPIX_Comm_agree(comm, &flag), MPI_SUCCESS);
  EXPECT_INT(MPIX_Comm_shrink(comm, &next), MPI_SUCCESS);
  int count = 0, sum = 0, one = 1;
  MPI_Comm_size(next, &count);
  EXPECT_INT(count, size);
  EXPECT_INT(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, next), MPI_SUCCESS);
  EXPECT_INT(sum, size);
  MPI_Comm_free(&next);
  MPI_Comm_free(&comm);
}

/* Rank 0 learns of the death by a receive from any rank, which goes on once it has acknowledged that. */
static void told_of_death(MPI_Comm comm) {
  int value = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Group failed;
  if (rank == 0) {
    EXPECT_CLASS(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    EXPECT_INT(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &request), MPI_SUCCESS);
    EXPECT_CLASS(MPI_Wait(&request, &status), MPIX_ERR_PROC_FAILED_PENDING);
    int flag = 0, index = -1;
    EXPECT_CLASS(MPI_Test(&request, &flag, &status), MPIX_ERR_PROC_FAILED_PENDING);
    EXPECT_CLASS(MPI_Waitany(1, &request, &index, &status), MPIX_ERR_PROC_FAILED_PENDING);
    EXPECT_CLASS(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
    EXPECT_INT(class_of(status.MPI_ERROR), MPIX_ERR_PROC_FAILED_PENDING);
    EXPECT(request != MPI_REQUEST_NULL, "the request is gone");
    MPI_Request other;
    int got = -1;
    EXPECT_INT(MPI_Isendrecv(&value, 1, MPI_INT, 0, 5, &got, 1, MPI_INT, MPI_ANY_SOURCE, 6, comm, &other),
               MPI_SUCCESS);
    EXPECT_CLASS(MPI_Wait(&other, &status), MPIX_ERR_PROC_FAILED_PENDING);
    EXPECT_INT(MPI_Recv(&got, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_INT(MPI_Send(&value, 1, MPI_INT, 0, 6, comm), MPI_SUCCESS);
    EXPECT_INT(MPI_Wait(&other, &status), MPI_SUCCESS);
    EXPECT_INT(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, &other), MPI_SUCCESS);
    EXPECT_CLASS(MPI_Wait(&other, &status), MPIX_ERR_PROC_FAILED_PENDING);
    EXPECT_INT(MPI_Cancel(&other), MPI_SUCCESS);
    EXPECT_INT(MPI_Wait(&other, &status), MPI_SUCCESS);
    EXPECT_INT(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
    EXPECT_INT(flag, 1);
    EXPECT_CLASS(MPI_Probe(MPI_ANY_SOURCE, 3, comm, &status), MPIX_ERR_PROC_FAILED);
    EXPECT_INT(MPIX_Comm_failure_get_acked(comm, &failed), MPI_SUCCESS);
    EXPECT_INT(size_of(failed), 0);
    int acked = -1;
    EXPECT_INT(MPIX_Comm_ack_failed(comm, 0, &acked), MPI_SUCCESS);
    EXPECT_INT(acked, 0);
    EXPECT_INT(MPIX_Comm_ack_failed(comm, 1000, &acked), MPI_SUCCESS);
    EXPECT_INT(acked, per_process);
    EXPECT_INT(MPIX_Comm_failure_get_acked(comm, &failed), MPI_SUCCESS);
    EXPECT_INT(size_of(failed), per_process);
    EXPECT_INT(MPI_Send(&value, 1, MPI_INT, 1, 4, comm), MPI_SUCCESS);
    EXPECT_INT(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_INT(status.MPI_SOURCE, 1);
    EXPECT_INT(value, 17);
  } else if (rank == 1) {
    EXPECT_INT(MPI_Recv(&value, 1, MPI_INT, 0, 4, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    value = 17;
    EXPECT_INT(MPI_Send(&value, 1, MPI_INT, 0, 3, comm), MPI_SUCCESS);
  }
  EXPECT_CLASS(MPI_Recv(&value, 1, MPI_INT, last, 3, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, last, 3, comm), MPIX_ERR_PROC_FAILED);
  EXPECT_CLASS(MPI_Ssend(&value, 1, MPI_INT, last, 3, comm), MPIX_ERR_PROC_FAILED);
  EXPECT_CLASS(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED);
  EXPECT_INT(MPIX_Comm_get_failed(comm, &failed), MPI_SUCCESS);
  EXPECT_INT(size_of(failed), per_process);
}

static void go_on(MPI_Comm comm, int wanted) {
  int count = 0, place = 0, sum = 0, one = 1, in = -1;
  MPI_Comm_size(comm, &count);
  MPI_Comm_rank(comm, &place);
  EXPECT_INT(count, wanted);
  EXPECT_INT(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  EXPECT_INT(sum, wanted);
  int ranks[64];
  EXPECT_INT(MPI_Allgather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, comm), MPI_SUCCESS);
  for (int i = 1; i < count; ++i) EXPECT(ranks[i - 1] < ranks[i], "rank %d is place %d", ranks[i], i);
  EXPECT_INT(MPI_Sendrecv(&place, 1, MPI_INT, (place + 1) % count, 0, &in, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm,
                          MPI_STATUS_IGNORE),
             MPI_SUCCESS);
  EXPECT_INT(in, (place + count - 1) % count);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  per_process = size == 6 ? 2 : 1;
  processes = size / per_process;
  last = size - per_process;
  int *goes_on = NULL, has_it = 0;
  EXPECT_INT(MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &goes_on, &has_it), MPI_SUCCESS);
  EXPECT(has_it && *goes_on == 1, "no MPIX_FT");
  agreements_of_all();
  revoked();
  MPI_Comm comm = copy_of(MPI_COMM_WORLD), living, fewer;
  if (rank == last) {
    MPI_Recv(NULL, 0, MPI_INT, 0, 99, comm, MPI_STATUS_IGNORE);
    die();
  }
  if (rank == 0) MPI_Send(NULL, 0, MPI_INT, last, 99, comm);
  if (rank > last) wait_for_end(comm);
  told_of_death(comm);
  int flag = 3;
  EXPECT_CLASS(MPIX_Comm_agree(comm, &flag), MPIX_ERR_PROC_FAILED);
  EXPECT_INT(flag, 3);
  EXPECT_INT(MPIX_Comm_failure_ack(comm), MPI_SUCCESS);
  flag = rank == 0 ? 2 : 3;
  EXPECT_INT(MPIX_Comm_agree(comm, &flag), MPI_SUCCESS);
  EXPECT_INT(flag, 2);
  EXPECT_INT(MPIX_Comm_revoke(comm), MPI_SUCCESS);
  EXPECT_INT(MPIX_Comm_shrink(comm, &living), MPI_SUCCESS);
  go_on(living, last);

  /* The one that coordinates dies in an agreement: its process is that of rank 0. */
  const int first_left = per_process, left = last - per_process;
  MPI_Comm_set_errhandler(living, MPI_ERRORS_RETURN);
  MPI_Barrier(living);
  if (rank == 0) {
    MPI_Request request;
    flag = 1;
    MPIX_Comm_iagree(living, &flag, &request);
    usleep(1000);
    die();
  }
  if (rank < first_left) wait_for_end(living);
  flag = rank;
  const int code = class_of(MPIX_Comm_agree(living, &flag));
  EXPECT(code == MPI_SUCCESS || code == MPIX_ERR_PROC_FAILED, "class %d", code);
  EXPECT_INT(MPIX_Comm_shrink(living, &fewer), MPI_SUCCESS);
  int count;
  MPI_Comm_size(fewer, &count);
  while (count != left) { /* Not everybody had heard of it. */
    MPI_Comm again;
    EXPECT_INT(MPIX_Comm_shrink(fewer, &again), MPI_SUCCESS);
    MPI_Comm_free(&fewer);
    fewer = again;
    MPI_Comm_size(fewer, &count);
  }
  go_on(fewer, left);
  int codes[2] = {code, -code};
  EXPECT_INT(MPI_Allreduce(MPI_IN_PLACE, codes, 2, MPI_INT, MPI_MAX, fewer), MPI_SUCCESS);
  EXPECT(codes[0] == -codes[1], "some got class %d, others %d", codes[0], -codes[1]);
  EXPECT_INT(MPI_Allreduce(MPI_IN_PLACE, &wrong_count, 1, MPI_INT, MPI_SUM, fewer), MPI_SUCCESS);
  int place;
  MPI_Comm_rank(fewer, &place);
  EXPECT_INT(MPI_Finalize(), MPI_SUCCESS);
  if (place == 0) printf(wrong_count == 0 ? "right\n" : "wrong: %d\n", wrong_count);
  fflush(stdout);
  return wrong_count != 0;
}
