// Runs a command line in the directory of the built programs and keeps what it printed.
#pragma once
#include <dlfcn.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace weft {

struct outcome {
  int status;        // As a shell reports it: 128 + signal for a program that was killed.
  std::string text;  // Standard output and standard error.
};

inline outcome shell(const std::string& command) {
  const std::string line = "cd " WEFT_PROGRAM_DIR " && { " + command + "; } 2>&1";
  std::FILE* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), count);
  const int raw = ::pclose(pipe);
  return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), text};
}

// Without it places in a program have no lines.
inline bool has_debug_library() {
  void* const library = ::dlopen("libdw.so.1", RTLD_LAZY);
  if (library != nullptr) ::dlclose(library);
  return library != nullptr;
}

}  // namespace weft
