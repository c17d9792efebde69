// MPI before and after main(), by the word that is given: "global" (from a constructor to a destructor), "static" (from the first
// use of an object in a function to its destructor), "guarded" (a destructor that asks MPI_Finalized), "handler" (MPI_Finalize
// in a handler of atexit()). A second word is what main() returns.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string way;

int sum_of(MPI_Comm comm) {
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

void tell(const char* what, MPI_Comm comm) {
  const int ranks = sum_of(comm);
  int rank;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) std::printf("%s: %d ranks\n", what, ranks);
  std::fflush(stdout);
}

// The C library gives constructors the words.
[[gnu::constructor(101)]] void read_words(int argc, char** argv) {
  static std::string word;
  word = argc > 1 ? argv[1] : "";
  if (word == "global") MPI_Init(nullptr, nullptr);
}

struct environment {
  bool ends = false;
  environment() {
    int is_initialized, is_finalized;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    ends = is_initialized != 0;
    if (is_finalized) std::printf("finalized too early\n");
    if (ends) tell("constructor", MPI_COMM_WORLD);
  }
  ~environment() {
    if (!ends) return;
    tell("destructor", MPI_COMM_WORLD);
    MPI_Finalize();
  }
} in_global;

struct first_use {
  first_use() { MPI_Init(nullptr, nullptr); }
  ~first_use() {
    tell("destructor", MPI_COMM_WORLD);
    MPI_Finalize();
  }
};

struct guarded {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  ~guarded() {
    int is_initialized, is_finalized;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (type == MPI_DATATYPE_NULL) return;
    if (is_finalized)
      std::printf("guarded\n");
    else
      MPI_Type_free(&type);
    if (!is_initialized) std::printf("not initialized\n");
  }
} holder;

[[gnu::destructor]] void end() {
  int is_finalized;
  MPI_Finalized(&is_finalized);
  if (!is_finalized) std::printf("the last destructor comes before MPI_Finalize\n");
}

void finish() {
  tell("handler", MPI_COMM_WORLD);
  MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "";
  if (way == "static") static const first_use begun;
  if (way == "guarded" || way == "handler") MPI_Init(&argc, &argv);
  if (way == "handler") std::atexit(finish);
  tell("main", MPI_COMM_WORLD);
  if (way == "guarded") {
    MPI_Type_contiguous(3, MPI_DOUBLE, &holder.type);
    MPI_Type_commit(&holder.type);
    MPI_Finalize();
  }
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
