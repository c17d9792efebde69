// Where errno is, for programs and for code of weft that uses it on both sides of a wait: weft/program/errno.h.
#include <cerrno>

extern "C" int* weft_errno_location() noexcept;
int* weft_errno_location() noexcept {
  return &errno;
}
