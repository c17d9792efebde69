#include "weftrun/mpirun_words.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/settings.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

enum class meaning {
  ranks,              // N
  ranks_per_process,  // N
  hosts,              // A,B or A:SLOTS
  host_file,          // FILE
  directory,          // DIRECTORY
  exported,           // NAME or NAME=VALUE, of the job
  job_variable,       // NAME VALUE
  own_variable,       // NAME VALUE, of this program
  bare,               // The job's processes have no other variables than those that are given.
  own_bare,           // The same of this program.
  tagged,
  timeout,        // SECONDS
  programs_file,  // FILE
  output_directory,
  output_pattern,
  error_pattern,
  input,  // RANK, all or none
  cpus,   // LIST
  rsh,    // COMMAND
  survives,
  help,
  version,
  build,
  needless,  // Weft does so by itself, or it tells what weft tells otherwise.
  needless_value,
  needless_pair,
};

struct known_word {
  std::string_view words;  // Without their hyphens, separated by blanks.
  meaning means;
};

// One hyphen or two: Open MPI takes both for many of its words.
constexpr known_word known_words[] = {
    {"n np c", meaning::ranks},
    {"ppn perhost N npernode", meaning::ranks_per_process},
    {"host hosts H", meaning::hosts},
    {"f hostfile machinefile", meaning::host_file},
    {"wdir wd", meaning::directory},
    {"x", meaning::exported},
    {"genv", meaning::job_variable},
    {"env", meaning::own_variable},
    {"genvnone", meaning::bare},
    {"envnone", meaning::own_bare},
    {"l tag-output prepend-rank", meaning::tagged},
    {"timeout", meaning::timeout},
    {"configfile app", meaning::programs_file},
    {"output-filename", meaning::output_directory},
    {"outfile-pattern", meaning::output_pattern},
    {"errfile-pattern", meaning::error_pattern},
    {"stdin s", meaning::input},
    {"cpu-set cpu-list", meaning::cpus},
    {"launcher-exec bootstrap-exec", meaning::rsh},
    {"enable-recovery disable-auto-cleanup", meaning::survives},
    {"h help", meaning::help},
    {"V version", meaning::version},
    {"info", meaning::build},
    {"oversubscribe nooversubscribe allow-run-as-root q quiet v verbose report-bindings genvall envall "
     "display-map display-allocation use-hwthread-cpus nolocal bynode byslot bycore bind-to-core bind-to-none "
     "bind-to-socket",
     meaning::needless},
    {"bind-to map-by rank-by genvlist envlist launcher bootstrap rmk iface prefix usize cpus-per-proc cpus-per-rank "
     "order-nodes",
     meaning::needless_value},
    {"mca gmca pmixmca prtemca", meaning::needless_pair},
};

std::optional<meaning> meaning_of(std::string_view name) {
  for (const known_word& row : known_words) {
    std::istringstream words{std::string(row.words)};
    for (std::string word; words >> word;)
      if (word == name) return row.means;
  }
  return std::nullopt;
}

int values_of(meaning means) {
  switch (means) {
    case meaning::bare:
    case meaning::own_bare:
    case meaning::tagged:
    case meaning::survives:
    case meaning::help:
    case meaning::version:
    case meaning::build:
    case meaning::needless:
      return 0;
    case meaning::job_variable:
    case meaning::own_variable:
    case meaning::needless_pair:
      return 2;
    default:
      return 1;
  }
}

struct place {
  std::string name;
  int slots;  // 0: not said.
};

// "a:2", "a slots=2", "a"; a name that stands there again has one more.
void add_place(std::vector<place>& places, std::string_view text) {
  const std::size_t end = text.find_first_of(": \t");
  const std::string name(text.substr(0, end));
  std::string_view rest = end == text.npos ? "" : text.substr(end);
  if (const std::size_t slots = rest.find("slots="); slots != rest.npos)
    rest.remove_prefix(slots + 6);
  else if (rest.starts_with(':'))
    rest.remove_prefix(1);
  else
    rest = "";
  int count = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), count);
  const auto there = std::ranges::find(places, name, &place::name);
  if (there == places.end())
    places.push_back({name, count});
  else
    there->slots = std::max(there->slots, 1) + std::max(count, 1);
}

std::vector<place> places_of_list(const std::string& list) {
  std::vector<place> places;
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');)
    if (!item.empty()) add_place(places, item);
  return places;
}

std::vector<place> places_of_file(const std::string& text) {
  std::vector<place> places;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin != line.npos) add_place(places, std::string_view(line).substr(begin));
  }
  return places;
}

