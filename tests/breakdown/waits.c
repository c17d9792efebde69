/* Each wait state by each call of MPI that can have it (planted_waits.h): waits FIRST COUNT. The function of a mode is named after the
   call. Other ranks than 1 wait for rank 0 as well. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "planted_waits.h"

enum { long_message = 1 << 20 };

static int rank, size;
static char data[long_message], other[long_message];
static int in[64], out[64], in_all[64];

/* Rank 0 is late. */
#define LATE if (rank == 0) work()
#define WORLD MPI_COMM_WORLD
#define NO_STATUS MPI_STATUS_IGNORE

/* --- Late senders --- */
#define SENDS(tag)                                              \
  if (rank == 0)                                                \
    for (int to = 1; to < size; ++to) MPI_Send(in, 1, MPI_INT, to, tag, WORLD)
#define RECEIVES(tag, ...)                                      \
  if (rank != 0) {                                              \
    MPI_Request r;                                              \
    MPI_Irecv(out, 1, MPI_INT, 0, tag, WORLD, &r);              \
    TIMED(__VA_ARGS__);                                         \
  }
MODE(w_recv) { LATE; SENDS(1); if (rank != 0) TIMED(MPI_Recv(out, 1, MPI_INT, 0, 1, WORLD, NO_STATUS)); }
MODE(w_recv_long) {
  LATE;
  if (rank == 0) for (int to = 1; to < size; ++to) MPI_Send(data, long_message, MPI_CHAR, to, 1, WORLD);
  if (rank != 0) TIMED(MPI_Recv(data, long_message, MPI_CHAR, 0, 1, WORLD, NO_STATUS));
}
MODE(w_recv_any) { LATE; SENDS(2); if (rank != 0) TIMED(MPI_Recv(out, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, NO_STATUS)); }
MODE(w_sendrecv) {
  LATE;
  SENDS(3);
  if (rank != 0) TIMED(MPI_Sendrecv(in, 1, MPI_INT, rank, 4, out, 1, MPI_INT, 0, 3, WORLD, NO_STATUS));
  if (rank != 0) MPI_Recv(out, 1, MPI_INT, rank, 4, WORLD, NO_STATUS);
}
MODE(w_wait) { LATE; SENDS(5); RECEIVES(5, MPI_Wait(&r, NO_STATUS)); }
MODE(w_waitall) { LATE; SENDS(6); RECEIVES(6, MPI_Waitall(1, &r, MPI_STATUSES_IGNORE)); }
MODE(w_waitany) { LATE; SENDS(7); int at; RECEIVES(7, MPI_Waitany(1, &r, &at, NO_STATUS)); }
MODE(w_waitsome) { LATE; SENDS(8); int count, at[1]; RECEIVES(8, MPI_Waitsome(1, &r, &count, at, MPI_STATUSES_IGNORE)); }
MODE(w_start) {
  LATE;
  SENDS(9);
  if (rank == 0) return;
  MPI_Request r;
  MPI_Recv_init(out, 1, MPI_INT, 0, 9, WORLD, &r);
  MPI_Start(&r);
  TIMED(MPI_Wait(&r, NO_STATUS));
  MPI_Request_free(&r);
}
MODE(w_probe) {
  LATE;
  SENDS(10);
  if (rank != 0) TIMED(MPI_Probe(0, 10, WORLD, NO_STATUS));
  if (rank != 0) MPI_Recv(out, 1, MPI_INT, 0, 10, WORLD, NO_STATUS);
}
MODE(w_mprobe) {
  LATE;
  SENDS(11);
  MPI_Message m;
  if (rank != 0) TIMED(MPI_Mprobe(0, 11, WORLD, &m, NO_STATUS));
  if (rank != 0) MPI_Mrecv(out, 1, MPI_INT, &m, NO_STATUS);
}

