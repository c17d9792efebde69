/* What the OpenSHMEM programs share: each is a plain program, which prints "right" from PE 0 when no PE has found
   anything wrong. */
#ifndef CONFORM_H
#define CONFORM_H
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, pes;
static int wrong_count, wrong_in_all;

#define EXPECT(condition)                                                                              \
  do {                                                                                                 \
    if (!(condition) && ++wrong_count <= 10)                                                           \
      printf("PE %d of %d: %s:%d: not so: %s\n", me, pes, __FILE__, __LINE__, #condition);             \
  } while (0)

static inline void begin(void) {
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
}

static inline int end(void) {
  static int own;
  own = wrong_count;
  shmem_barrier_all();
  if (me == 0)
    for (int pe = 0; pe < pes; ++pe) wrong_in_all += shmem_int_g(&own, pe);
  if (me == 0) printf(wrong_in_all == 0 ? "right\n" : "wrong: %d\n", wrong_in_all);
  fflush(stdout);
  shmem_finalize();
  return wrong_in_all != 0;
}

#define NEXT ((me + 1) % pes)
#define LAST ((me + pes - 1) % pes)

/* The names and types of the standard's tables. */
#define NUMBERS(X)                                                                                     \
  X(char, char) X(schar, signed char) X(short, short) X(int, int) X(long, long) X(longlong, long long) \
  X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long)      \
  X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t)                 \
  X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t)      \
  X(size, size_t) X(ptrdiff, ptrdiff_t) X(float, float) X(double, double) X(longdouble, long double)
#define WORDS(X)                                                                                       \
  X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long)       \
  X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t)             \
  X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define BIT_WORDS(X)                                                                                   \
  X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t)     \
  X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)
#define BIT_NUMBERS(X)                                                                                 \
  X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long)      \
  X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t)                 \
  X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t)      \
  X(size, size_t)
#define SIZED(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8) X(128, 16)

#endif