std::vector<int> cpus_of_list(const std::string& list) {
  std::vector<int> cpus;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    int first = 0;
    auto [stop, failure] = std::from_chars(at, end, first);
    int last = first;
    if (failure == std::errc() && stop != end && *stop == '-') {
      const auto [behind, failed] = std::from_chars(stop + 1, end, last);
      stop = behind;
      failure = failed;
    }
    if (failure != std::errc() || first < 0 || last < first || last > cpu_number_max ||
        (stop != end && *stop != ',') || stop + 1 == end)
      throw error(
          formatted("--cpu-set: '{}' is not allowed; give numbers of CPUs and ranges, as in 0,2-5",
                    printable(list)));
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = stop == end ? end : stop + 1;
  }
  return cpus;
}

// What MPICH puts in the names of files. One job, one program that starts processes here.
std::string pattern_of(std::string_view text) {
  std::string pattern;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char kind = text[i] == '%' && i + 1 < text.size() ? text[i + 1] : '\0';
    if (kind == 'g' || kind == 'p')
      pattern += '0';
    else if (kind == 'h')
      throw error(
          "%h in the name of a file: weftrun writes all of them on its own host; use %r, the rank");
    else if (kind == 'r' || kind == '%')
      pattern.append(text.substr(i, 2));
    else
      pattern += text[i];
    i += std::strchr("gprh%", kind) != nullptr && kind != '\0' ? 1 : 0;
  }
  return pattern;
}

class reader {
 public:
  reader(const std::function<bool(const std::string&)>& is_here,
         const std::function<std::string(const std::string&)>& read)
      : is_here_(is_here), read_file_(read) {}

  mpirun_request read(const std::vector<std::string>& words) {
    read_programs(words);
    if (result_.asks == mpirun_request::question::none) finish();
    return std::move(result_);
  }

 private:
  // Of one program so far.
  struct program {
    program_words made;
    bool has_ranks = false;
    std::vector<place> places;
  };

  void read_programs(const std::vector<std::string>& words) {
    for (auto begin = words.begin();;) {
      const auto end = std::find(begin, words.end(), ":");
      read_program({begin, end});
      if (end == words.end() || result_.asks != mpirun_request::question::none) return;
      begin = end + 1;
    }
  }

  void read_program(const std::vector<std::string>& words) {
    program one;
    const bool had_file = has_file_;
    std::size_t at = 0;
    for (; at < words.size() && words[at].starts_with('-') && words[at] != "--";) {
      at = read_option(one, words, at);
      if (result_.asks != mpirun_request::question::none) return;
    }
    if (at < words.size() && words[at] == "--") ++at;
    take_places(one);
    if (at == words.size()) {
      if (has_file_ == had_file)
        throw error(programs_.empty()
                        ? "no program; for example: mpirun -n 4 ./prog"
                        : "no program after ':'; for example: mpirun -n 1 ./a : -n 2 ./b");
      // What stood before the file holds for its first program.
      if (programs_.empty()) throw error("the file names no program");
      program& first = programs_.front();
      first.made.words.insert(first.made.words.begin(), one.made.words.begin(),
                              one.made.words.end());
      return;
    }
    one.made.words.emplace_back("--");
    one.made.words.insert(one.made.words.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                          words.end());
    programs_.push_back(std::move(one));
  }

  // Returns where the next word is.
  std::size_t read_option(program& one, const std::vector<std::string>& words, std::size_t at) {
    const std::string& word = words[at];
    const std::string bare = word.substr(word.starts_with("--") ? 2 : 1);
    std::string name = bare.substr(0, bare.find('='));
    const std::optional<meaning> known = meaning_of(name);
    if (!known) return read_own_option(one, words, at, name);
    const auto count = static_cast<std::size_t>(values_of(*known));
    std::vector<std::string> values;
    std::size_t next = at + 1;
    if (name.size() != bare.size()) {
      if (count != 1)
        throw error(formatted("{} is not understood: {} takes no value behind '='", word, name));
      values.push_back(bare.substr(name.size() + 1));
    } else {
      if (words.size() - next < count)
        throw error(count == 1 ? formatted("{} needs a value", word)
                               : formatted("{} needs a name and a value", word));
      for (std::size_t i = 0; i < count; ++i) values.push_back(words[next++]);
    }
    apply(one, *known, word, values);
    return next;
  }

  // weftrun's, by its own rules.
  static std::size_t read_own_option(program& one, const std::vector<std::string>& words,
                                     std::size_t at, const std::string& name) {
    const std::string& word = words[at];
    const setting* const row = word.starts_with("--") ? find_setting(name) : nullptr;
    if (row == nullptr)
      throw error(formatted("unknown option {}{}; --help lists those that are known", word,
                            suggestion_for(name, "--")));
    one.made.words.push_back(word);
    if (word.find('=') != word.npos) return at + 1;
    const bool has_next = at + 1 < words.size();
    if (!row->may_stand_alone() && !has_next) throw error(formatted("{} needs a value", word));
    if (row->may_stand_alone() && (!has_next || !row->takes_from_next(words[at + 1])))
      return at + 1;
    one.made.words.push_back(words[at + 1]);
    return at + 2;
  }

