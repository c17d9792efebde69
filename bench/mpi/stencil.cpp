// The same program over MPI.
#define BENCH_OVER_MPI
#include "../stencil_bench.cpp"
