#include <shmem.h>
#include <stdio.h>

#ifdef WITHOUT_LIBRARY
static long counts_of_all;
#else
extern long counts_of_all;
#endif

int main(void) {
  shmem_init();
  for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_long_atomic_add(&counts_of_all, shmem_my_pe() + 1, pe);
  shmem_barrier_all();
  const long own = counts_of_all;
  if (shmem_my_pe() == 0) printf("%d PEs, sum %ld\n", shmem_n_pes(), own);
  shmem_finalize();
  return 0;
}
