// Calls that change a stream, before those of the C library in every program of weft: standard output and
// standard error of ranks that share a process are one stream each, which no rank may change for the others. A rank that
// has a copy of its program may lead away what it writes there itself.
// Weak: a program's own go first. The C library's are looked up once, since the loader may be busy when a thread
// closes a file.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "base/library_function.hpp"
#include "base/log.hpp"
#include "base/output.hpp"

namespace {

std::FILE* refuse(bool is_output) {
  const int rank = weft::writing_rank();
  weft::log_line(
      "{} may not reopen standard {}, which ranks of a process share; with "
      "--ranks-per-process 1 each has its own",
      rank >= 0 ? "rank " + std::to_string(rank) : "a thread that is no rank's",
      is_output ? "output" : "error");
  errno = EPERM;
  return nullptr;
}

template <class Open, class Reopen>
std::FILE* reopen(const char* path, const char* mode, std::FILE* stream, const Open& open,
                  const Reopen& next) {
  const bool is_output = stream == stdout;
  if (!weft::is_shared_stream(stream)) return next(path, mode, stream);
  const auto allowed = weft::allowed_own_output();
  if (allowed == weft::own_output::of_process)
    return next(path, mode, weft::end_shared_stream(stream));
  if (allowed == weft::own_output::refused || weft::writing_rank() < 0) return refuse(is_output);
  if (path == nullptr) return stream;  // Another mode: lines leave when they are whole.
  std::FILE* const file = open(path, mode);
  if (file == nullptr) return nullptr;
  const int own = ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  std::fclose(file);
  if (own < 0) return nullptr;
  weft::lead_output_away(is_output ? STDOUT_FILENO : STDERR_FILENO, own);
  return stream;
}

}  // namespace

extern "C" {

// Lines leave when they are whole, whatever the buffer.
[[gnu::weak]] int setvbuf(std::FILE* stream, char* buffer, int mode, std::size_t size) noexcept {
  static auto* const next = weft::next_definition<decltype(::setvbuf)>("setvbuf");
  return weft::is_shared_stream(stream) ? 0 : next(stream, buffer, mode, size);
}
[[gnu::weak]] void setbuffer(std::FILE* stream, char* buffer, std::size_t size) noexcept {
  setvbuf(stream, buffer, buffer != nullptr ? _IOFBF : _IONBF, size);
}
[[gnu::weak]] void setbuf(std::FILE* stream, char* buffer) noexcept {
  setbuffer(stream, buffer, BUFSIZ);
}
[[gnu::weak]] void setlinebuf(std::FILE* stream) noexcept {
  setvbuf(stream, nullptr, _IOLBF, 0);
}

// It would free what other ranks print to.
[[gnu::weak]] int fclose(std::FILE* stream) {
  static auto* const next = weft::next_definition<decltype(::fclose)>("fclose");
  return weft::is_shared_stream(stream) ? std::fflush(stream) : next(stream);
}

[[gnu::weak]] std::FILE* freopen(const char* path, const char* mode, std::FILE* stream) {
  static auto* const next = weft::next_definition<decltype(::freopen)>("freopen");
  return reopen(path, mode, stream, std::fopen, next);
}
[[gnu::weak]] std::FILE* freopen64(const char* path, const char* mode, std::FILE* stream) {
  static auto* const next = weft::next_definition<decltype(::freopen64)>("freopen64");
  return reopen(path, mode, stream, ::fopen64, next);
}

}  // extern "C"

namespace weft {

void link_calls_of_streams() noexcept {}

}  // namespace weft
