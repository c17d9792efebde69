#include "base/settings.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/format.hpp"
#include "base/library_lists.hpp"
#include "base/limits.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Splits "256K" into its number and the factor of its last letter, which `units` lists.
struct unit {
  char letter;
  double factor;
};
std::optional<double> parse_with_unit(std::string_view text, std::span<const unit> units) {
  double factor = 1;
  if (!text.empty()) {
    const auto found = std::ranges::find(units, text.back(), &unit::letter);
    if (found != units.end()) {
      factor = found->factor;
      text.remove_suffix(1);
    }
  }
  const auto number = parse_number<double>(text);
  if (!number) return std::nullopt;
  return *number * factor;
}

std::optional<bool> parse_switch(std::string_view text) {
  for (const std::string_view word : {"on", "1", "true", "yes"})
    if (text == word) return true;
  for (const std::string_view word : {"off", "0", "false", "no"})
    if (text == word) return false;
  return std::nullopt;
}

std::string size_text(std::size_t bytes) {
  for (const auto& [shift, letter] : {std::pair{30, 'G'}, {20, 'M'}, {10, 'K'}})
    if (bytes != 0 && bytes % (std::size_t{1} << shift) == 0)
      return formatted("{}{}", bytes >> shift, letter);
  return formatted("{}", bytes);
}

// A row of the table for each kind of field.

// A word that stands for a value of a count which no number may give.
struct count_word {
  std::string_view word;
  int value;
};

constexpr count_word automatic{"auto", 0};

setting count_row(std::string_view name, int options::*field, int smallest, int largest,
                  const std::vector<count_word>& words, std::string_view help) {
  std::string allowed = formatted("a whole number from {} to {}", smallest, largest);
  for (const count_word& one : words)
    allowed += formatted("{} {}", &one == &words.back() ? ", or" : ",", one.word);
  return {.name = name,
          .value_name = "N",
          .allowed = std::move(allowed),
          .help = help,
          .assign =
              [=](options& values, std::string_view text) {
                if (const auto found = std::ranges::find(words, text, &count_word::word);
                    found != words.end()) {
                  values.*field = found->value;
                  return true;
                }
                const auto number = parse_number<int>(text);
                if (!number || *number < smallest || *number > largest) return false;
                values.*field = *number;
                return true;
              },
          .text =
              [=](const options& values) {
                const auto found = std::ranges::find(words, values.*field, &count_word::value);
                return found != words.end() ? std::string(found->word)
                                            : formatted("{}", values.*field);
              }};
}

setting size_row(std::string_view name, std::size_t options::*field, std::size_t smallest,
                 std::size_t largest, std::string_view help) {
  return {.name = name,
          .value_name = "BYTES",
          .allowed = formatted("a size from {} to {}", size_text(smallest), size_text(largest)),
          .help = help,
          .assign =
              [=](options& values, std::string_view text) {
                static constexpr unit units[] = {{'K', 1 << 10}, {'M', 1 << 20}, {'G', 1 << 30}};
                const auto bytes = parse_with_unit(text, units);
                // The range first, so that NaN fails as well: no other number may become an integer.
                if (!bytes ||
                    !(*bytes >= static_cast<double>(smallest) &&
                      *bytes <= static_cast<double>(largest)) ||
                    *bytes != static_cast<double>(static_cast<std::uint64_t>(*bytes)))
                  return false;
                values.*field = static_cast<std::size_t>(*bytes);
                return true;
              },
          .text = [=](const options& values) { return size_text(values.*field); }};
}

setting seconds_row(std::string_view name, double options::*field, std::string_view help) {
  return {
      .name = name,
      .value_name = "SECONDS",
      .allowed = formatted("seconds above 0 (at most {:.0f}; 90, 1.5m, 2h), or none", seconds_max),
      .help = help,
      .assign =
          [=](options& values, std::string_view text) {
            static constexpr unit units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
            const auto seconds = text == "none" ? std::optional(0.0) : parse_with_unit(text, units);
            // Written so that NaN fails as well.
            if (!seconds || !(*seconds >= 0 && *seconds <= seconds_max)) return false;
            if (*seconds == 0 && text != "none") return false;
            values.*field = *seconds;
            return true;
          },
      .text =
          [=](const options& values) {
            return values.*field == 0 ? std::string("none") : formatted("{}", values.*field);
          }};
}

setting switch_row(std::string_view name, bool options::*field, std::string_view help) {
  return {.name = name,
          .value_name = "",
          .allowed = "on or off",
          .help = help,
          .assign =
              [=](options& values, std::string_view text) {
                const auto state = parse_switch(text);
                if (state) values.*field = *state;
                return state.has_value();
              },
          .text = [=](const options& values) { return std::string(values.*field ? "on" : "off"); },
          .words = {"on", "off"}};
}

