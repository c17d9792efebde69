/* oshcc messages.c -o messages && oshrun -n 4 ./messages
   Active messages: every PE adds to a sum on PE 0 by calling a function there. */
#include <shmemx.h>
#include <stdio.h>

static void add(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)length, (void)args_p, (void)source;
  *(long*)args_r += *(long*)payload;
}

int main(void) {
  shmem_init();
  long sum = 0;
  int id;
  shmemx_am_set_handler_all(add, &sum, &id); /* The same id on all PEs. */
  for (long i = 1; i <= 100; ++i) shmemx_am_send_nbi(id, &i, sizeof i, 0);
  shmemx_am_barrier_all(NULL); /* Every message has been handled. */
  if (shmem_my_pe() == 0) printf("the sum of %d PEs is %ld\n", shmem_n_pes(), sum);
  shmem_finalize();
  return 0;
}
