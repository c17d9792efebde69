// The same program over MPI.
#define BENCH_OVER_MPI
#include "../metg_bench.cpp"
