// weft-breakdown causal: runs a program again and again while everything but one part of it is delayed, which shows what a
// faster part would bring (profile/experiment.hpp). Beside it stands what a replay of a recorded run says.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/format.hpp"
#include "breakdown/analysis.hpp"
#include "breakdown/event_log.hpp"
#include "breakdown/pattern.hpp"
#include "breakdown/record.hpp"
#include "breakdown/replay.hpp"
#include "trace/event_file.hpp"
#include "weft-breakdown/commands.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using namespace breakdown;
using profile::causal_experiment;

// As few say nothing: one of them may have been anything.
constexpr std::uint64_t visits_min = 5;

struct run_of_program {
  double seconds = 0;  // From the begin of its first rank to the end of its last.
  double delayed = 0;
  std::uint64_t visits = 0;
  std::uint64_t progress = 0;
  [[nodiscard]] double per_progress() const {
    return (seconds - delayed) / static_cast<double>(progress);
  }
};

// Of the program's own regions if it names any, else messages and collectives.
std::uint64_t progress_of(const summary& s) {
  std::uint64_t iterations = 0;
  for (const region_summary& one : s.regions) iterations += one.entries;
  return iterations != 0 ? iterations : s.messages.received + s.messages.collectives;
}

class program {
 public:
  explicit program(const std::vector<std::string>& words) : words_(words) {}

  // Its record; with `events`, also an event file of that name.
  record run(const causal_experiment& asked, const std::string& events = {}) {
    const int file = ::memfd_create(profile::file_name, MFD_CLOEXEC);
    profile::file_header header;
    std::memcpy(static_cast<void*>(&header.experiment), &asked, sizeof asked);
    if (file < 0 || ::ftruncate(file, profile::header_bytes) != 0 ||
        ::pwrite(file, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header))
      throw error(formatted("causal needs memory for accounts: {}", std::strerror(errno)));
    ::setenv(accounts_variable, formatted("/proc/{}/fd/{}", ::getpid(), file).c_str(), 1);
    ::setenv(breakdown_events_variable, events.c_str(), 1);
    const int status = start_and_wait();
    std::vector<std::byte> content(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)));
    const ssize_t got = ::pread(file, content.data(), content.size(), 0);
    ::close(file);
    if (status != 0)
      throw error(formatted("{} ended with status {}: an experiment needs a program that ends well",
                            words_[0], status));
    if (got != static_cast<ssize_t>(content.size()))
      throw error(formatted("causal cannot read its accounts: {}", std::strerror(errno)));
    return record(std::move(content), words_[0]);
  }

 private:
  // What it prints is not wanted; what it says is wrong is.
  int start_and_wait() {
    std::vector<char*> argv;
    for (std::string& word : words_) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int reason = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (reason != 0)
      throw error(formatted("causal cannot start {}: {}", words_[0], std::strerror(reason)));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::vector<std::string> words_;
};

run_of_program told_by(const record& all) {
  const summary s = summarise(all);
  const causal_experiment& e = all.header().experiment;
  run_of_program run;
  run.seconds = s.seconds;
  run.delayed = all.seconds(e.owed.load(std::memory_order_relaxed));
  run.visits = e.visits.load(std::memory_order_relaxed);
  run.progress = std::max<std::uint64_t>(progress_of(s), 1);
  return run;
}

template <std::size_t Size>
void set_text(char (&to)[Size], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), Size - 1));
}

// What `name` means in this program: a region of that name, else all calls whose place has it in it.
void find_part(const causal_request& request, record& all, causal_experiment& to) {
  all.find_places();
  const summary s = summarise(all);
  if (!request.of_calls)
    for (const region_summary& one : s.regions)
      if (one.name == request.part) {
        to.of = causal_experiment::part::region;
        set_text(to.region, request.part);
        return;
      }
  to.of = request.of_calls ? causal_experiment::part::calls : causal_experiment::part::computation;
  std::set<std::pair<std::uint64_t, std::string>> found;
  for (int rank = 0; rank < all.ranks(); ++rank)
    for (const profile::site& one : all.of(rank).sites) {
      if (one.call[0] == '\0' || one.object < 0) continue;
      const std::string name = formatted("{} in {}", one.call, one.place);
      if (name.find(request.part) != name.npos) found.emplace(one.offset, one.call);
    }
  if (found.empty()) {
    std::string some;
    for (std::size_t i = 0; i < std::min<std::size_t>(s.places.size(), 5); ++i)
      some += formatted("{}{}", i == 0 ? "" : ", ", s.places[i].at);
    throw error(formatted("no region and no call of the program is '{}'; there are {}",
                          request.part, some.empty() ? "none" : some));
  }
  if (found.size() > causal_experiment::part_sites_max)
    throw error(formatted("'{}' is in {} places; {} are the most: say more of the place",
                          request.part, found.size(), causal_experiment::part_sites_max));
  for (const auto& [offset, call] : found) {
    causal_experiment::site_of_part& at = to.at[static_cast<std::size_t>(to.site_count++)];
    at.offset = offset;
    set_text(at.call, call);
  }
}

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// An event file that goes with this.
struct temporary_events {
  std::string name =
      (std::filesystem::temp_directory_path() / "weft-causal-XXXXXX.events").string();
  temporary_events() {
    const int file = ::mkstemps(name.data(), static_cast<int>(event_file::suffix.size()));
    if (file < 0) throw error(formatted("cannot write {}: {}", name, std::strerror(errno)));
    ::close(file);
  }
  ~temporary_events() { ::unlink(name.c_str()); }
};

}  // namespace

