/* Reductions of more than 2^31 elements, and of fewer in more than 2^31 bytes. Of two ranks: each
   takes up to 6 GiB (its result, one on the way and one that has come).

   Run with: -n 2 --timeout 900
   Run with: -n 2 --ranks-per-process 1 --timeout 900 */
#define _GNU_SOURCE
#include "beyond_int.h"

static const long most = 2050; /* MiB; a bit more than 2^31 bytes. */
static const MPI_Comm w = MPI_COMM_WORLD;
static unsigned char* out;
static unsigned char from[8][mib]; /* What each rank gives. */

/* Other data than before, so that nothing left over looks right. */
static void refill(void) {
  static int time;
  ++time;
  for (int r = 0; r < size; ++r) fill(from[r], r, time);
  memcpy(out, from[rank], mib);
}

static const unsigned char* sum_of_bytes(int ranks) {
  static unsigned char sum[mib];
  memset(sum, 0, mib);
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < mib; ++i) sum[i] = (unsigned char)(sum[i] + from[r][i]);
  return sum;
}

static const unsigned char* sum_of_ints(int ranks) {
  static unsigned sum[mib / 4];
  memset(sum, 0, mib);
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < mib / 4; ++i) {
      unsigned value;
      memcpy(&value, from[r] + 4 * i, 4);
      sum[i] += value;
    }
  return (const unsigned char*)sum;
}

/* Called for so many elements altogether. */
static MPI_Count elements;

__attribute__((optimize("O3"))) static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  EXPECT(*length > 0, "%d elements", *length);
  elements += *length;
  const unsigned char* const more = in;
  unsigned char* const sum = inout;
  for (long i = 0; i < *length; ++i) sum[i] = (unsigned char)(sum[i] + more[i]);
}

__attribute__((optimize("O3"))) static void add_c(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  (void)type;
  EXPECT(*length > 0, "%lld elements", (long long)*length);
  elements += *length;
  const unsigned char* const more = in;
  unsigned char* const sum = inout;
  for (MPI_Count i = 0; i < *length; ++i) sum[i] = (unsigned char)(sum[i] + more[i]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  out = repeated(most);
  unsigned char* const in = memory(most + 1);
  const MPI_Datatype byte = MPI_UNSIGNED_CHAR;

  refill();
  MPI_Allreduce_c(out, in, most * mib, byte, MPI_SUM, w);
  expect_all("MPI_Allreduce_c", in, sum_of_bytes(size), most);
  EXPECT(in[most * mib] == 0, "MPI_Allreduce_c: behind the sum");

  refill();
  MPI_Allreduce(out, in, (int)(most * mib / 4), MPI_UNSIGNED, MPI_SUM, w);
  expect_all("MPI_Allreduce of ints", in, sum_of_ints(size), most);

  refill();
  MPI_Reduce_c(out, in, most * mib, byte, MPI_SUM, 1, w);
  if (rank == 1) expect_all("MPI_Reduce_c", in, sum_of_bytes(size), most);

  refill();
  MPI_Scan_c(out, in, most * mib, byte, MPI_SUM, w);
  expect_all("MPI_Scan_c", in, sum_of_bytes(rank + 1), most);

  /* The large share is that of rank 1. */
  MPI_Count counts[8];
  for (int r = 0; r < size; ++r) counts[r] = (r == 1 ? most - size + 1 : 1) * mib;
  refill();
  MPI_Reduce_scatter_c(out, in, counts, byte, MPI_SUM, w);
  expect_all("MPI_Reduce_scatter_c", in, sum_of_bytes(size), counts[rank] / mib);

  refill();
  MPI_Reduce_scatter_block(out, in, (int)(most / size * mib), byte, MPI_SUM, w);
  expect_all("MPI_Reduce_scatter_block", in, sum_of_bytes(size), most / size);

  /* The program's own, which count in ints or not. */
  MPI_Op sum, sum_c;
  MPI_Op_create(add, 1, &sum);
  MPI_Op_create_c(add_c, 1, &sum_c);
  MPI_Op ops[2] = {sum, sum_c};
  for (int i = 0; i < 2; ++i) {
    elements = 0;
    refill();
    MPI_Reduce_c(out, in, most * mib, byte, ops[i], 0, w);
    if (rank == 0) expect_all(i == 0 ? "own operation" : "own large operation", in, sum_of_bytes(size), most);
    MPI_Count all = 0;
    MPI_Reduce(&elements, &all, 1, MPI_COUNT, MPI_SUM, 0, w);
    if (rank == 0) EXPECT(all == (size - 1) * most * mib, "%lld elements", (long long)all);
    MPI_Op_free(&ops[i]);
  }
  return end();
}
