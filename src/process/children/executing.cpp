// Calls that start another program, in libweft.so, where they stand before those of the C library: the program does not
// find the variables of the rank that starts it (own_environment.hpp), which would tell it that a launcher has started it.
// A rank that becomes another program in a process of its own, beside others of its job, is one in a child: its part in the
// job ends with that. Where ranks share a process weft-host sees to it (process/children/host_children.c). Not part of libweft.a.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>

#include "base/library_function.hpp"
#include "job/caller.hpp"
#include "process/environment/own_environment.hpp"
#include "process/life/program.h"
#include "process/life/running_program.hpp"

// The table is on the caller's stack: between vfork() and the start of a program nothing else may be used.
#define WITHOUT_RANK_VARIABLES(table)                                                       \
  if (const std::size_t entries = weft::process::entries_without_rank_variables(table);     \
      entries != 0) {                                                                       \
    char** const filtered = static_cast<char**>(__builtin_alloca(entries * sizeof(char*))); \
    weft::process::without_rank_variables(table, filtered);                                 \
    table = filtered;                                                                       \
  }

namespace {

// They are found when libweft is loaded: a child of vfork() must not wait for the loader.
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

bool leaves_others() {
  const auto* const me = static_cast<const weft::detail::job_rank*>(weft::worker::caller());
  return me != nullptr && me->of->places.size() > 1 && !weft::is_forked_child() &&
         weft::process::run_of_caller() != nullptr && !weft::process::has_copy();
}

// It returns where there is no such program.
int become(decltype(::posix_spawn)* spawn, const char* program, char* const* words,
           char* const* environment) {
  pid_t child = 0;
  if (const int failed = spawn(&child, program, nullptr, nullptr, words, environment);
      failed != 0) {
    errno = failed;
    return -1;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) weft_successor_was_killed(program, WTERMSIG(status));
  weft_exit_at_once(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  return -1;
}

}  // namespace

extern "C" {

int execve(const char* path, char* const* words, char* const* environment) noexcept {
  WITHOUT_RANK_VARIABLES(environment)
  if (leaves_others()) return become(next().spawn, path, words, environment);
  return next().execve(path, words, environment);
}

int execvpe(const char* file, char* const* words, char* const* environment) noexcept {
  WITHOUT_RANK_VARIABLES(environment)
  if (!leaves_others()) return next().execvpe(file, words, environment);
  if (become(next().spawnp, file, words, environment) == 0 || errno != ENOEXEC) return -1;
  // The C library takes such a file for a script of a shell that does not say so.
  std::size_t count = 0;
  while (words[count] != nullptr) ++count;
  const std::unique_ptr<char*[]> shell(new (std::nothrow) char*[count + 3]());
  if (shell == nullptr) return -1;
  shell[0] = const_cast<char*>("/bin/sh");
  shell[1] = const_cast<char*>(file);
  for (std::size_t i = 1; i < count; ++i) shell[i + 1] = words[i];
  return become(next().spawn, shell[0], shell.get(), environment);
}

int fexecve(int descriptor, char* const* words, char* const* environment) noexcept {
  WITHOUT_RANK_VARIABLES(environment)
  if (leaves_others()) {
    char path[48];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return become(next().spawn, path, words, environment);
  }
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
