#include "front/output_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <weft/error.hpp>

namespace front {

output_file::output_file(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "a")) {
  if (!file_)
    throw weft::error("cannot write '" + path + "': " + std::strerror(errno) +
                      "; check the path and its permissions");
}

void output_file::begin() {
  struct stat what {};
  const int descriptor = ::fileno(file_.get());
  const bool is_kept = ::fstat(descriptor, &what) == 0 && S_ISREG(what.st_mode);
  if (is_kept && ::ftruncate(descriptor, 0) != 0)
    throw weft::error("cannot write '" + path_ + "': " + std::strerror(errno));
}

void output_file::print(const char* format, ...) {
  va_list words;
  va_start(words, format);
  const int written = std::vfprintf(file_.get(), format, words);
  va_end(words);
  if (written < 0)
    throw weft::error("cannot write '" + path_ + "': " + std::strerror(errno) +
                      "; is the disk full?");
}

void output_file::flush() {
  if (std::fflush(file_.get()) != 0)
    throw weft::error("cannot write '" + path_ + "': " + std::strerror(errno) +
                      "; is the disk full?");
}

void output_file::write(const void* bytes, std::size_t size) {
  if (std::fwrite(bytes, 1, size, file_.get()) != size)
    throw weft::error("cannot write '" + path_ + "': " + std::strerror(errno) +
                      "; is the disk full?");
}

}  // namespace front
