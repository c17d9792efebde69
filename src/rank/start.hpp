// A job whose ranks are called with their world.
#pragma once
#include <functional>

#include "job/start.hpp"
#include "weft/communicator.hpp"

namespace weft::detail {

// Whether the base face is registered: messages and their collectives, in collective/as_face.cpp. Who starts ranks asks, so
// that a linker takes that file out of the archive.
[[nodiscard]] bool has_face_of_ranks() noexcept;

// As run_job().
int run_ranks_of_job(options how, const std::function<void(communicator&)>& body,
                     const launch_context& others);

}  // namespace weft::detail
