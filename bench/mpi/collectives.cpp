// The same program over MPI.
#define BENCH_OVER_MPI
#include "../collectives_bench.cpp"
