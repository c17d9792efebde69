// The same program over MPI.
#define BENCH_OVER_MPI
#include "../ring_bench.cpp"
