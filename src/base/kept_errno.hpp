// What the system calls within a scope leave in errno is no news to whoever called.
#pragma once
#include <cerrno>

namespace weft {

class kept_errno {
 public:
  kept_errno() noexcept : here_(&errno), at_(here_), before_(*here_) {}
  // Where the scope may end on another thread than it began on: `at` says where errno is at either time.
  explicit kept_errno(int* const& at) noexcept : at_(at), before_(*at) {}
  kept_errno(const kept_errno&) = delete;
  kept_errno& operator=(const kept_errno&) = delete;
  ~kept_errno() { *at_ = before_; }

 private:
  int* const here_ = nullptr;
  int* const& at_;
  const int before_;
};

}  // namespace weft
