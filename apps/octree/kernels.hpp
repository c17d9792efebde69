// Which versions of the loops over cells run.
#pragma once

namespace octree {

// Every x86-64 machine runs the portable ones; those with AVX2 have faster ones, which give the same bits.
[[nodiscard]] bool has_fast_kernels() noexcept;
// For tests. Called while nothing is computed.
void use_portable_kernels(bool portable) noexcept;

}  // namespace octree
