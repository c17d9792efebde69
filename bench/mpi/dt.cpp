// The waves of weft-dt over MPI: the same graphs, streams and checks (apps/dt), for the comparison of `bench pure`. Built by weftcc, too,
// whose ranks steal chunks of its loops, and by dt_openmp.cpp with threads of OpenMP in place of tasks.
//
//   DT_GRAPH (sh) DT_CLASS (S) DT_WAVES (5)   as the words of weft-dt; launchers forward the environment
//   DT_TASKS (1)                              0: loops that nobody shares
//
// Prints name,peer,ranks,shares,wave,seconds,checksum for each wave. Exit status 1: a check has failed.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dt/wave.hpp"
#include "report.hpp"
#include "shared_loops.hpp"

namespace {

using bench::setting;

class mpi_peers {
 public:
  void receive(std::span<double> into, int from) {
    MPI_Recv(into.data(), static_cast<int>(into.size()), MPI_DOUBLE, from, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  void send(std::span<const double> values, std::span<const int> to) {
    std::vector<MPI_Request> sent(to.size());
    for (std::size_t i = 0; i < to.size(); ++i)
      MPI_Isend(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, to[i], 0,
                MPI_COMM_WORLD, &sent[i]);
    MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto kind = dt::kind_of(setting("DT_GRAPH", "sh"));
  const dt::graph_class* const letter = dt::class_of(setting("DT_CLASS", "S"));
  const int waves = std::atoi(setting("DT_WAVES", "5").c_str());
  if (!kind || letter == nullptr || waves < 1) {
    if (rank == 0)
      std::fprintf(stderr,
                   "dt: DT_GRAPH is bh, wh or sh, DT_CLASS S, W, A or B, DT_WAVES at least 1\n");
    MPI_Finalize();
    return 2;
  }
  const dt::wave_plan plan = dt::make_plan(*kind, *letter, 1);
  if (plan.nodes.size() > size) {
    if (rank == 0)
      std::fprintf(stderr,
                   "dt: the graph has %d nodes, the job %d ranks: give it a rank for each node\n",
                   plan.nodes.size(), size);
    MPI_Finalize();
    return 2;
  }
  const bench::shared_loops loops(setting("DT_TASKS", "1") != "0");
  mpi_peers peers;
  bool right = true;
  if (rank == 0) std::printf("name,peer,ranks,shares,wave,seconds,checksum\n");
  for (int wave = 1; wave <= waves; ++wave) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    dt::wave_result mine, all;
    if (rank < plan.nodes.size())
      mine = dt::run_node(plan, rank, peers, loops, [](dt::activity) {});
    const double sums[2] = {mine.sent, mine.arrived};
    double of_all[2] = {};
    MPI_Allreduce(sums, of_all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;
    MPI_Allreduce(&mine.checksum, &all.checksum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    right = right && all.checksum == dt::known_checksum(*kind, letter->letter, 1) &&
            std::abs(of_all[1] - of_all[0]) < dt::sum_tolerance * of_all[0];
    if (rank == 0)
      std::printf("dt/%s/%c,%s,%d,%s,%d,%.9f,%016llx\n", setting("DT_GRAPH", "sh").c_str(),
                  letter->letter, bench::peer_name(), size, loops.who(), wave, seconds,
                  static_cast<unsigned long long>(all.checksum));
  }
  if (!right && rank == 0) std::fprintf(stderr, "dt: the checksum or a sum is WRONG\n");
  MPI_Finalize();
  return right ? 0 : 1;
}
