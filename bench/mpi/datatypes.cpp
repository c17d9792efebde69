// The same program over MPI.
#define BENCH_OVER_MPI
#include "../datatypes_bench.cpp"