/* --- The same, by asking again and again --- */
#define ASKS(call) for (int is_there = 0; !is_there;) call
MODE(w_test) { LATE; SENDS(12); RECEIVES(12, ASKS(MPI_Test(&r, &is_there, NO_STATUS))); }
MODE(w_testall) { LATE; SENDS(13); RECEIVES(13, ASKS(MPI_Testall(1, &r, &is_there, MPI_STATUSES_IGNORE))); }
MODE(w_testany) { LATE; SENDS(14); int at; RECEIVES(14, ASKS(MPI_Testany(1, &r, &at, &is_there, NO_STATUS))); }
MODE(w_testsome) { LATE; SENDS(15); int at[1]; RECEIVES(15, ASKS(MPI_Testsome(1, &r, &is_there, at, MPI_STATUSES_IGNORE))); }
MODE(w_iprobe) {
  LATE;
  SENDS(16);
  if (rank != 0) TIMED(ASKS(MPI_Iprobe(0, 16, WORLD, &is_there, NO_STATUS)));
  if (rank != 0) MPI_Recv(out, 1, MPI_INT, 0, 16, WORLD, NO_STATUS);
}
MODE(w_improbe) {
  LATE;
  SENDS(17);
  MPI_Message m;
  if (rank != 0) TIMED(ASKS(MPI_Improbe(0, 17, WORLD, &is_there, &m, NO_STATUS)));
  if (rank != 0) MPI_Mrecv(out, 1, MPI_INT, &m, NO_STATUS);
}

/* --- Late receivers --- */
#define TAKES(bytes)                                            \
  if (rank == 0)                                                \
    for (int from = 1; from < size; ++from) MPI_Recv(data, bytes, MPI_CHAR, from, 18, WORLD, NO_STATUS)
#define BEGINS(call)                                            \
  MPI_Request r = MPI_REQUEST_NULL;                             \
  if (rank != 0) call;                                          \
  if (rank != 0) TIMED(MPI_Wait(&r, NO_STATUS))
MODE(w_send_long) { LATE; TAKES(long_message); if (rank != 0) TIMED(MPI_Send(other, long_message, MPI_CHAR, 0, 18, WORLD)); }
MODE(w_ssend) { LATE; TAKES(4); if (rank != 0) TIMED(MPI_Ssend(other, 4, MPI_CHAR, 0, 18, WORLD)); }
MODE(w_isend_long) { LATE; TAKES(long_message); BEGINS(MPI_Isend(other, long_message, MPI_CHAR, 0, 18, WORLD, &r)); }
MODE(w_issend) { LATE; TAKES(4); BEGINS(MPI_Issend(other, 4, MPI_CHAR, 0, 18, WORLD, &r)); }

/* --- Collectives, of which rank 1 is the root where all others give --- */
#define MEETS(call) LATE; TIMED(call)
#define GOES_ON(call)                  \
  MPI_Request r;                       \
  LATE;                                \
  call;                                \
  TIMED(MPI_Wait(&r, NO_STATUS))
