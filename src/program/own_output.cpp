#include "program/own_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.hpp"
#include "job/caller.hpp"
#include "program/program_run.hpp"

namespace weft::detail {
namespace {

bool are_same_file(int one, int other) {
  struct stat first {
  }, second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace
}  // namespace weft::detail

extern "C" {

int weft_has_own_output(void) {
  return weft::detail::number_of_writer() >= 0 && weft::detail::has_copy() &&
         weft::allowed_own_output() == weft::own_output::of_rank;
}

int weft_own_output(int descriptor) {
  return weft_has_own_output() ? weft::own_output_of_rank(descriptor) : -1;
}

int weft_lead_output(int descriptor, int from) {
  const int own = ::fcntl(from, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (own < 0) return 0;
  // Back to where all write: lines are kept whole there.
  const bool is_back = weft::detail::are_same_file(own, descriptor);
  if (is_back) ::close(own);
  weft::lead_output_away(descriptor, is_back ? -1 : own);
  return 1;
}
}
