/* oshcc hello.c -o hello && oshrun -n 4 ./hello
   Each PE writes its number into a variable of the next one. */
#include <shmem.h>
#include <stdio.h>

static int from = -1; /* Every PE has its own: globals are symmetric. */

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  shmem_int_p(&from, me, (me + 1) % pes);
  shmem_int_wait_until(&from, SHMEM_CMP_NE, -1);
  printf("PE %d of %d has heard of PE %d\n", me, pes, from);
  shmem_finalize();
  return 0;
}
