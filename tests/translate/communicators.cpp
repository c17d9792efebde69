// Communicators that are split, given to functions, kept by a class, and none.
#include <mpi.h>

#include <cstdio>

namespace {

int sum_over(MPI_Comm comm, int value) {
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

class team {
 public:
  team() : ranks_(MPI_COMM_NULL), number_(-1) {}
  void join(int color) {
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &ranks_);
    if (ranks_ != MPI_COMM_NULL) MPI_Comm_rank(ranks_, &number_);
  }
  int sum(int value) const { return ranks_ == MPI_COMM_NULL ? -1 : sum_over(ranks_, value); }
  void leave() {
    if (ranks_ != MPI_COMM_NULL) MPI_Comm_free(&ranks_);
  }
  int number() const { return number_; }

 private:
  MPI_Comm ranks_;
  int number_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm halves, copy;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &halves);
  MPI_Comm_dup(halves, &copy);
  team t;
  const int color = rank == 0 ? MPI_UNDEFINED : 1;
  t.join(color);
  int place = 0;
  MPI_Comm_rank(copy, &place);
  std::printf("rank %d: place %d, halves %d, team %d as %d, all %d\n", rank, place,
              sum_over(halves, rank), t.sum(rank), t.number(), sum_over(MPI_COMM_WORLD, rank));
  t.leave();
  MPI_Comm_free(&copy);
  MPI_Comm_free(&halves);
  MPI_Finalize();
}
