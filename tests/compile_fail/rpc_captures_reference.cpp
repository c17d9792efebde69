// What a lambda refers to is not there on another PE.
// Expect: captures something
#include <shmem/shmemx.hpp>

long on(int pe, long& value) {
#ifdef MISUSE
  return shmemx::rpc(pe, [&value] { return value; }).get();
#else
  return shmemx::rpc(
             pe, [](long v) { return v; }, value)
      .get();
#endif
}
