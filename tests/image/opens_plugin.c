/* Knows nothing of MPI: opens the library that is named and calls it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void last(void) { fputs("the program's own end\n", stdout); }

int main(int argc, char** argv) {
  void* const library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 9;
  }
  int (*use)(const char*) = NULL;
  *(void**)&use = dlsym(library, "use_mpi");
  atexit(last);
  const int status = use(argc > 2 ? argv[2] : "");
  if (argc > 2) dlclose(library);
  return status;
}
