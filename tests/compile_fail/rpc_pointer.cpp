// A pointer means nothing on another PE.
// Expect: copied as bytes
#include <shmem/shmemx.hpp>

long on(int pe, long& value) {
#ifdef MISUSE
  return shmemx::rpc(
             pe, [](long* v) { return *v; }, &value)
      .get();
#else
  return shmemx::rpc(
             pe, [](long v) { return v; }, value)
      .get();
#endif
}
