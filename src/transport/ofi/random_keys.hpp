// Words that nobody can guess: the keys of endpoints and of registered memory.
#pragma once
#include <sys/random.h>

#include <array>
#include <cstdint>
#include <utility>

#include "weft/error.hpp"

namespace weft {

// The kernel's, fetched in numbers: a system call for each would cost as much as the registration.
// Used by one thread at a time.
class random_keys {
 public:
  // Never 0. Throws weft::error when the kernel gives none.
  [[nodiscard]] std::uint64_t next() {
    for (;;) {
      if (left_ == 0) fetch();
      // What was given out stays nowhere.
      if (const std::uint64_t key = std::exchange(words_[--left_], 0); key != 0) return key;
    }
  }

 private:
  void fetch() {
    // At most 256 bytes come whole, whatever signals do.
    if (::getrandom(words_.data(), sizeof words_, 0) != sizeof words_)
      throw error("the kernel gives no random numbers for keys");
    left_ = words_.size();
  }

  std::array<std::uint64_t, 32> words_{};
  std::size_t left_ = 0;
};

}  // namespace weft
