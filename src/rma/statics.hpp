// Finds the globals of a rank's program: they lie in its writable segments.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "job/state.hpp"

namespace weft::rma {

// The segments of the program and its private libraries, the program's first: those of the rank's own copy, or of the
// process's only one.
[[nodiscard]] std::vector<std::span<std::byte>> statics_of(const detail::job_rank& rank);

}  // namespace weft::rma
