/* Messages and collectives of more than 2^31 elements and more than 4 GiB, as they are. What is sent is one
   MiB, seen again and again behind itself, so that only what is received takes memory.

   Run with: -n 2 --timeout 900
   Run with: -n 2 --ranks-per-process 1 --timeout 900 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "../conform.h"

enum { mib = 1 << 20 };
static const long mibs = 4100; /* 4 GiB and a bit. */

/* `mibs` times the same memory in a row. */
static unsigned char* repeated(void) {
  const int file = memfd_create("repeated", 0);
  unsigned char* const all = mmap(NULL, mibs * mib, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (file < 0 || ftruncate(file, mib) != 0 || all == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  for (long i = 0; i < mibs; ++i)
    if (mmap(all + i * mib, mib, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
  close(file);
  for (int i = 0; i < mib; ++i) all[i] = (unsigned char)(i * 7 + i / 251);
  return all;
}

static unsigned char* memory(void) {
  unsigned char* const all = mmap(NULL, mibs * mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
  return all;
}

/* Every octet; then none is left, and the memory is given back. */
static void expect_all(const char* what, unsigned char* got, const unsigned char* one) {
  for (long i = 0; i < mibs; ++i) EXPECT(memcmp(got + i * mib, one, mib) == 0, "%s: MiB %ld is wrong", what, i);
  madvise(got, mibs * mib, MADV_DONTNEED);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  unsigned char* const out = repeated();
  unsigned char* const in = rank == 1 ? memory() : NULL;
  const MPI_Count octets = (MPI_Count)mibs * mib;
  MPI_Status status;
  MPI_Count large = -1;
  int small = 0;

  if (rank == 0) MPI_Send_c(out, octets, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv_c(in, octets, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count_c(&status, MPI_BYTE, &large);
    MPI_Get_count(&status, MPI_BYTE, &small);
    EXPECT(large == octets && small == MPI_UNDEFINED, "%lld octets, as int %d", (long long)large, small);
    expect_all("octets", in, out);
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
    EXPECT(small == mibs && large == octets / 8, "%d rows, %lld ints", small, (long long)large);
    for (long i = 0; i < mibs; i += 41)
      for (int k = 0; k < mib; k += 8) {
        EXPECT(memcmp(in + i * mib + k, out + k, 4) == 0, "row %ld, octet %d", i, k);
        EXPECT(memcmp(in + i * mib + k + 4, "\0\0\0\0", 4) == 0, "gap of row %ld, octet %d", i, k);
      }
    EXPECT(memcmp(in + octets - 8, out + mib - 8, 4) == 0, "the end");
    madvise(in, octets, MADV_DONTNEED);
  }
  MPI_Type_free(&row);
  MPI_Type_free(&rows);

  MPI_Request request;
  MPI_Ibcast_c(rank == 0 ? out : in, octets, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) expect_all("broadcast", in, out);
  return end();
}
