#include "process/files/standard_streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/output.hpp"
#include "job/caller.hpp"
#include "process/files/descriptors.h"
#include "process/life/caller.h"
#include "process/life/running_program.hpp"
#include "weft/run.hpp"

namespace weft::process {
namespace {

bool are_same_file(int one, int other) {
  struct stat first {
  }, second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace
}  // namespace weft::process

extern "C" {

int weft_has_own_output(void) {
  return weft::detail::number_of_writer() >= 0 && weft::process::has_copy() &&
         weft::allowed_own_output() == weft::own_output::of_rank;
}

int weft_own_output(int descriptor) {
  return weft_has_own_output() ? weft::own_output_of_rank(descriptor) : -1;
}

int weft_redirect_output(int descriptor, int from) {
  const int own = ::fcntl(from, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (own < 0) return 0;
  // The rank goes back to where all write: lines are kept whole there.
  const bool is_back = weft::process::are_same_file(own, descriptor);
  if (is_back)
    ::close(own);
  else
    weft_note_owner(own, weft_number());
  weft::lead_output_away(descriptor, is_back ? -1 : own);
  return 1;
}

int weft_has_no_input(void) {
  return weft::detail::number_of_caller() > 0;
}

long weft_write(int descriptor, const void* bytes, unsigned long size) {
  const int saved = errno;
  if (descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO) {
    const weft::detail::maker_of_thread maker;  // Its job has the lines.
    if ((maker.get() != nullptr || weft::this_rank() >= 0) &&
        weft::append_to_line(descriptor, {static_cast<const char*>(bytes), size})) {
      errno = saved;
      return static_cast<long>(size);
    }
  }
  return ::syscall(SYS_write, descriptor, bytes, size);
}
}