void run_causal(const causal_request& request) {
  program what(request.words);
  const temporary_events events;
  causal_experiment asked;
  record first = what.run(asked, events.name);
  find_part(request, first, asked);
  // Regions and calls are no parts of a replay.
  std::optional<event_log> log;
  std::optional<pattern> recorded;
  std::optional<replay> again;
  if (asked.of == causal_experiment::part::computation) try {
      log = read_event_log(events.name, true);
      recorded = pattern_of(*log);
      again.emplace(*recorded);
    } catch (const error&) {  // Then there is no second opinion.
    }
  std::vector<int> percents{0};
  percents.insert(percents.end(), request.reductions.begin(), request.reductions.end());
  std::vector<std::vector<run_of_program>> runs(percents.size());
  // By turns, so that what the machine does meanwhile concerns all alike.
  for (int round = 0; round < request.runs; ++round)
    for (std::size_t i = 0; i < percents.size(); ++i) {
      asked.percent = percents[i];
      runs[i].push_back(told_by(what.run(asked)));
      if (runs[i].back().visits < visits_min)
        throw error(formatted(
            "'{}' came {} times in a run; {} are the least that say anything: let the program run longer",
            request.part, runs[i].back().visits, visits_min));
    }
  const auto middle_of = [](const std::vector<run_of_program>& some, const auto& value) {
    std::vector<double> all;
    for (const run_of_program& one : some) all.push_back(value(one));
    return middle(std::move(all));
  };
  const auto per_progress = [](const run_of_program& one) { return one.per_progress(); };
  const double base = middle_of(runs[0], per_progress);
  double least = base, most = base;
  for (const run_of_program& one : runs[0]) {
    least = std::min(least, one.per_progress());
    most = std::max(most, one.per_progress());
  }
  if (request.csv)
    std::printf(
        "reduction_percent,seconds,delays_seconds,gain_percent,replay_gain_percent,visits,progress\n");
  else
    std::printf(
        "%s: %d ranks; '%s' came %llu times; progress: %llu iterations, or messages and collectives\n"
        "%d runs of each, whose middle is shown; those as it is lie from %+.1f to %+.1f %% of it\n"
        "  less by      time     delays      gain   replay says\n",
        first.header().program, first.ranks(), request.part.c_str(),
        static_cast<unsigned long long>(runs[0].back().visits),
        static_cast<unsigned long long>(runs[0].back().progress), request.runs,
        100 * (least / base - 1), 100 * (most / base - 1));
  for (std::size_t i = 0; i < percents.size(); ++i) {
    const double gain = 100 * (1 - middle_of(runs[i], per_progress) / base);
    std::string replayed;
    if (again) {
      replay_change change;
      change.computation.push_back({request.part, 1 - percents[i] / 100.0});
      replayed = formatted("{:.2f}", 100 * (1 - again->run(change) / again->run()));
    }
    const double seconds =
        middle_of(runs[i], [](const run_of_program& one) { return one.seconds; });
    const double delayed =
        middle_of(runs[i], [](const run_of_program& one) { return one.delayed; });
    if (request.csv)
      std::printf("%d,%.9g,%.9g,%.4f,%s,%llu,%llu\n", percents[i], seconds, delayed, gain,
                  replayed.c_str(), static_cast<unsigned long long>(runs[i].back().visits),
                  static_cast<unsigned long long>(runs[i].back().progress));
    else
      std::printf("  %5d %%  %7.3f s  %7.3f s  %6.1f %%   %s\n", percents[i], seconds, delayed,
                  gain, replayed.empty() ? "" : (replayed + " %").c_str());
  }
}

}  // namespace weft
