#include "base/own_executable.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace weft {

std::string own_executable() {
  std::string path(PATH_MAX, '\0');
  const long size = ::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path.data(), path.size());
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return path;
}

}  // namespace weft
