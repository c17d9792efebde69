// weft-breakdown measure: starts the pair (pair.hpp) by turns without and with stage points, and makes a
// table out of what it prints.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "breakdown/files.hpp"
#include "breakdown/measured.hpp"
#include "weft-breakdown/commands.hpp"
#include "weft-breakdown/pair.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using namespace breakdown;

using samples_by_name = std::map<std::string, std::vector<double>>;

samples_by_name read_samples(std::string_view text) {
  samples_by_name all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t name_end = std::min(line.find(' '), line.size());
    std::vector<double>& ns = all[std::string(line.substr(0, name_end))];
    line.remove_prefix(name_end);
    while (!line.empty()) {
      line.remove_prefix(1);
      double value = 0;
      const auto [stop, failure] = std::from_chars(line.data(), line.data() + line.size(), value);
      if (failure != std::errc{}) break;
      ns.push_back(value);
      line.remove_prefix(static_cast<std::size_t>(stop - line.data()));
    }
  }
  return all;
}

// What a program prints on its standard output, when it ends well.
std::string output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw error(formatted("measure cannot start {}: {}", words[0], std::strerror(errno)));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  const int reason = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (reason != 0) {
    ::close(ends[0]);
    throw error(formatted("measure cannot start {}: {}", words[0], std::strerror(reason)));
  }
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw error("the pair that is measured did not end well; see the line above");
  return text;
}

// Of values of several rounds the middle one; so one in which something else ran says nothing.
double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

class rounds_of_samples {
 public:
  void add(const samples_by_name& round) {
    for (const auto& [name, ns] : round) {
      if (ns.empty()) continue;
      means_[name].push_back(distribution_of(ns).mean);
      std::vector<double>& all = pooled_[name];
      all.insert(all.end(), ns.begin(), ns.end());
    }
  }
  // Without what its stamps take.
  [[nodiscard]] distribution of(const std::string& name, double subtracted) const {
    const auto found = pooled_.find(name);
    if (found == pooled_.end())
      throw error(formatted("the pair has measured no '{}': try again with more --samples", name));
    distribution d = distribution_of(found->second);
    d.mean = middle(means_.at(name)) - subtracted;
    for (double& one : d.quantiles) one -= subtracted;
    return d;
  }

 private:
  std::map<std::string, std::vector<double>> means_, pooled_;
};

struct known_part {
  const char* name;
  const char* level;
  const char* meaning;
};
constexpr known_part known_parts[] = {
    {"protocol", "high", "the call, its checks, the choice of protocol and of a place"},
    {"pack", "low", "header and data into that place"},
    {"keep", "high", "the call; the message is kept until its receive comes"},
    {"publish", "low", "until the receiver may see it"},
    {"wire", "network", "until the receiver sees it"},
    {"switch", "low", "until the fiber that receives runs, and has it"},
    {"match", "high", "which receive or handler it is for"},
    {"copy", "low", "the data to where they are wanted"},
    {"signal", "high", "the place given back, whoever waits told"},
    {"return", "high", "back to the program"},
    {"loop", "test", "the test itself"},
    {"misc", "misc",
     "what they take together beyond the parts above: stores that wait, less what overlaps"},
    {"progress", "high", "the wait for the answer to a window, for each of its messages"},
};

void add_part(measured_sum& sum, const char* name, const distribution& d) {
  for (const known_part& one : known_parts)
    if (std::string_view(one.name) == name)
      sum.parts.push_back({one.name, one.level, one.meaning, d});
}

std::string name_of_processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t at = line.find(": "); at != line.npos) return line.substr(at + 2);
  return "unknown processor";
}

std::vector<double*> values_of(distribution& d) {
  std::vector<double*> all{&d.mean};
  for (double& one : d.quantiles) all.push_back(&one);
  return all;
}

