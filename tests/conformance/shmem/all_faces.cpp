// MPI, OpenSHMEM, tasks and parcels in one program. Actions are registered by constructors, which ranks run; a call
// that comes to a process before its first rank has run them waits for that, and runs in that rank's copy.
#include <mpi.h>
#include <unistd.h>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>
#include <weft/parcels.hpp>
#include <weft/tasks.hpp>

#include "conform.h"

namespace {

const struct late_constructor {
  late_constructor() {
    const char* const rank = std::getenv("WEFT_RANK");
    if (rank != nullptr && std::atoi(rank) > 0) ::usleep(200'000);
  }
} sleeps_first;

int my_rank = -1;
long total;  // Symmetric.

int whose() {
  return my_rank;
}
WEFT_ACTION(whose);
std::vector<double> doubled(std::vector<double> values) {
  for (double& x : values) x *= 2;
  return values;
}
WEFT_ACTION(doubled);
int refused(int x) {
  throw std::runtime_error("x is " + std::to_string(x));
}
WEFT_ACTION(refused);

struct account {
  long sum = 0;
  long add(long x) { return sum += x; }
};

// Ranks of each locality lie one after the other: the first has the lowest number.
int first_rank_of(weft::locality there) {
  std::vector<int> of(static_cast<std::size_t>(pes));
  const int mine = weft::here().number();
  MPI_Allgather(&mine, 1, MPI_INT, of.data(), 1, MPI_INT, MPI_COMM_WORLD);
  int first = 0;
  while (of[static_cast<std::size_t>(first)] != there.number()) ++first;
  return first;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  begin();
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  EXPECT(my_rank == me);
  const weft::locality last(weft::locality_count() - 1);

  // At once: other processes may not have begun.
  const std::vector<double> result =
      weft::async(last, doubled, std::vector<double>(20'000, me)).get();
  EXPECT(result.size() == 20'000 && result.back() == 2 * me);

  shmem_long_atomic_add(&total, me + 1, NEXT);
  shmem_barrier_all();
  long sum = 0;
  MPI_Allreduce(&total, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(sum == static_cast<long>(pes) * (pes + 1) / 2);

  weft::future<long> spawned = weft::spawn([rank = me] { return 1000L + rank; });
  EXPECT(spawned.get() == 1000 + me);

  // In its own locality it is the caller's copy.
  const int first = first_rank_of(last);
  EXPECT(weft::sync(last, whose) == (weft::here() == last ? me : first));
  EXPECT(weft::async(
             last, [](int x) { return x + 1; }, me)
             .get() == me + 1);
  const weft::object<account> there = weft::create<account>(last).get();
  EXPECT(weft::sync(there, weft::method<&account::add>, 5L) == 5);
  EXPECT(weft::sync(there, weft::method<&account::add>, 6L) == 11);
  std::string said;
  try {
    weft::sync(last, refused, me);
  } catch (const std::exception& e) {
    said = e.what();
  }
  EXPECT(said.starts_with("x is " + std::to_string(me)));
  MPI_Barrier(MPI_COMM_WORLD);
  const int status = end();
  MPI_Finalize();
  return status;
}