  void apply(program& one, meaning means, const std::string& word,
             const std::vector<std::string>& values) {
    const auto pass = [&](const char* option) {
      one.made.words.insert(one.made.words.end(), {option, values[0]});
    };
    switch (means) {
      case meaning::ranks:
        one.has_ranks = true;
        return pass("--ranks");
      case meaning::ranks_per_process:
        return pass("--ranks-per-process");
      case meaning::hosts:
        for (place& more : places_of_list(values[0])) one.places.push_back(std::move(more));
        if (one.places.empty())
          throw error(formatted("{} names no host; give names, as in a,b", word));
        return;
      case meaning::host_file:
        one.places = places_of_file(read_file_(values[0]));
        if (one.places.empty())
          throw error(formatted("{} {}: the file names no host; write one in each line", word,
                                printable(values[0])));
        return;
      case meaning::directory:
        one.made.directory = values[0];
        return;
      case meaning::exported:
        // One that is there already goes to every host.
        if (const std::size_t equals = values[0].find('='); equals != values[0].npos)
          result_.environment.emplace_back(values[0].substr(0, equals),
                                           values[0].substr(equals + 1));
        return;
      case meaning::job_variable:
        result_.environment.emplace_back(values[0], values[1]);
        return;
      case meaning::own_variable:
        one.made.environment.push_back(values[0] + "=" + values[1]);
        return;
      case meaning::bare:
        result_.is_bare = true;
        return;
      case meaning::own_bare:
        one_is_bare_ = word;
        return;
      case meaning::tagged:
        one.made.words.emplace_back("--tag-output");
        return;
      case meaning::timeout:
        return pass("--timeout");
      case meaning::programs_file:
        return read_file_of_programs(word, values[0]);
      case meaning::output_directory:
        return name_files_in_directory(values[0]);
      case meaning::output_pattern:
        result_.files.output = pattern_of(values[0]);
        return;
      case meaning::error_pattern:
        result_.files.errors = pattern_of(values[0]);
        return;
      case meaning::input:
        if (values[0] != "0" && values[0] != "none")
          throw error(formatted(
              "{} {}: rank 0 alone reads standard input; give 0 or none, and let others open a file",
              word, printable(values[0])));
        result_.reads_input = values[0] == "0";
        return;
      case meaning::cpus:
        result_.cpus = cpus_of_list(values[0]);
        return;
      case meaning::rsh:
        return pass("--rsh");
      case meaning::survives:
        one.made.words.insert(one.made.words.end(), {"--on-failure", "error"});
        return;
      case meaning::help:
        result_.asks = mpirun_request::question::help;
        return;
      case meaning::version:
        result_.asks = mpirun_request::question::version;
        return;
      case meaning::build:
        result_.asks = mpirun_request::question::build;
        return;
      case meaning::needless:
      case meaning::needless_value:
      case meaning::needless_pair:
        return;
    }
  }

  // A program in each line.
  void read_file_of_programs(const std::string& word, const std::string& name) {
    if (has_file_) throw error(formatted("{} {}: one file of programs is enough", word, name));
    has_file_ = true;
    std::istringstream lines(read_file_(name));
    std::string whole;
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (line.ends_with('\\')) {
        whole += line.substr(0, line.size() - 1);
        continue;
      }
      std::vector<std::string> words = split_words(whole + line);
      whole.clear();
      if (!words.empty() && words.back() == ":") words.pop_back();
      if (!words.empty()) read_programs(words);
    }
  }

  // As Open MPI lays them out, and prints them besides; ":nocopy" keeps them off the terminal.
  void name_files_in_directory(std::string name) {
    result_.files.are_copies = true;
    if (const std::size_t colon = name.rfind(':'); colon != name.npos) {
      if (name.substr(colon) != ":nocopy")
        throw error(formatted("--output-filename: '{}' is not known behind the name; nocopy is",
                              name.substr(colon + 1)));
      result_.files.are_copies = false;
      name.resize(colon);
    }
    std::string escaped;
    for (const char c : name) escaped += c == '%' ? std::string("%%") : std::string(1, c);
    result_.files.output = escaped + "/1/rank.%r/stdout";
    result_.files.errors = escaped + "/1/rank.%r/stderr";
  }

  // On this host nobody is asked to start anything.
  void take_places(program& one) const {
    if (one.places.empty()) return;
    std::int64_t slots = 0;
    bool are_counted = false;
    std::string names;
    for (const place& at : one.places) {
      slots += std::max(at.slots, 1);
      are_counted = are_counted || at.slots > 0;
      names += (names.empty() ? "" : ",") + at.name;
    }
    if (!std::ranges::all_of(one.places, [&](const place& at) { return is_here_(at.name); }))
      one.made.words.insert(one.made.words.end(), {"--hosts", names});
    if (are_counted && !one.has_ranks)
      one.made.words.insert(one.made.words.end(), {"--ranks", formatted("{}", slots)});
  }

  void finish() {
    if (!one_is_bare_.empty() && programs_.size() > 1)
      throw error(formatted("{}: programs of one job have the same variables; say -genvnone",
                            one_is_bare_));
    if (!one_is_bare_.empty()) result_.is_bare = true;
    for (program& one : programs_) result_.programs.push_back(std::move(one.made));
  }

  const std::function<bool(const std::string&)>& is_here_;
  const std::function<std::string(const std::string&)>& read_file_;
  mpirun_request result_;
  std::vector<program> programs_;
  bool has_file_ = false;
  std::string one_is_bare_;  // The word that said so of one program.
};

