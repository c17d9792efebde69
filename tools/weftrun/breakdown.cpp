#include "weftrun/breakdown.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/format.hpp"
#include "breakdown/analysis.hpp"
#include "breakdown/files.hpp"
#include "breakdown/record.hpp"
#include "breakdown/report.hpp"
#include "breakdown/run_summary.hpp"
#include "trace/event_file.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

constexpr int status_lost_report = 2;  // As when a job cannot write its trace.

volatile sig_atomic_t child_of_signals = 0;

void hand_on(int signal) {
  if (child_of_signals > 0) ::kill(static_cast<pid_t>(child_of_signals), signal);
}

// What the terminal sends goes to the child as well; the rest is handed on.
void take_signals() {
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  action.sa_handler = SIG_IGN;
  for (const int signal : {SIGINT, SIGQUIT, SIGTSTP}) ::sigaction(signal, &action, nullptr);
  action.sa_handler = &hand_on;
  for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT})
    ::sigaction(signal, &action, nullptr);
}

std::string name_of_processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t at = line.find(": "); at != line.npos) return line.substr(at + 2);
  return {};
}

template <std::size_t Size>
void set_text(char (&to)[Size], const std::string& from) {
  std::snprintf(to, Size, "%s", from.c_str());
}

std::vector<std::byte> content_of(int file) {
  profile::file_header header;
  std::vector<std::byte> content(profile::header_bytes);
  if (::pread(file, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
    return {};
  std::memcpy(static_cast<void*>(&header), content.data(), sizeof header);
  if (header.ranks <= 0) return content;
  const std::size_t whole =
      profile::bytes_of_accounts(static_cast<std::size_t>(header.ranks), header.has_callers != 0);
  content.resize(whole);
  std::size_t got = 0;
  while (got < whole) {
    const ssize_t part = ::pread(file, content.data() + got, whole - got, static_cast<off_t>(got));
    if (part <= 0) break;
    got += static_cast<std::size_t>(part);
  }
  content.resize(got);
  return content;
}

// Where the events are that the page's critical path comes from; empty: nowhere.
std::string events_of_breakdown(const options& how) {
  if (!how.trace_file.empty())
    return how.trace_file.ends_with(event_file::suffix) ? how.trace_file : std::string();
  return how.hosts.empty() ? breakdown::beside(how.breakdown_file, event_file::suffix)
                           : std::string();
}

// A program that is none of weft's has left no record, and may well have done what it should.
std::optional<breakdown::record> record_in(int file) {
  try {
    return breakdown::record(content_of(file), "breakdown");
  } catch (const error& failure) {
    std::fprintf(stderr, "weftrun: %s\n", failure.what());
    return std::nullopt;
  }
}

void tell(int file, const options& how, std::uint64_t end_ticks, int status) {
  std::optional<breakdown::record> found = record_in(file);
  if (!found) return;
  breakdown::record& all = *found;
  profile::file_header& header = all.header();
  char host[64] = {};
  ::gethostname(host, sizeof host - 1);
  set_text(header.host, host);
  set_text(header.processor, name_of_processor());
  header.exit_status = status;
  all.close(end_ticks);
  all.find_places();
  breakdown::summary s = breakdown::summarise(all);
  const std::string events = events_of_breakdown(how);
  std::error_code failed;
  // A program that was killed has written none.
  if (!events.empty() && std::filesystem::file_size(events, failed) > 0 && !failed) try {
      s.run = breakdown::read_run_summary(events, all);
    } catch (const error& failure) {
      std::fprintf(stderr, "weftrun: no critical path: %s\n", failure.what());
    }
  std::string text = breakdown::text_of(s);
  std::fputs(text.c_str(), stderr);
  breakdown::write_report(all, s, how.breakdown_file,
                          breakdown::plot_library(breakdown::share_directory(WEFT_SHARE)));
  std::fprintf(stderr, "  the page: %s, its data: %s\n", how.breakdown_file.c_str(),
               breakdown::beside(how.breakdown_file, ".json").c_str());
}

// What the job records, from which the archive is made.
std::string events_of(const std::string& archive) {
  return archive + ".events";
}
std::string archive_of(const options& how) {
  return how.trace_file.ends_with(".otf2") ? how.trace_file : std::string();
}

std::string breakdown_program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weft-breakdown")
      .string();
}

void check_archive(const std::string& archive) {
  breakdown::check_can_be_made(archive);
  if (::access(breakdown_program().c_str(), X_OK) != 0)
    throw error(formatted("--trace {}: {}, which makes it, cannot be started: {}", archive,
                          breakdown_program(), std::strerror(errno)));
  breakdown::check_writable(events_of(archive));
}

// The events stay when that fails.
void make_archive(const std::string& archive) {
  const std::string program = breakdown_program(), events = events_of(archive);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(program.c_str(), "weft-breakdown", "otf2", events.c_str(), archive.c_str(), nullptr);
    std::_Exit(127);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    ::unlink(events.c_str());
  else
    throw error(formatted("{} was not made; the events are in {}", archive, events));
}

[[noreturn]] void end_as(int status) {
  std::fflush(nullptr);
  if (WIFSIGNALED(status)) {
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);  // The child has left one, if any.
    ::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
  }
  std::_Exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

}  // namespace

bool has_afterwards(const options& how) {
  return how.breakdown || !archive_of(how).empty();
}

void stay_for_afterwards(const options& how) {
  const std::string archive = archive_of(how);
  if (!archive.empty()) check_archive(archive);
  int file = -1;
  if (how.breakdown) {
    breakdown::check_writable(how.breakdown_file);
    breakdown::check_writable(breakdown::beside(how.breakdown_file, ".json"));
    breakdown::check_writable(breakdown::beside(how.breakdown_file, ".record"));
    if (const std::string events = events_of_breakdown(how);
        !events.empty() && how.trace_file.empty()) {
      breakdown::check_writable(events);
      ::unlink(events.c_str());  // That of an earlier run.
      ::setenv(breakdown_events_variable, std::filesystem::absolute(events).c_str(), 1);
    }
    // Goes with this process, whatever ends it.
    file = ::memfd_create(profile::file_name, MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, profile::header_bytes) != 0)
      throw error(formatted("--breakdown needs memory for its accounts: {}", std::strerror(errno)));
    ::setenv(accounts_variable, formatted("/proc/{}/fd/{}", ::getpid(), file).c_str(), 1);
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw error(formatted("weftrun cannot start a process: {}", std::strerror(errno)));
  if (child == 0) {
    ::unsetenv("WEFT_BREAKDOWN");  // A weftrun within has no account of its own.
    if (!archive.empty()) ::setenv("WEFT_TRACE", events_of(archive).c_str(), 1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) std::_Exit(1);
    return;
  }
  child_of_signals = child;
  take_signals();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::uint64_t end_ticks = ticks();
  child_of_signals = 0;
  try {
    if (how.breakdown)
      tell(file, how, end_ticks,
           WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    if (!archive.empty()) make_archive(archive);
  } catch (const error& failure) {
    std::fprintf(stderr, "weftrun: %s\n", failure.what());
    // As when any other file of the job cannot be written.
    if (status == 0) std::_Exit(status_lost_report);
  }
  end_as(status);
}

}  // namespace weft
