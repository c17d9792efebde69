// Loops: which ranks that wait may take parts of, and why others are left.
// Translate with: --tasks --loop tasks.cpp:46
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr int cells = 400;
double now[cells + 2], after[cells + 2];

double settle(double x, int turns) {
  for (int t = 0; t < turns; ++t) x = 0.5 * x + 0.25 * std::cos(x);
  return x;
}

void step(int turns) {
#pragma weft tasks
  for (int i = 0; i < cells; ++i) {
    if (i % 7 == 0) continue;
    after[i + 1] = settle((now[i] + now[i + 1] + now[i + 2]) / 3, turns + i % 3);
  }
  for (int i = 1; i <= cells; ++i) now[i] = after[i];
  for (int i = 1; i < cells; ++i) after[i] = after[i - 1] + now[i];
}

void scale(double* to, const double* from, int count) {
  for (int i = 0; i < count; ++i) to[i] = 2 * from[i];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < cells + 2; ++i) now[i] = rank + i * 0.01;
  for (int s = 0; s < 3; ++s) {
    step(2000 * (rank + 1));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  double sum = 0;
  for (int i = 1; i <= cells; ++i) sum += now[i];
  std::vector<double> doubled(cells);
  scale(doubled.data(), now, cells);
  int odd = 0;
  for (int i = 0; i < cells; ++i) odd += i % 2;
  double all = 0;
  MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%.6f %.6f %d\n", all, doubled[7], odd);
  MPI_Finalize();
}
