/* Gigabytes for the tests of counts beyond int. */
#ifndef BEYOND_INT_H
#define BEYOND_INT_H
#include <sys/mman.h>
#include <unistd.h>

#include "../conform.h"

enum { mib = 1 << 20 };

/* What rank `r` sends in each MiB, the `time`th time. */
static void fill(unsigned char* one, int r, int time) {
  for (int i = 0; i < mib; ++i) one[i] = (unsigned char)(i * 7 + i / 251 + 13 * r + 29 * time);
}

/* One MiB, seen `mibs` times behind itself: what is sent takes no memory. */
static unsigned char* repeated(long mibs) {
  const int file = memfd_create("repeated", 0);
  unsigned char* const all = mmap(NULL, mibs * mib, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (file < 0 || ftruncate(file, mib) != 0 || all == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  for (long i = 0; i < mibs; ++i)
    if (mmap(all + i * mib, mib, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
  close(file);
  return all;
}

/* Of which only what is written takes memory, and time: that of the kernel. */
static unsigned char* memory(long mibs) {
  unsigned char* const all = mmap(NULL, mibs * mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
  madvise(all, mibs * mib, MADV_HUGEPAGE);
  return all;
}

/* That `one` came `mibs` times. */
static void expect_all(const char* what, const unsigned char* got, const unsigned char* one, long mibs) {
  for (long i = 0; i < mibs; ++i) EXPECT(memcmp(got + i * mib, one, mib) == 0, "%s: MiB %ld is wrong", what, i);
}

#endif
