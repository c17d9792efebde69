#include "base/forked_child.hpp"

#include <unistd.h>

namespace weft {
namespace {

const pid_t own_process = ::getpid();

}  // namespace

bool is_forked_child() noexcept {
  return ::getpid() != own_process;
}

}  // namespace weft
