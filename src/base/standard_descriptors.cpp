#include "base/standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace weft {

void take_standard_descriptors() noexcept {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // The lowest number that is free, unless another thread opens or closes one now.
    if (const int got = ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        got > STDERR_FILENO)
      ::close(got);
  }
}

}  // namespace weft
