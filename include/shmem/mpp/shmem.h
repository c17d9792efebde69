/* The old place of shmem.h.
   Written by src/shmem/generate.py from its table: change that. */
#include "../shmem.h"
