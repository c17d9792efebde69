// How a thread that runs workers begins.
#pragma once
#include <string>

namespace weft {

// Blocks signals that are for other threads, and gives the calling thread its name.
void begin_worker_thread(const std::string& name) noexcept;

}  // namespace weft
