// The same waves, whose loops threads of OpenMP share: MPI + OpenMP. CMake gives files of this ending -fopenmp.
#include "dt.cpp"
