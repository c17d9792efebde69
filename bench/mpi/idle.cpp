// The same program over MPI.
#define BENCH_OVER_MPI
#include "../idle_bench.cpp"