measured table_from(const rounds_of_samples& rounds, const measure_request& wanted) {
  measured m;
  m.face = wanted.face;
  m.transport = wanted.face == "comm" ? wanted.transport : "";
  m.is_on_one_core = wanted.face == "fellows";
  m.bytes = wanted.bytes;
  m.rounds = wanted.rounds;
  m.processor = name_of_processor();
  char host[64] = {};
  ::gethostname(host, sizeof host - 1);
  m.host = host;
  m.overhead = rounds.of("overhead", 0);
  const double stamps = m.overhead.mean;
  for (const pair::phase& p : pair::phases_of(wanted.face)) {
    const std::string name = p.name;
    const std::string part = name.substr(name.find(':') + 1);
    distribution d = rounds.of(name, p.hides_stamps() ? 0 : stamps / p.messages());
    measured_sum& sum = p.is_latency ? m.latency : m.injection;
    if (p.what == pair::timed::takes) {
      m.interval = d;
      continue;
    }
    if (part == "call" || part == "side" || part == "row" || part == "round") {
      // What parts take together, the way back to the program or what no part has included; and a round trip, which is twice the
      // way and what the other side does in between, which this side does as well.
      const double others = sum.modelled();
      const double by = part == "round" ? 2 : 1;
      for (double* one : values_of(d)) *one = (*one - others) / by;
      add_part(sum,
               part == "call"             ? "return"
               : part != "round"          ? "misc"
               : wanted.face == "fellows" ? "switch"
                                          : "wire",
               d);
      continue;
    }
    add_part(sum, part.c_str(), d);
  }
  // In the order of the path.
  std::vector<measured_part>& parts = m.latency.parts;
  if (const auto published = std::ranges::find(parts, "publish", &measured_part::name);
      published != parts.end())
    std::rotate(published + 1, parts.end() - 1, parts.end());
  m.latency.observed = rounds.of("latency", 0);
  m.injection.observed = rounds.of(formatted("injection:{}", pair::window_usual), 0);
  for (const int window : pair::windows)
    m.windows.push_back(
        {window, m.in_window(window), rounds.of(formatted("injection:{}", window), 0).mean});
  return m;
}

}  // namespace

void measure_message(const measure_request& wanted) {
  const bool is_comm = wanted.face == "comm";
  if (wanted.bytes < 8)
    throw error(formatted(
        "--size {}: the messages that are measured carry a time; at least 8 bytes", wanted.bytes));
  if (!is_comm && wanted.bytes > eager_bytes_max)
    throw error(formatted(
        "--size {}: between ranks messages of 8 to {} bytes are measured, which go at once",
        wanted.bytes, eager_bytes_max));
  if (!wanted.out.empty()) check_writable(wanted.out);
  const std::string here = share_directory(".");
  const std::string own = share_directory("weft-breakdown");
  const std::string staged = share_directory(WEFT_STAGES_PROGRAM);
  const auto run = [&](bool with_stages) {
    std::vector<std::string> words;
    if (is_comm)
      words = {share_directory("weftrun"), "-n", "2", "--processes", "2", "--timeout", "300"};
    words.push_back(with_stages ? staged : own);
    if (!with_stages) words.emplace_back("pair");
    words.insert(words.end(), {wanted.face, is_comm ? wanted.transport : "none",
                               formatted("{}", wanted.bytes), formatted("{}", wanted.samples)});
    return read_samples(output_of(std::move(words)));
  };
  const bool shows_progress = ::isatty(STDERR_FILENO) != 0;
  rounds_of_samples rounds;
  for (int round = 0; round < wanted.rounds; ++round) {
    if (shows_progress) std::fprintf(stderr, "\rrun %d of %d ", round + 1, wanted.rounds);
    rounds.add(run(false));
    rounds.add(run(true));
  }
  if (shows_progress) std::fputs("\r                    \r", stderr);
  const measured m = table_from(rounds, wanted);
  const std::string text = wanted.csv ? csv_of(m) : text_of(m);
  std::fputs(text.c_str(), stdout);
  if (!wanted.out.empty()) {
    write_file(wanted.out, json_of(m));
    std::fprintf(stderr, "the components: %s\n", wanted.out.c_str());
  }
}

}  // namespace weft
