// Thread-local variables of an executable that another compiler has linked: each rank has its own, and so has each thread that it
// makes. With the word "together" the ranks must share a process. Rank 0 prints "right" last.
#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

static thread_local int wrong = 0;
#define CHECK(what)                                           \
  do {                                                        \
    if (!(what)) {                                            \
      ++wrong;                                                \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
    }                                                         \
  } while (0)

static int of_file = 3;
thread_local int with_value = 5;
static thread_local int without_value;
thread_local int* address_of_global = &of_file;  // The loader writes it.
alignas(64) static thread_local char aligned[100];
thread_local char large[20000];

struct counted {
  static inline thread_local int living = 0;
  std::string text;
  counted() : text("constructed") { ++living; }
  ~counted() { --living; }
};
thread_local counted constructed;
static thread_local std::vector<int> filled;
static int& of_function() {
  static thread_local int value = std::to_string(with_value).size() == 1 ? 7 : 8;
  return value;
}

static void check_begin() {
  CHECK(with_value == 5 && without_value == 0 && filled.empty() && *address_of_global == 3);
  CHECK(address_of_global == &of_file);
  CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 64 == 0);
  CHECK(constructed.text == "constructed" && counted::living == 1);
  CHECK(of_function() == 7);
  for (const char c : large) CHECK(c == 0);
}

// What of the thread's changes, between meetings of the ranks.
static void change(int rank, int meetings) {
  for (int i = 0; i < meetings; ++i) {
    with_value += rank, without_value -= rank, of_function() += rank;
    filled.push_back(rank);
    std::memset(large, rank + 1, sizeof large);
    constructed.text += std::to_string(rank);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(with_value == 5 + meetings * rank && without_value == -meetings * rank);
  CHECK(of_function() == 7 + meetings * rank);
  CHECK(filled == std::vector<int>(static_cast<std::size_t>(meetings), rank));
  for (const char c : large) CHECK(c == static_cast<char>(rank + 1));
  CHECK(constructed.text.back() == '0' + rank % 10);
}

// A message from one rank's thread-local memory to another's, which have one place in each thread.
static void pass_on(int rank, int size) {
  std::memset(large, 'a' + rank, sizeof large);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  static thread_local char got[sizeof large];
  MPI_Sendrecv(large, sizeof large, MPI_CHAR, next, 1, got, sizeof got, MPI_CHAR, before, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (const char c : got) CHECK(c == static_cast<char>('a' + before));
}

int main(int argc, char** argv) {
  check_begin();
  int provided = 0, rank = 0, size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool together = argc > 1 && std::strcmp(argv[1], "together") == 0;
  const long mine = syscall(SYS_getpid);
  long least = 0;
  MPI_Allreduce(&mine, &least, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
  if (together) CHECK(least == mine);
  change(rank, 4);
  int wrong_in_threads = 0;
  std::vector<int> found(3);
  std::vector<std::thread> threads;
  for (int& result : found)
    threads.emplace_back([&result] {
      check_begin();
      with_value = 9;
      // A thread of a thread.
      int inner = 0;
      std::thread([&inner] { check_begin(), inner = wrong; }).join();
      result = wrong + inner;
    });
  for (std::thread& one : threads) one.join();
  for (const int result : found) wrong_in_threads += result;
  CHECK(with_value == 5 + 4 * rank);
  pass_on(rank, size);
  const int all_mine = wrong + wrong_in_threads;
  int all = 0;
  MPI_Allreduce(&all_mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::puts(all == 0 ? "right" : "wrong");
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
