// Sessions, and communicators of those that live.
//
//   sessions/begin_end      MPI_Session_init and MPI_Session_finalize of one rank
//   sessions/cycle          the same with a communicator of all ranks, made of the session's group and freed
//   sessions/shrink         a communicator of the living made of the world, in which nobody has failed; weft alone
#define BENCH_OVER_MPI
#include "../adapter.hpp"

#if MPI_VERSION >= 4
namespace {

MPI_Session begin() {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  return session;
}

void begin_end(bench::peers& p) {
  bench::measure(p, "sessions/begin_end", [&](long n) {
    for (long i = 0; i < n; ++i) {
      MPI_Session session = begin();
      MPI_Session_finalize(&session);
    }
  });
}

void cycle(bench::peers& p) {
  bench::measure(p, "sessions/cycle", [&](long n) {
    for (long i = 0; i < n; ++i) {
      MPI_Session session = begin();
      MPI_Group group;
      MPI_Comm comm;
      MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
      MPI_Comm_create_from_group(group, "bench", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
      MPI_Group_free(&group);
      MPI_Comm_free(&comm);
      MPI_Session_finalize(&session);
    }
  });
}

#ifdef MPIX_HAVE_ULFM
void shrink(bench::peers& p) {
  bench::measure(p, "sessions/shrink", [&](long n) {
    for (long i = 0; i < n; ++i) {
      MPI_Comm living;
      MPIX_Comm_shrink(MPI_COMM_WORLD, &living);
      MPI_Comm_free(&living);
    }
  });
}
#endif

}  // namespace
#endif

int main(int argc, char** argv) {
  return bench::run(argc, argv, []([[maybe_unused]] bench::peers& p) {
#if MPI_VERSION >= 4
    begin_end(p);
    cycle(p);
#ifdef MPIX_HAVE_ULFM
    shrink(p);
#endif
#endif
  });
}
