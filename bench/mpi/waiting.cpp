// The same program over MPI.
#define BENCH_OVER_MPI
#include "../waiting_bench.cpp"