bool is_address_of_this_host(const std::string& name) {
  unsigned char wanted[sizeof(in6_addr)];
  const int family = name.find(':') == name.npos ? AF_INET : AF_INET6;
  if (::inet_pton(family, name.c_str(), wanted) != 1) return false;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return false;
  bool found = false;
  for (const ifaddrs* one = all; one != nullptr && !found; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
    if (family == AF_INET)
      found = std::memcmp(&reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, wanted,
                          sizeof(in_addr)) == 0;
    else
      found = std::memcmp(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, wanted,
                          sizeof(in6_addr)) == 0;
  }
  ::freeifaddrs(all);
  return found;
}

}  // namespace

mpirun_request understand_mpirun(const std::vector<std::string>& words,
                                 const std::function<bool(const std::string&)>& is_here,
                                 const std::function<std::string(const std::string&)>& read) {
  return reader(is_here, read).read(words);
}

bool is_this_host(const std::string& name) {
  char own[256] = "";
  ::gethostname(own, sizeof own - 1);
  const std::string_view whole = own;
  const std::string first(whole.substr(0, whole.find('.')));
  const auto is = [&](const std::string& other) {
    return ::strcasecmp(name.c_str(), other.c_str()) == 0;
  };
  return is("localhost") || is("localhost.localdomain") || is(std::string(whole)) || is(first) ||
         is_address_of_this_host(name);
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool is_begun = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (quote != '\'' && c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      is_begun = true;
    } else if (quote != '\0') {
      word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      is_begun = true;
    } else if (c == '#' && !is_begun) {
      break;
    } else if (c == ' ' || c == '\t') {
      if (is_begun) words.push_back(std::exchange(word, {}));
      is_begun = false;
    } else {
      word += c;
      is_begun = true;
    }
  }
  if (quote != '\0') throw error(formatted("a quote is not closed: {}", printable(line)));
  if (is_begun) words.push_back(word);
  return words;
}

std::string mpirun_help(const std::string& name) {
  return formatted(
      R"(Usage: {0} [-n N] [OPTIONS] PROGRAM [ARGUMENTS] [: [-n N] [OPTIONS] PROGRAM [ARGUMENTS]]...

Starts N ranks of a program that was linked with mpicc (weftcc), by weftrun, whose own options
(weftrun --help) are understood too. Of any other program it starts N processes. Several programs,
separated by colons, are one job: each has processes of its own, and ranks are numbered across them.

  -n, -np, -c N                      ranks of the program
  -ppn, -N, --npernode N             ranks of a process at most
  --processes N                      processes of each program
  -host, -hosts, -H A,B:SLOTS        hosts; without -n as many ranks as there are slots
  -f, -hostfile, -machinefile FILE   hosts, one in a line
  -configfile, --app FILE            programs with their options, one in a line
  -x NAME=VALUE, -genv NAME VALUE    variables of the environment of all programs
  -env NAME VALUE                    the same of this program
  -genvnone, -envnone                no other variables but PATH and weft's own
  -wdir, --wd DIRECTORY              where the program runs
  -l, --tag-output                   lines begin with their rank
  --output-filename DIRECTORY        what rank R prints is in DIRECTORY/1/rank.R/stdout and stderr, too;
                                     with :nocopy behind it, only there
  -outfile-pattern, -errfile-pattern NAME   what ranks print goes to files; %r is the rank
  -stdin, -s 0|none                  who reads standard input
  --cpu-set LIST                     CPUs that the job may use, as in 0,2-5
  --timeout SECONDS                  end the job after this time
  -info, -V, --help                  how weft is built, its version, this text

Words about binding, mapping and oversubscription are understood and not needed.
)",
      name);
}

}  // namespace weft
