// The same program over oneTBB.
#define BENCH_OVER_TBB
#include "../metg_bench.cpp"
