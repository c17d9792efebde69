// The same program over OpenSHMEM: signals, and active messages.
#define BENCH_OVER_SHMEM
#include "../metg_bench.cpp"