setting choice_row(std::string_view name, std::string options::*field,
                   std::vector<std::string_view> choices, std::string_view help) {
  std::string allowed(choices.front());
  for (std::size_t i = 1; i < choices.size(); ++i)
    allowed.append(i + 1 == choices.size() ? " or " : ", ").append(choices[i]);
  return {.name = name,
          .value_name = "WORD",
          .allowed = std::move(allowed),
          .help = help,
          .assign =
              [=](options& values, std::string_view text) {
                if (std::ranges::find(choices, text) == choices.end()) return false;
                values.*field = text;
                return true;
              },
          .text = [=](const options& values) { return values.*field; }};
}

setting text_row(std::string_view name, std::string_view value_name, std::string options::*field,
                 std::string_view allowed, std::string_view help) {
  return {.name = name,
          .value_name = value_name,
          .allowed = std::string(allowed),
          .help = help,
          .assign =
              [=](options& values, std::string_view text) {
                if (text.empty()) return false;
                values.*field = text;
                return true;
              },
          .text = [=](const options& values) { return values.*field; }};
}

// A text whose absence is written "none".
setting optional_text_row(std::string_view name, std::string_view value_name,
                          std::string options::*field, std::string_view allowed,
                          std::string_view help) {
  setting row = text_row(name, value_name, field, allowed, help);
  row.assign = [=](options& values, std::string_view text) {
    if (text.empty()) return false;
    values.*field = text == "none" ? "" : text;
    return true;
  };
  row.text = [=](const options& values) {
    return (values.*field).empty() ? std::string("none") : values.*field;
  };
  return row;
}

setting file_row(std::string_view name, std::string options::*field, std::string_view help) {
  return optional_text_row(name, "FILE", field, "the name of a file, or none", help);
}

// Words separated by commas, none of them empty or twice.
bool are_names(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    // What begins with '-' would be an option of the command that reaches the host.
    if (word.empty() || word.front() == '-' || std::ranges::find(words, word) != words.end())
      return false;
    words.push_back(word);
    begin = end + 1;
  }
  return true;
}

setting names_row(std::string_view name, std::string_view value_name, std::string options::*field,
                  std::string_view allowed, std::string_view help) {
  setting row = optional_text_row(name, value_name, field, allowed, help);
  row.assign = [assign = row.assign](options& values, std::string_view text) {
    return are_names(text) && assign(values, text);
  };
  return row;
}

// Not of weft::options: it says what a process is made of, before there is a job in it. Jobs that
// check their options at the same time write what is there already.
std::mutex process_lock;

setting process_row(std::string_view name, std::string_view value_name, std::string& value,
                    bool (*is_allowed)(std::string_view), std::string_view allowed,
                    std::string_view help) {
  setting row = optional_text_row(name, value_name, nullptr, allowed, help);
  row.assign = [&value, is_allowed](options&, std::string_view text) {
    if (!is_allowed(text)) return false;
    const std::lock_guard hold(process_lock);
    value = text == "none" ? "" : text;
    return true;
  };
  row.text = [&value](const options&) {
    const std::lock_guard hold(process_lock);
    return value.empty() ? std::string("none") : value;
  };
  return row;
}

setting libraries_row(std::string_view name, std::string& list, std::string_view help) {
  return process_row(name, "A,B", list, &are_names,
                     "beginnings of names of libraries, or directories that end with a slash, "
                     "separated by commas, or none",
                     help);
}

std::string plugins;

setting plugins_row() {
  return process_row(
      "plugins", "DIRECTORY", plugins, [](std::string_view text) { return !text.empty(); },
      "the name of a directory, or none", "where the plug-ins of MPIs lie, if not where weft does");
}

// A kind of transport, and after a colon which one of that kind, where there are several.
setting transport_row() {
  setting row = text_row("transport", "NAME", &options::transport,
                         "auto, shm, ofi, ofi:PROVIDER, ofi:PROVIDER@INTERFACE, mpi, mpi:mpich "
                         "or mpi:openmpi",
                         "what carries messages between processes; auto: shm on one host, ofi "
                         "between hosts");
  row.assign = [assign = row.assign](options& values, std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    const bool has_which = colon != std::string_view::npos;
    if (has_which && colon + 1 == text.size()) return false;
    const bool known =
        kind == "ofi" || kind == "mpi" || (!has_which && (kind == "auto" || kind == "shm"));
    return known && assign(values, text);
  };
  return row;
}

// Without a value: all that there is.
setting secure_row() {
  setting row = choice_row(
      "secure", &options::secure, {"auto", "off", "authenticate", "encrypt"},
      "whether messages over a network are proof against its other users; alone: encrypt; auto: "
      "authenticate where a network does not keep them out");
  row.words = {"encrypt", "authenticate", "off", "auto"};
  return row;
}

