// Calls that change a stream, before those of the C library in every program of weft: standard output and
// standard error of ranks that share a process are one stream each, which no rank may change for the others.
// Weak: a program's own go first.
#include <dlfcn.h>

#include <cerrno>
#include <cstdio>

#include "base/log.hpp"
#include "base/output.hpp"

namespace {

template <class Function>
Function* next_definition(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_shared(std::FILE* stream) {
  return weft::rank_sharing(stream) >= 0;
}

bool is_refused(std::FILE* stream) {
  const int rank = weft::rank_sharing(stream);
  if (rank < 0) return false;
  weft::log_line(
      "rank {} may not reopen standard {}, which ranks of a process share; with "
      "--ranks-per-process 1 each has its own",
      rank, stream == stdout ? "output" : "error");
  errno = EPERM;
  return true;
}

}  // namespace

extern "C" {

// Lines leave when they are whole, whatever the buffer.
[[gnu::weak]] int setvbuf(std::FILE* stream, char* buffer, int mode, std::size_t size) noexcept {
  if (is_shared(stream)) return 0;
  return next_definition<decltype(setvbuf)>("setvbuf")(stream, buffer, mode, size);
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
  return is_shared(stream) ? std::fflush(stream)
                           : next_definition<decltype(fclose)>("fclose")(stream);
}

[[gnu::weak]] std::FILE* freopen(const char* path, const char* mode, std::FILE* stream) {
  if (is_refused(stream)) return nullptr;
  return next_definition<decltype(freopen)>("freopen")(path, mode, stream);
}
[[gnu::weak]] std::FILE* freopen64(const char* path, const char* mode, std::FILE* stream) {
  if (is_refused(stream)) return nullptr;
  return next_definition<decltype(freopen64)>("freopen64")(path, mode, stream);
}

}  // extern "C"

namespace weft {

void link_calls_of_streams() noexcept {}

}  // namespace weft
