// Calls that start another program, in libweft.so, where they stand before those of the C library: the program does not
// find the variables of the rank that starts it (own_environment.hpp), which would tell it that a launcher has started it.
// Not part of libweft.a.
#include <spawn.h>
#include <unistd.h>

#include "base/library_function.hpp"
#include "program/own_environment.hpp"

// On the caller's stack: between vfork() and the start of a program nothing else may be used.
#define WITHOUT_RANK_VARIABLES(table)                                                       \
  if (const std::size_t entries = weft::detail::entries_without_rank_variables(table);      \
      entries != 0) {                                                                       \
    char** const filtered = static_cast<char**>(__builtin_alloca(entries * sizeof(char*))); \
    weft::detail::without_rank_variables(table, filtered);                                  \
    table = filtered;                                                                       \
  }

namespace {

// Found when libweft is loaded: a child of vfork() must not wait for the loader.
struct next_calls {
  decltype(::execve)* execve = weft::next_definition<decltype(::execve)>("execve");
  decltype(::execvpe)* execvpe = weft::next_definition<decltype(::execvpe)>("execvpe");
  decltype(::fexecve)* fexecve = weft::next_definition<decltype(::fexecve)>("fexecve");
  decltype(::posix_spawn)* spawn = weft::next_definition<decltype(::posix_spawn)>("posix_spawn");
  decltype(::posix_spawnp)* spawnp =
      weft::next_definition<decltype(::posix_spawnp)>("posix_spawnp");
};
const next_calls& next() {
  static const next_calls found;
  return found;
}
[[gnu::constructor]] void find_next() {
  static_cast<void>(next());
}

}  // namespace

extern "C" {

int execve(const char* path, char* const* words, char* const* environment) noexcept {
  WITHOUT_RANK_VARIABLES(environment)
  return next().execve(path, words, environment);
}

int execvpe(const char* file, char* const* words, char* const* environment) noexcept {
  WITHOUT_RANK_VARIABLES(environment)
  return next().execvpe(file, words, environment);
}

int fexecve(int descriptor, char* const* words, char* const* environment) noexcept {
  WITHOUT_RANK_VARIABLES(environment)
  return next().fexecve(descriptor, words, environment);
}

int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* files,
                const posix_spawnattr_t* attributes, char* const* words,
                char* const* environment) noexcept {
  WITHOUT_RANK_VARIABLES(environment)
  return next().spawn(child, path, files, attributes, words, environment);
}

int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* files,
                 const posix_spawnattr_t* attributes, char* const* words,
                 char* const* environment) noexcept {
  WITHOUT_RANK_VARIABLES(environment)
  return next().spawnp(child, file, files, attributes, words, environment);
}
}
