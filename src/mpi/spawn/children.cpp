#include "mpi/spawn/children.hpp"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "base/library_function.hpp"
#include "bootstrap/single/single.hpp"
#include "mpi/object/errors.hpp"
#include "mpi/spawn/channel.hpp"

extern char** environ;

namespace weft::mpi {
namespace {

constexpr const char* parent_variable = "WEFT_PARENT";
constexpr const char* handler_variable = "WEFT_INITIAL_ERRHANDLER";
// How the weftrun of this job reaches other hosts.
constexpr const char* rsh_variable = "WEFT_SPAWN_RSH";

// What launchers have told this job, and what shapes it: the new one has its own.
constexpr std::array<std::string_view, 13> not_inherited{
    "WEFT_JOB",      "WEFT_RANK",      "WEFT_LOCAL_RANK",
    "WEFT_RANKS",    "WEFT_PROCESSES", "WEFT_RANKS_PER_PROCESS",
    "WEFT_WORKERS",  "WEFT_HOSTS",     "WEFT_MAP",
    parent_variable, handler_variable, "WEFT_TRACE",
    "WEFT_IMAGE"};
constexpr std::array<std::string_view, 5> launchers{"PMI_", "PMIX_", "OMPI_COMM_WORLD_",
                                                    "MPI_LOCAL", "WEFT_BREAKDOWN"};

bool is_inherited(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return std::ranges::find(not_inherited, name) == not_inherited.end() &&
         std::ranges::none_of(launchers,
                              [&](std::string_view begin) { return name.starts_with(begin); });
}

const std::string* value_of(const wanted_program& of, std::string_view key) {
  for (const auto& [k, value] : of.info)
    if (k == key) return &value;
  return nullptr;
}

bool is_program(const std::string& file) {
  struct stat found {};
  return ::stat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         ::access(file.c_str(), X_OK) == 0;
}

// The directories of a list that colons separate.
template <class Visit>
bool any_directory(std::string_view list, const Visit& visit) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    if (visit(std::string(list.substr(at, end - at)))) return true;
    at = end + 1;
  }
  return false;
}

std::string found_program(const wanted_program& program) {
  const std::string& command = program.command;
  const std::string* const wdir = value_of(program, "wdir");
  const auto absolute = [&](const std::string& file) {
    if (file.starts_with('/')) return file;
    std::array<char, 4096> here{};
    const std::string from = wdir != nullptr && wdir->starts_with('/')       ? *wdir
                             : ::getcwd(here.data(), here.size()) != nullptr ? here.data()
                                                                             : ".";
    return from + '/' + file;
  };
  std::string found;
  const auto is_in = [&](const std::string& directory) {
    const std::string file = absolute((directory.empty() ? "." : directory) + '/' + command);
    if (!is_program(file)) return false;
    found = file;
    return true;
  };
  if (command.find('/') != command.npos) {
    if (is_program(absolute(command))) return absolute(command);
  } else {
    const std::string* const path = value_of(program, "path");
    const char* const search = ::secure_getenv("PATH");
    if ((path != nullptr && any_directory(*path, is_in)) || is_in(".") ||
        (search != nullptr && any_directory(search, is_in)))
      return found;
  }
  fail(MPI_ERR_SPAWN,
       "there is no program \"{}\" that this user may run; info keys path and wdir say where it is",
       command);
}

int number_in(std::string_view text, const char* what) {
  int value = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || stop != text.data() + text.size())
    fail(MPI_ERR_INFO_VALUE, "the info key {} has \"{}\", which is no number", what, text);
  return value;
}

// The most ranks, up to `most`, that a list allows: numbers, and ranges begin:end:step, between commas.
int most_allowed(std::string_view list, int most) {
  int best = -1;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    std::string_view item = list.substr(at, end - at);
    at = end + 1;
    std::array<int, 3> parts{0, 0, 1};
    std::size_t count = 0;
    for (bool more = true; more && count < parts.size(); ++count) {
      const std::size_t colon = item.find(':');
      parts[count] = number_in(item.substr(0, colon), "soft");
      more = colon != item.npos;
      if (more) item.remove_prefix(colon + 1);
    }
    if (count == 1) parts[1] = parts[0];
    if (parts[2] == 0) fail(MPI_ERR_INFO_VALUE, "the info key soft has a step of 0");
    for (long n = parts[0]; parts[2] > 0 ? n <= parts[1] : n >= parts[1]; n += parts[2])
      if (n <= most && n > best) best = static_cast<int>(n);
  }
  if (best < 0)
    fail(MPI_ERR_SPAWN, "the info key soft (\"{}\") allows no number of ranks up to {}", list,
         most);
  return best;
}

// weftrun lies where the library was installed or built.
std::string launcher() {
  if (const char* const named = ::secure_getenv("WEFT_RUN"); named != nullptr && is_program(named))
    return named;
  Dl_info of{};
  std::vector<std::filesystem::path> from;
  if (::dladdr(reinterpret_cast<const void*>(&port_of_parent), &of) != 0 && of.dli_fname != nullptr)
    from.emplace_back(std::filesystem::path(of.dli_fname).parent_path());
  for (const auto& directory : from)
    for (const char* const up : {".", "bin", "../bin", "../../bin", "../../../bin"})
      if (const std::string file = directory / up / "weftrun"; is_program(file)) return file;
  if (const char* const search = ::secure_getenv("PATH"); search != nullptr) {
    std::string found;
    if (any_directory(search, [&](const std::string& directory) {
          found = directory + "/weftrun";
          return is_program(found);
        }))
      return found;
  }
  fail(
      MPI_ERR_SPAWN,
      "weftrun, which starts several programs or processes, is not found beside the library: put it into PATH, or name it "
      "in WEFT_RUN");
}

