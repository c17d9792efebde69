// The steps of weft-amr over MPI: the same mesh, numbers and hash (apps/amr), for the comparison of `bench pure`. Built by weftcxx, too, whose
// ranks steal blocks, and by amr_openmp.cpp with threads of OpenMP in place of tasks.
//
//   AMR_STEPS (20) AMR_LEVELS (4) AMR_BASE (2) AMR_VARIABLES (8) AMR_OBJECTS (2) AMR_SEED (9) AMR_SPEED (0.01) AMR_REGRID (5) AMR_BALANCE (1)
//                     as the words of weft-amr; launchers forward the environment
//   AMR_TASKS (1)     0: loops that nobody shares
//
// Prints name,peer,ranks,shares,seconds,hash. Exit status 1: a sum has changed.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "amr/simulation.hpp"
#include "octree/tree.cpp"
#include "report.hpp"
#include "shared_loops.hpp"

namespace {

class mpi_peers {
 public:
  mpi_peers() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  void post(std::span<const double> values, int to) {
    MPI_Isend(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, to, 0, MPI_COMM_WORLD,
              &posted_.emplace_back());
  }
  void receive(std::span<double> into, int from) {
    MPI_Recv(into.data(), static_cast<int>(into.size()), MPI_DOUBLE, from, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  void finish() {
    MPI_Waitall(static_cast<int>(posted_.size()), posted_.data(), MPI_STATUSES_IGNORE);
    posted_.clear();
  }
  void sum(std::span<double> values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  [[nodiscard]] std::uint64_t sum(std::uint64_t value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return value;
  }
  [[nodiscard]] double max(double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
  }

 private:
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> posted_;
};

int whole(const char* name, const char* otherwise) {
  return std::atoi(bench::setting(name, otherwise).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  amr::physics p;
  p.levels = whole("AMR_LEVELS", "4");
  p.base = whole("AMR_BASE", "2");
  p.variables = static_cast<std::size_t>(whole("AMR_VARIABLES", "8"));
  p.objects = whole("AMR_OBJECTS", "2");
  p.seed = static_cast<std::uint64_t>(whole("AMR_SEED", "9"));
  p.speed = std::atof(bench::setting("AMR_SPEED", "0.01").c_str());
  p.regrid_every = whole("AMR_REGRID", "5");
  p.balance_every = whole("AMR_BALANCE", "1");
  const int steps = whole("AMR_STEPS", "20");
  mpi_peers peers;
  if (p.base < 1 || p.levels < p.base || p.levels > 7 || p.variables < 1 || steps < 1) {
    if (peers.rank() == 0)
      std::fprintf(
          stderr,
          "amr: AMR_BASE is 1 to AMR_LEVELS, that 7 at most, AMR_VARIABLES and AMR_STEPS at least 1\n");
    MPI_Finalize();
    return 2;
  }
  const bench::shared_loops loops(bench::setting("AMR_TASKS", "1") != "0");
  bool right = true;
  {
    amr::simulation<mpi_peers, bench::shared_loops> s(p, peers, loops);
    const amr::totals start = s.measure();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int step = 1; step <= steps; ++step) {
      s.step();
      if (step < steps) s.regrid_when_due();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - begin;
    const amr::totals end = s.measure();
    right = amr::change_of_sums(start, end) < amr::sum_tolerance;
    if (peers.rank() == 0) {
      std::printf("name,peer,ranks,shares,seconds,hash\n");
      std::printf("amr/step,%s,%d,%s,%.9f,%016llx\n", bench::peer_name(), peers.size(), loops.who(),
                  seconds, static_cast<unsigned long long>(end.hash));
      if (!right) std::fprintf(stderr, "amr: a sum has changed\n");
    }
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
