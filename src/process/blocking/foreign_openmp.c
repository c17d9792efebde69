/* The same for executables that another compiler has linked: this library is brought to those without OpenMP, too. */
#pragma weak omp_get_thread_num
#pragma weak omp_get_num_threads
#include "process/blocking/program_openmp.c"
