// The same program over MPI.
#define BENCH_OVER_MPI
#include "../p2p_bench.cpp"
