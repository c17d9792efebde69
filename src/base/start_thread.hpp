// Starts weft's own threads, with an error that says what for when the system has none left.
#pragma once
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft {

// Throws weft::error, which names what the thread was for, when there is none to be had.
template <class Body>
[[nodiscard]] std::thread start_thread(std::string_view what_for, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& e) {
    throw error(
        formatted("there is no thread for {}: {}; raise the number of processes and threads "
                  "that this user or container may have (ulimit -u, pids.max), or start "
                  "fewer workers",
                  what_for, e.code().message()));
  }
}

}  // namespace weft
