#include "octree/kernels.hpp"

#include <atomic>

namespace octree {
namespace {

std::atomic<bool> only_portable{
    false};  // Relaxed everywhere: whoever sets it starts what reads it.

}  // namespace

bool has_fast_kernels() noexcept {
#if defined(__x86_64__)
  return !only_portable.load(std::memory_order_relaxed) &&  // Relaxed: see above.
         __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

void use_portable_kernels(bool portable) noexcept {
  only_portable.store(portable, std::memory_order_relaxed);  // Relaxed: see above.
}

}  // namespace octree
