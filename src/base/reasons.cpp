#include "base/reasons.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"

namespace weft {
namespace {

// No limit: as large a number as there is.
rlim_t limit_on(__rlimit_resource what) noexcept {
  rlimit limit{};
  return getrlimit(what, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

std::string limit_of_memory() {
  const rlim_t bytes = limit_on(RLIMIT_AS);
  return bytes == RLIM_INFINITY
             ? ""
             : formatted("the limit on virtual memory (ulimit -v) is {} KiB", bytes / 1024);
}

std::string reason_with_limit(int error_number) {
  const char* const reason = std::strerror(error_number);
  if (error_number == EMFILE)
    return formatted("{}: the limit (ulimit -n) is {}", reason, limit_on(RLIMIT_NOFILE));
  if (const std::string limit = error_number == ENOMEM ? limit_of_memory() : ""; !limit.empty())
    return formatted("{}: {}", reason, limit);
  return reason;
}

}  // namespace weft
