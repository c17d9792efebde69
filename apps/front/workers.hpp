// How many workers a job will have.
#pragma once
#include <weft/options.hpp>

namespace front {

// As many as the runtime will take, in this process, of a program whose ranks it starts.
[[nodiscard]] int workers_of(const weft::options& runtime);

}  // namespace front
