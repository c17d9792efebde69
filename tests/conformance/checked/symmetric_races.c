/* Likewise, for OpenSHMEM.

   CASE got: rank 0 reads 4 bytes in load_.*, while shmem_int_get_nbi, called in .*, may still write them
   CASE put: rank 1 reads 4 bytes in load_.* and nothing orders the two|by shmem_int_put in .*, and rank 1 reads
   CASE waited: by shmem_int_p in .*, and rank 1 reads|rank 1 reads .*, and rank 0 writes 4 bytes by shmem_int_p
   CASE atomic: by an atomic operation in .*, and rank 1 writes|rank 1 writes .*, and rank 0 writes 4 bytes by an atomic operation
*/
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static int word, flag, counter;
static const char *wanted;
static int wrong, sum;

__attribute__((noinline)) static void load_value(const int *from) { sum += *from; }
__attribute__((noinline)) static void store_value(int *to, int value) { *to = value; }
static int is_case(const char *name) {
  wrong = strcmp(name, wanted) == 0;
  return wrong || strcmp("right", wanted) == 0;
}

int main(int argc, char **argv) {
  shmem_init();
  const int me = shmem_my_pe();
  int value = 7;
  wanted = argc > 1 ? argv[1] : "right";
  shmem_barrier_all();
  if (is_case("got")) {
    if (me == 0) {
      shmem_int_get_nbi(&value, &word, 1, 1);
      if (!wrong) shmem_quiet();
      load_value(&value);
    }
    shmem_barrier_all();
  }
  if (is_case("put")) {
    if (me == 0) shmem_int_put(&word, &value, 1, 1);
    if (!wrong) shmem_barrier_all();
    if (me == 1) load_value(&word);
    shmem_barrier_all();
  }
  if (is_case("no_quiet")) {
    if (me == 0) {
      shmem_int_put_nbi(&word, &value, 1, 1);
      if (!wrong) shmem_fence();
      shmem_int_p(&flag, 1, 1);
      shmem_quiet();
    } else {
      shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
    }
    if (wrong && me == 0) shmem_int_put_nbi(&word, &value, 1, 1);
    shmem_sync_all();
    if (me == 1) load_value(&word);
    shmem_barrier_all();
  }
  if (is_case("waited")) {
    if (me == 0) {
      shmem_int_p(&flag, 5, 1);
    } else {
      if (!wrong) shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 5);
      load_value(&flag); /* What has been waited for may be read. */
    }
    shmem_barrier_all();
  }
  if (is_case("atomic")) {
    if (me == 0) shmem_int_atomic_inc(&counter, 1);
    if (!wrong) shmem_barrier_all();
    if (me == 1) store_value(&counter, 3);
    shmem_barrier_all();
  }
  shmem_finalize();
  return sum == 0x7fffffff;
}