// Without a value: on.
setting moving_row() {
  setting row = choice_row(
      "moving", &options::moving, {"off", "on", "always"},
      "where there are more ranks than cores: have more workers than threads, and let a thread that is idle take workers "
      "of a busy one; always: workers change their threads at every wait, to test a program");
  row.words = {"on", "always", "off"};
  return row;
}

// A parcelport, which a "_i" makes one that sends every parcel at once; and after a colon what that kind takes.
bool is_name_of_parcelport(std::string_view name) {
  std::string_view kind = name.substr(0, name.find(':'));
  if (kind.size() != name.size() && kind.size() + 1 == name.size()) return false;
  if (kind.ends_with("_i")) kind.remove_suffix(2);
  if (kind == "lci" || kind == "tcp" || kind == "mpi" || kind == "mpi_orig") return true;
  for (const std::string_view protocol : {"sr", "psr"})
    for (const std::string_view completion : {"cq", "sy"})
      for (const std::string_view progress : {"pin", "mt", "core"})
        if (kind == formatted("lci_{}_{}_{}", protocol, completion, progress)) return true;
  return false;
}

constexpr std::string_view default_parcelport = "lci_i";
std::string parcelport;

setting parcelport_row() {
  setting row = process_row(
      "parcelport", "NAME", parcelport, &is_name_of_parcelport,
      "lci, lci_P_C_M (P: sr or psr, C: cq or sy, M: pin, mt or core), tcp, mpi or mpi_orig, each with _i behind it or "
      "not; then :DEVICES of lci_P_C_M, or :mpich or :openmpi",
      "what carries parcels between processes; _i: without aggregation, each at once");
  // What jobs that check their options write back: not what would take the place of the environment's.
  row.text = [](const options&) { return parcelport_setting(); };
  return row;
}

std::string reorder;

setting reorder_row() {
  setting row = process_row(
      "reorder", "WORD", reorder,
      [](std::string_view text) { return parse_switch(text).has_value(); }, "on or off",
      "whether topologies of MPI that are made with reorder give ranks other places");
  row.text = [](const options&) { return std::string(reorder_setting() ? "on" : "off"); };
  return row;
}

setting seed_row(std::string_view name, std::optional<std::uint64_t> options::*field,
                 std::string_view help) {
  return {.name = name,
          .value_name = "SEED",
          .allowed = "a whole number from 0 to 2^64 - 1, or none",
          .help = help,
          .assign =
              [=](options& values, std::string_view text) {
                if (text == "none") {
                  values.*field = std::nullopt;
                  return true;
                }
                const auto seed = parse_number<std::uint64_t>(text);
                if (seed) values.*field = *seed;
                return seed.has_value();
              },
          .text =
              [=](const options& values) {
                return values.*field ? formatted("{}", *(values.*field)) : std::string("none");
              }};
}

