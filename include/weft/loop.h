/* Loops whose chunks waiting ranks take, for programs in C: what weft/loop.hpp is in C++. The calling
   rank owns the loop and returns when every chunk is done; a rank that waits in a blocking call of MPI
   takes chunks meanwhile.

     static void square(size_t begin, size_t end, void* x) {
       for (size_t i = begin; i < end; ++i) ((double*)x)[i] *= ((double*)x)[i];
     }
     weft_parallel_for(0, n, square, x);

   A chunk may run on any core, at the same time as others of its loop, and sees the globals of the loop's
   owner. It may start loops of its own; it may not communicate. */
#ifndef WEFT_LOOP_H
#define WEFT_LOOP_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Works on the indices from `begin` to `end` - 1. */
typedef void weft_chunk(size_t begin, size_t end, void* argument);

/* Calls body for chunks that make up [begin, end): about 64 of them. */
void weft_parallel_for(size_t begin, size_t end, weft_chunk* body, void* argument);

/* The same in chunks of `grain` indices; only by the calling rank when `stealable` is 0. */
void weft_parallel_for_grain(size_t begin, size_t end, size_t grain, int stealable, weft_chunk* body, void* argument);

/* The first index of chunk number `chunk`, of `chunks`, of an array of `count` elements of `size` bytes
   each: borders lie on cache lines, so no two chunks write to one line. Chunk `chunks` begins at the end. */
size_t weft_aligned_border(const void* array, size_t size, size_t count, size_t chunk, size_t chunks);

#ifdef __cplusplus
}
#endif
#endif
