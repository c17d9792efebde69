#include "base/forked_child.hpp"

#include <unistd.h>

#include <atomic>

namespace weft {
namespace {

std::atomic<pid_t> own_process{::getpid()};  // Relaxed: ranks start later.

}  // namespace

bool is_forked_child() noexcept {
  return ::getpid() != own_process.load(std::memory_order_relaxed);
}

void note_process_of_job() noexcept {
  own_process.store(::getpid(), std::memory_order_relaxed);
}

}  // namespace weft