MODE(w_barrier) { MEETS(MPI_Barrier(WORLD)); }
MODE(w_bcast) { MEETS(MPI_Bcast(in, 1, MPI_INT, 0, WORLD)); }
MODE(w_scatter) { MEETS(MPI_Scatter(in_all, 1, MPI_INT, out, 1, MPI_INT, 0, WORLD)); }
MODE(w_reduce) { MEETS(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 1, WORLD)); }
MODE(w_gather) { MEETS(MPI_Gather(in, 1, MPI_INT, in_all, 1, MPI_INT, 1, WORLD)); }
MODE(w_allreduce) { MEETS(MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, WORLD)); }
MODE(w_allgather) { MEETS(MPI_Allgather(in, 1, MPI_INT, in_all, 1, MPI_INT, WORLD)); }
MODE(w_alltoall) { MEETS(MPI_Alltoall(in_all, 1, MPI_INT, out, 1, MPI_INT, WORLD)); }
MODE(w_scan) { MEETS(MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, WORLD)); }
MODE(w_reduce_scatter) { MEETS(MPI_Reduce_scatter_block(in_all, out, 1, MPI_INT, MPI_SUM, WORLD)); }
MODE(w_ibarrier) { GOES_ON(MPI_Ibarrier(WORLD, &r)); }
MODE(w_ibcast) { GOES_ON(MPI_Ibcast(in, 1, MPI_INT, 0, WORLD, &r)); }
MODE(w_iscatter) { GOES_ON(MPI_Iscatter(in_all, 1, MPI_INT, out, 1, MPI_INT, 0, WORLD, &r)); }
MODE(w_ireduce) { GOES_ON(MPI_Ireduce(in, out, 1, MPI_INT, MPI_SUM, 1, WORLD, &r)); }
MODE(w_igather) { GOES_ON(MPI_Igather(in, 1, MPI_INT, in_all, 1, MPI_INT, 1, WORLD, &r)); }
MODE(w_iallreduce) { GOES_ON(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, WORLD, &r)); }
MODE(w_iallgather) { GOES_ON(MPI_Iallgather(in, 1, MPI_INT, in_all, 1, MPI_INT, WORLD, &r)); }
MODE(w_ialltoall) { GOES_ON(MPI_Ialltoall(in_all, 1, MPI_INT, out, 1, MPI_INT, WORLD, &r)); }
MODE(w_iscan) { GOES_ON(MPI_Iscan(in, out, 1, MPI_INT, MPI_SUM, WORLD, &r)); }
MODE(w_ibarrier_all) {
  MPI_Request r[2];
  LATE;
  MPI_Ibarrier(WORLD, r);
  MPI_Ibarrier(WORLD, r + 1);
  TIMED(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
}
MODE(w_ibarrier_test) {
  MPI_Request r;
  LATE;
  MPI_Ibarrier(WORLD, &r);
  TIMED(ASKS(MPI_Test(&r, &is_there, NO_STATUS)));
}
/* Begun early, and rank 0 does not look after it. */
MODE(w_unattended) {
  MPI_Request r;
  MPI_Ibarrier(WORLD, &r);
  LATE;
  TIMED(MPI_Wait(&r, NO_STATUS));
}
/* What rank 0 does before is no computation. */
MODE(w_sleep) {
  if (rank == 0) usleep((useconds_t)(step * 1e6));
  TIMED(MPI_Barrier(WORLD));
}
/* Messages come in the middle of what it computes. */
MODE(w_interrupted) {
  MPI_Request r;
  int is_there;
  if (rank == 0) MPI_Irecv(out, 1, MPI_INT, 1, 19, WORLD, &r);
  if (rank == 1) MPI_Send(in, 1, MPI_INT, 0, 19, WORLD);
  if (rank == 0) {
    work();
    MPI_Test(&r, &is_there, NO_STATUS);
    if (!is_there) MPI_Wait(&r, NO_STATUS);
  }
  TIMED(MPI_Barrier(WORLD));
}

static const struct mode modes[] = {
    WAITS(w_recv, "late_sender"), WAITS(w_recv_long, "late_sender"), WAITS(w_recv_any, "late_sender"),
    WAITS(w_sendrecv, "late_sender"), WAITS(w_wait, "late_sender"), WAITS(w_waitall, "late_sender"),
    WAITS(w_waitany, "late_sender"), WAITS(w_waitsome, "late_sender"), WAITS(w_start, "late_sender"),
    WAITS(w_probe, "late_sender"), WAITS(w_mprobe, "late_sender"), WAITS(w_test, "late_sender"),
    WAITS(w_testall, "late_sender"), WAITS(w_testany, "late_sender"), WAITS(w_testsome, "late_sender"),
    WAITS(w_iprobe, "late_sender"), WAITS(w_improbe, "late_sender"), WAITS(w_send_long, "late_receiver"),
    WAITS(w_ssend, "late_receiver"), WAITS(w_isend_long, "late_receiver"), WAITS(w_issend, "late_receiver"),
    WAITS(w_barrier, "wait_at_barrier"), WAITS(w_bcast, "late_broadcast"), WAITS(w_scatter, "late_broadcast"),
    WAITS(w_reduce, "early_reduce"), WAITS(w_gather, "early_reduce"), WAITS(w_allreduce, "wait_at_n_to_n"),
    WAITS(w_allgather, "wait_at_n_to_n"), WAITS(w_alltoall, "wait_at_n_to_n"), WAITS(w_scan, "wait_at_n_to_n"),
    WAITS(w_reduce_scatter, "wait_at_n_to_n"), WAITS(w_ibarrier, "wait_at_barrier"), WAITS(w_ibcast, "late_broadcast"),
    WAITS(w_iscatter, "late_broadcast"), WAITS(w_ireduce, "early_reduce"), WAITS(w_igather, "early_reduce"),
    WAITS(w_iallreduce, "wait_at_n_to_n"), WAITS(w_iallgather, "wait_at_n_to_n"), WAITS(w_ialltoall, "wait_at_n_to_n"),
    WAITS(w_iscan, "wait_at_n_to_n"), WAITS(w_ibarrier_all, "wait_at_barrier"), WAITS(w_ibarrier_test, "wait_at_barrier"),
    WAITS(w_unattended, "wait_at_barrier"), WAITS(w_sleep, "wait_at_barrier"), WAITS(w_interrupted, "wait_at_barrier"),
};

static void meet(void) { MPI_Barrier(WORLD); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  run_modes(argc, argv, modes, (int)(sizeof modes / sizeof modes[0]), rank, meet);
  MPI_Finalize();
  return 0;
}
