// What the system calls within a scope leave in errno is no news to whoever called.
#pragma once
#include <cerrno>

namespace weft {

class kept_errno {
 public:
  kept_errno() = default;
  kept_errno(const kept_errno&) = delete;
  kept_errno& operator=(const kept_errno&) = delete;
  ~kept_errno() { errno = before_; }

 private:
  const int before_ = errno;
};

}  // namespace weft