std::vector<setting> make_settings() {
  std::vector<setting> rows;
  rows.push_back(count_row("ranks", &options::ranks, 1, ranks_max, {automatic},
                           "ranks of the job; auto: one per worker"));
  rows.push_back(
      count_row("workers", &options::workers, 1, workers_max, {automatic},
                "kernel threads that run ranks; auto: one per hardware thread, at most one per "
                "rank"));
  rows.push_back(count_row("helpers", &options::helpers, 0, workers_max, {},
                           "further threads without ranks, which only take chunks of loops"));
  rows.push_back(text_row("map", "MAP", &options::map,
                          "block, cyclic or a file in MPICH_RANK_ORDER format",
                          "which rank belongs to which worker: block (neighbours together), "
                          "cyclic, or a file of ranks in order"));
  rows.push_back(size_row("stack", &options::stack_bytes, stack_bytes_min, stack_bytes_max,
                          "stack of each rank; memory is taken only as it is used"));
  rows.push_back(seconds_row("timeout", &options::timeout_s,
                             "end the job with a report of all ranks after this time"));
  rows.push_back(seed_row("schedule", &options::schedule,
                          "run on one worker in the order that this seed gives, the same each "
                          "time"));
  rows.push_back(file_row(
      "trace", &options::trace_file,
      "write a timeline to open in ui.perfetto.dev; FILE.events is for weft-breakdown, and "
      "by weftrun DIRECTORY.otf2 an archive of the Open Trace Format"));
  rows.push_back(switch_row("breakdown", &options::breakdown,
                            "tell where the time went and who waited for whom; by weftrun"));
  rows.push_back(
      text_row("breakdown-file", "FILE", &options::breakdown_file, "the name of a file",
               "the page that --breakdown writes; its data stand beside it (.json, .record)"));
  rows.push_back(switch_row(
      "call-paths", &options::call_paths,
      "places of --breakdown and of FILE.events are paths: who called whom, up to main; slower"));
  rows.push_back(switch_row("stats", &options::stats, "print statistics per rank at the end"));
  rows.push_back(
      switch_row("check", &options::check,
                 "look for locks held across a wait and for other misuse, and say where"));
  rows.push_back(size_row("eager-max", &options::eager_max_bytes, 0, eager_bytes_max,
                          "longest message that is sent without waiting for its receiver"));
  rows.push_back(choice_row("steal", &options::steal, {"random", "near", "sticky"},
                            "whose loop a waiting rank tries first"));
  rows.push_back(choice_row("chunks", &options::chunks, {"guided", "single"},
                            "chunks taken at once: a share of what is left, or one"));
  rows.push_back(seconds_row("busy-warning", &options::busy_warning_s,
                             "name a rank that kept its worker this long while others were "
                             "ready, and a job whose threads stood still this long"));
  rows.push_back(choice_row("report-signal", &options::report_signal,
                            {"USR1", "USR2", "HUP", "QUIT", "none"},
                            "signal that prints what each rank does"));
  rows.push_back(switch_row("pin", &options::pin, "bind each worker to a core"));
  rows.push_back(moving_row());
  rows.push_back(count_row("spin-us", &options::spin_us, 0, spin_us_max, {{"auto", spin_us_auto}},
                           "how long a worker without work looks before it sleeps, in "
                           "microseconds; auto: as long as it has paid lately"));
  rows.push_back(
      switch_row("tag-output", &options::tag_output, "begin each line of output with its rank"));
  rows.push_back(
      libraries_row("private-libraries", library_lists().own,
                    "shared libraries of which each rank gets its own copy, with what they "
                    "remember"));
  rows.push_back(libraries_row("shared-libraries", library_lists().shared,
                               "shared libraries that ranks of one process have in common"));
  rows.push_back(count_row("processes", &options::processes, 1, processes_max,
                           {automatic, {"numa", process_per_numa_node}},
                           "processes of the job, which share its ranks in blocks; auto: one per "
                           "host; numa: one per NUMA node of each host"));
  rows.push_back(
      count_row("ranks-per-process", &options::ranks_per_process, 1, ranks_max, {automatic},
                "ranks of a process at most; decides how many processes; auto: one where the "
                "program needs that, as it says in a line, else all that it holds"));
  rows.push_back(names_row("hosts", "A,B", &options::hosts,
                           "names of hosts separated by commas, or none",
                           "start the processes on these hosts instead of this one"));
  rows.push_back(text_row("rsh", "COMMAND", &options::rsh,
                          "a command that runs its second argument and what follows on the host "
                          "that the first one names",
                          "command that reaches another host"));
  rows.push_back(transport_row());
  rows.push_back(secure_row());
  rows.push_back(parcelport_row());
  rows.push_back(plugins_row());
  rows.push_back(reorder_row());
  rows.push_back(switch_row("progress", &options::progress,
                            "one more thread in each process, which moves messages on while ranks "
                            "compute"));
  rows.push_back(choice_row("on-failure", &options::on_failure, {"stop", "error"},
                            "when a process dies: stop the job, or go on and report errors to "
                            "those that communicate with it"));
  return rows;
}

}  // namespace

bool setting::takes_from_next(std::string_view word) const noexcept {
  return std::ranges::find(words, word) != words.end();
}

std::string setting::environment_name() const {
  std::string result(setting_variable_prefix);
  std::ranges::transform(name, std::back_inserter(result), [](char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return result;
}

library_list_settings& library_lists() {
  static library_list_settings lists;
  return lists;
}

std::string plugin_directory() {
  {
    const std::lock_guard hold(process_lock);
    if (!plugins.empty()) return plugins;
  }
  const char* const named = ::secure_getenv("WEFT_PLUGINS");
  return named == nullptr || std::string_view(named) == "none" ? "" : named;
}

std::string parcelport_setting() {
  {
    const std::lock_guard hold(process_lock);
    if (!parcelport.empty()) return parcelport;
  }
  const char* const named = ::secure_getenv("WEFT_PARCELPORT");
  return std::string(named == nullptr ? default_parcelport : named);
}

bool reorder_setting() {
  {
    const std::lock_guard hold(process_lock);
    if (!reorder.empty()) return parse_switch(reorder).value_or(true);
  }
  const char* const named = ::secure_getenv("WEFT_REORDER");
  return named == nullptr || parse_switch(named).value_or(true);
}

std::span<const setting> settings() {
  static const std::vector<setting> rows = make_settings();
  return rows;
}

int report_signal_number(const options& values) noexcept {
  const std::string_view name = values.report_signal;
  if (name == "USR1") return SIGUSR1;
  if (name == "USR2") return SIGUSR2;
  if (name == "HUP") return SIGHUP;
  if (name == "QUIT") return SIGQUIT;
  return 0;
}

}  // namespace weft
