/* Messages and collectives of more than 2^31 elements and more than 4 GiB, as they are. What is sent is one
   MiB, seen again and again behind itself, so that only what is received takes memory.

   Run with: -n 2 --timeout 900
   Run with: -n 2 --ranks-per-process 1 --timeout 900 */
#define _GNU_SOURCE
#include "beyond_int.h"

static const long mibs = 4100; /* 4 GiB and a bit. */

int main(int argc, char** argv) {
  begin(&argc, &argv);
  unsigned char* const out = repeated(mibs);
  unsigned char* const in = rank == 1 ? memory(mibs) : NULL;
  const MPI_Count bytes = (MPI_Count)mibs * mib;
  fill(out, 0, 0); /* Rank 1 as well, to compare with. */
  MPI_Status status;
  MPI_Count large = -1;
  int small = 0;

  if (rank == 0) MPI_Send_c(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv_c(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count_c(&status, MPI_BYTE, &large);
    MPI_Get_count(&status, MPI_BYTE, &small);
    EXPECT(large == bytes && small == MPI_UNDEFINED, "%lld bytes, as int %d", (long long)large, small);
    expect_all("bytes", in, out, mibs);
    memset(in, 0, bytes);
  }

  /* The same by a datatype of small counts: rows of ints with gaps, as old programs do. */
  MPI_Datatype row, rows;
  MPI_Type_vector(mib / 8, 1, 2, MPI_INT, &row); /* Every second int of a MiB. */
  MPI_Type_create_resized(row, 0, mib, &rows);
  MPI_Type_commit(&rows);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(out, (int)mibs, rows, 1, 2, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(in, (int)mibs, rows, 0, 2, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, rows, &small);
    MPI_Get_elements_c(&status, rows, &large);
    EXPECT(small == mibs && large == bytes / 8, "%d rows, %lld ints", small, (long long)large);
    for (long i = 0; i < mibs; i += 41)
      for (int k = 0; k < mib; k += 8) {
        EXPECT(memcmp(in + i * mib + k, out + k, 4) == 0, "row %ld, byte %d", i, k);
        EXPECT(memcmp(in + i * mib + k + 4, "\0\0\0\0", 4) == 0, "gap of row %ld, byte %d", i, k);
      }
    EXPECT(memcmp(in + bytes - 8, out + mib - 8, 4) == 0, "the end");
  }
  MPI_Type_free(&row);
  MPI_Type_free(&rows);

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fill(out, 0, 1);
  MPI_Request request;
  MPI_Ibcast_c(rank == 0 ? out : in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  fill(out, 0, 1);
  if (rank == 1) expect_all("broadcast", in, out, mibs);
  return end();
}
