#include "base/environment.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "base/format.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"

namespace weft {
namespace {

constexpr const char* told_variable = "WEFT_TOLD";

// A program may fill its options in by itself: then its environment is no affair of weft's.
std::atomic<bool> has_read_environment{false};

// The name of the setting that a variable would be of: "eager-max" of WEFT_EAGER_MAX.
std::string setting_name_of(std::string_view variable) {
  std::string name(variable.substr(setting_variable_prefix.size()));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return name;
}

}  // namespace

std::vector<std::string> remarks_on_environment() {
  // From weftrun to the processes it starts; for weftcc and its kin; a rank's own, which may reach what it starts;
  // from a job to one that it spawns, and for both.
  std::vector<std::string> known{"WEFT_JOB",
                                 told_variable,
                                 lent_plugins_variable,
                                 accounts_variable,
                                 breakdown_events_variable,
                                 "WEFT_CC",
                                 "WEFT_CXX",
                                 "WEFT_FC",
                                 "WEFT_RANK",
                                 "WEFT_LOCAL_RANK",
                                 "WEFT_PARENT",
                                 "WEFT_INITIAL_ERRHANDLER",
                                 "WEFT_SPAWN_RSH",
                                 "WEFT_NAMES",
                                 "WEFT_RUN"};
  for (const setting& row : settings()) known.push_back(row.environment_name());
  std::vector<std::string> remarks;
  if (::getauxval(AT_SECURE) != 0) return {};  // None has.
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view word = *variable;
    const std::string_view name = word.substr(0, word.find('='));
    if (!name.starts_with(setting_variable_prefix) || std::ranges::find(known, name) != known.end())
      continue;
    const setting* const nearest = nearest_setting(setting_name_of(name));
    remarks.push_back(formatted(
        "the variable {} has no meaning to weft{}; weft-info lists those that have",
        printable(name),
        nearest == nullptr ? "" : formatted(" (did you mean {}?)", nearest->environment_name())));
  }
  return remarks;
}

void note_environment_read() noexcept {
  has_read_environment.store(true, std::memory_order_relaxed);  // Read after the call returns.
}

void tell_of_environment() {
  static std::atomic<bool> has_told{false};
  // Relaxed: only who is first matters.
  if (!has_read_environment.load(std::memory_order_relaxed) ||
      has_told.exchange(true, std::memory_order_relaxed) ||
      ::secure_getenv(told_variable) != nullptr)
    return;
  for (const std::string& remark : remarks_on_environment()) log_text(remark);
}

void note_environment_told() {
  ::setenv(told_variable, "1", 1);
}

}  // namespace weft
