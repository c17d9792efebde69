// The same steps, whose loops threads of OpenMP share: MPI + OpenMP. CMake gives files of this ending -fopenmp.
#include "amr.cpp"