std::vector<std::string> environment_for(const std::vector<wanted_program>& programs,
                                         const std::string& parent, bool is_alone) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (is_inherited(*entry)) all.emplace_back(*entry);
  all.push_back(formatted("{}={}", parent_variable, parent));
  if (is_alone) all.push_back(formatted("WEFT_RANKS={}", programs.front().ranks));
  if (const std::string* const handler = value_of(programs.front(), "mpi_initial_errhandler");
      handler != nullptr)
    all.push_back(formatted("{}={}", handler_variable, *handler));
  return all;
}

std::vector<std::string> words_for_launcher(const std::vector<wanted_program>& programs) {
  std::vector<std::string> words{launcher(), "--as-mpirun", "mpirun"};
  if (const char* const rsh = ::secure_getenv(rsh_variable); rsh != nullptr && *rsh != '\0')
    words.insert(words.end(), {"-launcher-exec", rsh});
  for (const wanted_program& p : programs) {
    if (&p != &programs.front()) words.emplace_back(":");
    words.emplace_back("-n");
    words.push_back(std::to_string(p.ranks));
    if (const std::string* const wdir = value_of(p, "wdir"))
      words.insert(words.end(), {"-wdir", *wdir});
    if (const std::string* const host = value_of(p, "host"))
      words.insert(words.end(), {"-host", *host});
    if (const std::string* const per = value_of(p, "weft_ranks_per_process"))
      words.insert(words.end(), {"--ranks-per-process", *per});
    words.push_back(p.command);
    words.insert(words.end(), p.arguments.begin(), p.arguments.end());
  }
  return words;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

bool is_this_host(const std::string& name) {
  return name == host_name() || name == "localhost" || name == "127.0.0.1";
}

// What this process starts by other means than MPI_Comm_spawn has not been told this: the variable is left empty. In place,
// since the tables of the ranks share the text, and other threads may read them.
std::string taken(const char* variable) {
  char* const value = ::secure_getenv(variable);
  if (value == nullptr) return {};
  std::string text = value;
  *value = '\0';
  return text;
}

std::mutex children_lock;
std::vector<pid_t>& children() {
  static std::vector<pid_t> all;
  return all;
}

}  // namespace

void settle(wanted_program& program) {
  if (program.ranks_max < 1)
    fail(MPI_ERR_ARG, "maxprocs is {} for \"{}\"; it must be 1 or more", program.ranks_max,
         program.command);
  program.ranks = program.ranks_max;
  if (const std::string* const soft = value_of(program, "soft"))
    program.ranks = most_allowed(*soft, program.ranks_max);
  if (program.ranks < 1)
    fail(MPI_ERR_SPAWN, "the info key soft allows no rank of \"{}\" at all", program.command);
  if (const std::string* const wdir = value_of(program, "wdir")) {
    struct stat found {};
    if (::stat(wdir->c_str(), &found) != 0 || !S_ISDIR(found.st_mode))
      fail(MPI_ERR_SPAWN, "the info key wdir has \"{}\", which is no directory", *wdir);
  }
  program.command = found_program(program);
}

bool starts_elsewhere(const wanted_program& program) {
  const std::string* const host = value_of(program, "host");
  return host != nullptr && !is_this_host(*host);
}

pid_t start_job(const std::vector<wanted_program>& programs, const std::string& parent) {
  const wanted_program& first = programs.front();
  const bool is_alone = programs.size() == 1 && !starts_elsewhere(first) &&
                        value_of(first, "weft_ranks_per_process") == nullptr;
  std::vector<std::string> words;
  if (is_alone) {
    words.push_back(first.command);
    words.insert(words.end(), first.arguments.begin(), first.arguments.end());
  } else {
    words = words_for_launcher(programs);
  }
  std::vector<std::string> environment = environment_for(programs, parent, is_alone);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (const std::string* const wdir = value_of(first, "wdir"); is_alone && wdir != nullptr)
    ::posix_spawn_file_actions_addchdir_np(&actions, wdir->c_str());
  // Of what else is open here some is a library's own, which lets children have it.
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  // The signals of this process's threads are blocked or not as the workers need it.
  posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
  pid_t process = -1;
  // The C library's own: the program's wait() does not find it.
  auto* start = next_definition<decltype(::posix_spawn)>("posix_spawn");
  if (start == nullptr) start = &::posix_spawn;
  const int failed = start(&process, words.front().c_str(), &actions, &how,
                           pointers_to(words).data(), pointers_to(environment).data());
  ::posix_spawnattr_destroy(&how);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    fail(MPI_ERR_SPAWN, "\"{}\" cannot be started: {}", words.front(), std::strerror(failed));
  return process;
}

std::string port_of_parent() {
  static const std::string port = taken(parent_variable);
  return port;
}

std::string initial_handler() {
  static const std::string handler = taken(handler_variable);
  return handler;
}

std::string end_of(pid_t process) {
  int status = 0;
  const pid_t ended = ::waitpid(process, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return {};
  if (ended < 0) return "has ended";
  if (WIFSIGNALED(status)) return formatted("was killed by signal {}", WTERMSIG(status));
  return formatted("has ended with status {}", WEXITSTATUS(status));
}

void note_child(pid_t process) {
  bury_children();
  const std::lock_guard hold(children_lock);
  children().push_back(process);
}

void bury_children() {
  const std::lock_guard hold(children_lock);
  std::erase_if(children(), [](pid_t one) { return !end_of(one).empty(); });
}

}  // namespace weft::mpi
