// What is used again: after the first round, sends and receives under way take no memory, and messages
// of derived datatypes of MPI none to pack them.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "counted_allocations.hpp"
#include "job.hpp"
#include "mpi/mpi.h"

namespace weft {
namespace {

constexpr long rounds = 50;
// The least of so many batches counts: a message that is later than any before makes a list longer, once.
constexpr int batches_max = 5;

// Allocations of the rounds after the first ones, on two ranks of one worker, or of two processes: in the one
// that has more.
template <class Round>
long allocations_of(const Round& round) {
  std::atomic<long> more = -1;
  run_ranks(2, 1, [&](communicator& world) {
    for (int first = 0; first < 8; ++first) {  // Each rank is ahead of the other in half of them.
      if (world.rank() == first % 2) yield();
      round(world);
      world.barrier();
    }
    more = least_of(batches_max, 0L, [&] {
      const long before = tests::allocations;
      for (long i = 0; i < rounds; ++i) round(world);
      world.barrier();
      return world.allreduce(tests::allocations - before, max{});
    });
  });
  return more;
}

// Between processes, too, where the receiver of what is read from its sender notes two things about it.
TEST(memory, is_not_taken_for_blocking_messages) {
  for (const std::size_t size : {8, 1000, 20'000, 300'000}) {
    const std::vector<char> out(size, 'x');
    std::array<std::vector<char>, 2> in{std::vector<char>(size), std::vector<char>(size)};
    const bool is_noted = tests::processes_of(job_of(2, 1)) > 1 && size == 300'000;
    EXPECT_LE(allocations_of([&](communicator& world) {
                const int other = 1 - world.rank();
                if (world.rank() == 0) world.send(out, other, 5);
                world.recv(in[static_cast<std::size_t>(world.rank())], other, 5);
                if (world.rank() == 1) world.send(out, other, 5);
              }),
              is_noted ? 2 * rounds : 0)
        << size << " bytes";
  }
}

TEST(memory, is_taken_once_for_started_messages_in_a_row) {
  const std::vector<int> out(4);
  EXPECT_EQ(allocations_of([&](communicator& world) {
              std::array<std::array<int, 4>, 4> in{};
              std::array<request, 8> under_way;
              for (std::size_t i = 0; i < 4; ++i) {
                const int tag = static_cast<int>(i);
                under_way[i] = world.irecv(in[i], 1 - world.rank(), tag);
              }
              for (std::size_t i = 0; i < 4; ++i) {
                const int tag = static_cast<int>(i);
                under_way[4 + i] = world.issend(out, 1 - world.rank(), tag);
              }
              wait_all(under_way);
            }),
            0);
}

TEST(memory, is_taken_once_for_started_messages_with_a_layout) {
  const std::vector<int> from(12);
  const const_layout out = strided(from, {.first = 1, .stride = 4, .count = 3});
  std::array<std::array<int, 12>, 2> in{};
  const std::array<layout, 2> into{strided(in[0], {.first = 2, .stride = 4, .count = 3}),
                                   strided(in[1], {.first = 2, .stride = 4, .count = 3})};
  EXPECT_EQ(allocations_of([&](communicator& world) {
              const auto me = static_cast<std::size_t>(world.rank());
              std::array<request, 2> under_way;
              under_way[0] = world.irecv(into[me], 1 - world.rank(), 3);
              under_way[1] = world.issend(out, 1 - world.rank(), 3);
              wait_all(under_way);
            }),
            0);
}

// Bytes that are allocated while ranks exchange columns of a matrix as derived datatypes, for each
// message; `exchange(from, into, column, rank)` is one message from each rank to the other.
template <class Exchange>
std::size_t bytes_of_a_column(int workers, int rows, const Exchange& exchange) {
  std::atomic<std::size_t> each = ~std::size_t{0};
  run_ranks(2, workers, [&](communicator& world) {
    MPI_Init(nullptr, nullptr);
    constexpr int columns = 8;
    MPI_Datatype column;
    MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    std::vector<double> from(static_cast<std::size_t>(rows) * columns, 1), into(from.size());
    for (int first = 0; first < 4; ++first) exchange(from, into, column, world.rank());
    each = least_of(batches_max, std::size_t{0}, [&] {
      world.barrier();
      const std::size_t before = tests::allocated_bytes;
      world.barrier();
      for (long i = 0; i < rounds; ++i) exchange(from, into, column, world.rank());
      world.barrier();
      const std::size_t more = tests::allocated_bytes - before;
      return world.allreduce(more, max{}) / (2 * rounds);
    });
    EXPECT_EQ(into[0] + into[into.size() - columns] + into[1], 2.0);
    MPI_Type_free(&column);
    MPI_Finalize();
  });
  return each;
}

TEST(memory, is_not_taken_for_blocking_messages_of_a_derived_datatype) {
  for (const int rows : {16, 16384})
    EXPECT_EQ(bytes_of_a_column(1, rows,
                                [](auto& from, auto& into, MPI_Datatype column, int rank) {
                                  // The receive is there first: the other rank runs when this one waits.
                                  if (rank == 1)
                                    MPI_Send(from.data(), 1, column, 0, 3, MPI_COMM_WORLD);
                                  MPI_Recv(into.data(), 1, column, 1 - rank, 3, MPI_COMM_WORLD,
                                           MPI_STATUS_IGNORE);
                                  if (rank == 0)
                                    MPI_Send(from.data(), 1, column, 1, 3, MPI_COMM_WORLD);
                                }),
              0u)
        << rows;
}

// A long message that two workers copy is a loop of its own, which takes some.
constexpr std::size_t of_a_shared_copy = 512;

TEST(memory, is_taken_once_for_started_messages_of_a_derived_datatype) {
  for (const int workers : {1, 2})
    for (const int rows : {16, 16384})
      EXPECT_LE(bytes_of_a_column(
                    workers, rows,
                    [](auto& from, auto& into, MPI_Datatype column, int rank) {
                      MPI_Request requests[2];
                      MPI_Irecv(into.data(), 1, column, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
                      MPI_Barrier(MPI_COMM_WORLD);
                      MPI_Isend(from.data(), 1, column, 1 - rank, 3, MPI_COMM_WORLD, &requests[1]);
                      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
                    }),
                workers == 2 && rows == 16384 ? of_a_shared_copy : 0)
          << workers << " workers, " << rows << " rows of 8 bytes";
}

TEST(memory, is_taken_once_for_started_exchanges_of_a_derived_datatype) {
  for (const int rows : {8, 16384})  // Short messages that come early use their memory again.
    EXPECT_EQ(bytes_of_a_column(1, rows,
                                [](auto& from, auto& into, MPI_Datatype column, int rank) {
                                  MPI_Request request;
                                  MPI_Isendrecv(from.data(), 1, column, 1 - rank, 3, into.data(), 1,
                                                column, 1 - rank, 3, MPI_COMM_WORLD, &request);
                                  MPI_Wait(&request, MPI_STATUS_IGNORE);
                                  MPI_Barrier(MPI_COMM_WORLD);
                                }),
              0u)
        << rows << " rows of 8 bytes";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
std::atomic<bool> calloc_ends_process{false};

// A rank calls abort() where the heap is found corrupt, and malloc() holds its locks then. The first use of a
// thread_local object takes memory for its destructor.
TEST(memory, is_not_taken_by_the_handler_of_a_fault) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(run(alone(job_of(2, 2)),
                  [](communicator& world) {
                    if (world.rank() == 1) {
                      calloc_ends_process = true;
                      std::abort();
                    }
                    world.barrier();
                  }),
              testing::KilledBySignal(SIGABRT), "rank 1 called abort\\(\\)");
}
#endif

}  // namespace
}  // namespace weft

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Instead of the C library's, for the library itself, too.
extern "C" void* calloc(std::size_t count, std::size_t size) noexcept {
  if (weft::calloc_ends_process) ::_exit(99);
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  constexpr auto unit = static_cast<std::size_t>(weft::tests::usual);
  if (__builtin_add_overflow(bytes, unit, &bytes)) return nullptr;
  // Not malloc(): of that and memset() the compiler makes a call of calloc().
  void* const made = std::aligned_alloc(unit, bytes / unit * unit);
  return made == nullptr ? nullptr : std::memset(made, 0, bytes / unit * unit);
}
#endif
