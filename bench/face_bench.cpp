// What the face of MPI adds to the messages of weft: the same exchanges through both in one program,
// turn about, between ranks of one worker and of two. With FACE_ROUNDS=N it does just N exchanges of
// one kind, FACE_KIND=weft or mpi and BENCH_ONLY=ping_pong or window64, of ranks of FACE_WORKERS workers, for a
// counter of instructions.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "mpi/mpi.h"
#include "report.hpp"

namespace {

constexpr int window = 64;

// A message to and fro.
void ping_pong_weft(const weft::communicator& world, long rounds) {
  double value = 0;
  for (long i = 0; i < rounds; ++i) {
    if (world.rank() == 0) world.send(value, 1, 7);
    value = world.recv<double>(1 - world.rank(), 7);
    if (world.rank() == 1) world.send(value, 0, 7);
  }
}
void ping_pong_mpi(const weft::communicator& world, long rounds) {
  double value = 0;
  for (long i = 0; i < rounds; ++i) {
    if (world.rank() == 0) MPI_Send(&value, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_DOUBLE, 1 - world.rank(), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (world.rank() == 1) MPI_Send(&value, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD);
  }
}

// A window of sends to a window of receives, and one message back.
void windows_weft(const weft::communicator& world, long rounds) {
  std::vector<double> values(window);
  std::vector<weft::request> requests(window);
  for (long i = 0; i < rounds; ++i) {
    for (int w = 0; w < window; ++w) {
      double& value = values[static_cast<std::size_t>(w)];
      requests[static_cast<std::size_t>(w)] = world.rank() == 0
                                                  ? world.isend(std::span(&value, 1), 1, 7)
                                                  : world.irecv(std::span(&value, 1), 0, 7);
    }
    weft::wait_all(requests);
    if (world.rank() == 0)
      values[0] = world.recv<double>(1, 8);
    else
      world.send(values[0], 0, 8);
  }
}
void windows_mpi(const weft::communicator& world, long rounds) {
  std::vector<double> values(window);
  std::vector<MPI_Request> requests(window);
  for (long i = 0; i < rounds; ++i) {
    for (int w = 0; w < window; ++w) {
      double* const value = &values[static_cast<std::size_t>(w)];
      MPI_Request* const request = &requests[static_cast<std::size_t>(w)];
      if (world.rank() == 0)
        MPI_Isend(value, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, request);
      else
        MPI_Irecv(value, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, request);
    }
    MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
    if (world.rank() == 0)
      MPI_Recv(values.data(), 1, MPI_DOUBLE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(values.data(), 1, MPI_DOUBLE, 0, 8, MPI_COMM_WORLD);
  }
}

using exchange = void (*)(const weft::communicator&, long);
struct comparison {
  const char* name;
  exchange weft;
  exchange mpi;
  double calls;  // Of a rank in one round, sends and receives.
};
constexpr comparison comparisons[] = {
    {"face/ping_pong_call/8B", &ping_pong_weft, &ping_pong_mpi, 2},
    {"face/window64_call/8B", &windows_weft, &windows_mpi, window + 2},
};

void compare(const weft::communicator& world, int workers) {
  for (const comparison& c : comparisons) {
    if (!bench::wanted(c.name)) continue;
    std::vector<double> weft, mpi;
    const long rounds = 200000 / static_cast<long>(c.calls);
    // A core runs the calls of all ranks of its worker, one after the other.
    const double calls_of_core = c.calls * world.size() / workers;
    for (int i = 0; i < 2 * bench::repetitions_wanted; ++i) {
      world.barrier();
      const double start = bench::clock_ns();
      (i % 2 == 0 ? c.weft : c.mpi)(world, rounds);
      world.barrier();
      const double each = (bench::clock_ns() - start) / static_cast<double>(rounds) / calls_of_core;
      (i % 2 == 0 ? weft : mpi).push_back(each);
    }
    if (world.rank() != 0) continue;
    bench::print_row(c.name, {"weft", 2, workers}, "ns/call", weft);
    bench::print_row(c.name, {"weft-mpi", 2, workers}, "ns/call", mpi);
  }
}

}  // namespace

int main() {
  const long rounds = std::atol(bench::setting("FACE_ROUNDS", "0").c_str());
  const int counted_workers = std::atoi(bench::setting("FACE_WORKERS", "1").c_str());
  const bool windows = bench::setting("BENCH_ONLY", "ping_pong") == "window64";
  const comparison& counted = comparisons[windows ? 1 : 0];
  if (rounds == 0) {
    bench::raise_priority();
    bench::print_header();
  }
  for (const int workers : {1, 2}) {
    if (rounds != 0 && workers != counted_workers) continue;
    weft::options how;
    how.ranks = 2;
    how.workers = workers;
    const int status = weft::run(how, [&](const weft::communicator& world) {
      MPI_Init(nullptr, nullptr);
      if (rounds == 0)
        compare(world, workers);
      else
        (bench::setting("FACE_KIND", "mpi") == "mpi" ? counted.mpi : counted.weft)(world, rounds);
      MPI_Finalize();
    });
    if (status != 0 || rounds != 0) return status;
  }
}
