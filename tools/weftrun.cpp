// weftrun: starts a program with settings from the command line. Its options are the rows of the
// table of settings; each is handed on as the row's environment variable. A job of one process
// takes this process's place, so its exit status is what the caller sees; several are supervised,
// see tools/weftrun/.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "base/standard_descriptors.hpp"
#include "base/topology.hpp"
#include "process/environment/own_environment.hpp"
#include "process/loader/copied_file.hpp"
#include "transport/mpi/mpi.hpp"
#include "weft/error.hpp"
#include "weftrun/breakdown.hpp"
#include "weftrun/handover.hpp"
#include "weftrun/host.hpp"
#include "weftrun/job_request.hpp"
#include "weftrun/job_shape.hpp"
#include "weftrun/mpirun_words.hpp"
#include "weftrun/program.hpp"
#include "weftrun/supervisor.hpp"

namespace {

// One program and the settings before it.
struct parsed_program {
  std::vector<std::string> assignments;  // Name and value alternate.
  std::vector<std::string> command;
};

// Breaks a help text so that it fits beside the column of options.
std::string wrapped(const std::string& text) {
  constexpr std::size_t width = 64;
  std::string result;
  std::size_t line_begin = 0;
  while (text.size() - line_begin > width) {
    const std::size_t space = text.rfind(' ', line_begin + width);
    if (space == text.npos || space <= line_begin) break;
    result.append(text, line_begin, space - line_begin).push_back('\n');
    line_begin = space + 1;
  }
  return result.append(text, line_begin);
}

void add_setting_options(CLI::App& app, parsed_program& request) {
  for (const weft::setting& row : weft::settings()) {
    const std::string option = "--" + std::string(row.name);
    const std::string names = row.name == "ranks" ? "-n," + option : option;
    const std::string words = row.is_choice() ? " (" + row.allowed + ")" : "";
    const std::string help =
        wrapped(weft::formatted("{}{} [{}]", row.help, words, row.text(weft::options{})));
    const auto take = [&row, option, &request](const std::string& text) {
      weft::options scratch;
      weft::assign_setting(scratch, row, option, text);
      request.assignments.push_back(row.environment_name());
      request.assignments.push_back(row.text(scratch));
    };
    CLI::Option* const added = app.add_option_function<std::string>(names, take, help);
    added->type_name(std::string(row.value_name));
    if (row.may_stand_alone()) added->expected(0);
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

constexpr const char* description =
    "Runs PROGRAM, built with weft, as a job of N ranks in one process or in several.";

constexpr const char* examples = R"(Examples:
  weftrun -n 16 ./heat               16 ranks on all cores of this machine
  weftrun -n 4 --workers 2 ./heat    4 ranks, two on each of 2 cores
  weftrun --trace t.otf2 ./heat      the same for Vampir, Cube and others: an archive of the Open Trace Format
  weftrun --trace t.json ./heat      one rank per core; open t.json in ui.perfetto.dev
  weftrun -n 8 --timeout 60 ./heat   ends a job that hangs, and says who waits for whom
  weftrun -n 8 --processes 2 ./heat  ranks 0 to 3 in one process, 4 to 7 in another
  weftrun --ranks-per-process 1 -n 4 ./heat   a process for each rank
  weftrun --hosts a,b -n 64 ./heat   half of the ranks on each of two hosts, over ssh
  weftrun -n 1 ./master : -n 6 ./worker   two programs in one job, each in processes of its own

A switch is turned off with off (--pin off, --pin=off). Every option is also an environment variable
(--map is WEFT_MAP) and a word of PROGRAM itself (--weft-map); weft-info prints what is in
force. Several processes: when one dies the others are ended, unless --on-failure error.
In an allocation of several nodes srun (Slurm) or mpirun (PBS) starts the processes.
The exit status is PROGRAM's, that of the first process that fails; 2: wrong usage, 126:
PROGRAM cannot be executed, 127: there is no PROGRAM, 124: timeout, 128 + n: signal n.)";

// CLI11's own usage line does not know of PROGRAM.
struct help_text : CLI::Formatter {
  help_text() { column_width(30); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: weftrun [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n";
  }
};

// What CLI11 did not take: the command, or an option that it does not know.
void check_command(const std::vector<std::string>& command) {
  if (command.empty())
    throw weft::error("no program to run; say for example: weftrun -n 4 ./program");
  const std::string& first = command.front();
  if (!first.starts_with("-")) return;
  const std::string name = first.substr(
      first.find_first_not_of('-') == first.npos ? first.size() : first.find_first_not_of('-'));
  const std::string bare = name.substr(0, name.find('='));
  throw weft::error(weft::formatted("unknown option {}{}; weftrun --help lists all options", first,
                                    weft::suggestion_for(bare, "--")));
}

// Checks what the environment says as well, so that its mistakes are reported here and once.
weft::options options_of_environment() {
  int argc = 0;
  char* no_words[] = {nullptr};
  const weft::resolved_options resolved = weft::resolve_options(argc, no_words);
  weft::tell_of_environment();
  weft::note_environment_told();
  return resolved.values;
}

[[noreturn]] void execute(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int reason = errno;
  std::fprintf(stderr, "weftrun: %s\n", weft::cannot_run(command.front(), reason).c_str());
  std::exit(weft::status_of_failed_start(reason));
}

// The library that watches locks, before those that PROGRAM's environment preloads already.
void preload_check_library() {
  const std::string library = weft::library_beside_this(WEFT_CHECK_LIBRARY);
  if (library.empty())
    throw weft::error(
        weft::formatted("--check needs {}, which is not there; install weft again, or "
                        "leave --check out",
                        std::filesystem::path(WEFT_CHECK_LIBRARY).filename().string()));
  const char* const before = std::getenv("LD_PRELOAD");
  const std::string all = library + (before == nullptr ? "" : std::string(":") + before);
  ::setenv("LD_PRELOAD", all.c_str(), 1);
}

// Whether somebody must stay and watch: the job has several processes, or is elsewhere, or its output goes to files.
bool needs_supervisor(const weft::job_request& request) {
  const weft::options& how = request.programs.front().how;
  if (request.programs.size() > 1 || request.files.any() || !how.hosts.empty()) return true;
  if ((how.processes == 0 || how.processes == 1) && how.ranks_per_process == 0) return false;
  return weft::shape_of(how, {weft::cores_of_this_host()}).processes() > 1;
}

// The command as it is seen from here.
std::vector<std::string> in_its_directory(const weft::job_program& program) {
  std::vector<std::string> command = program.command;
  if (!program.directory.empty() && command.front().find('/') != std::string::npos)
    command.front() = (std::filesystem::path(program.directory) / command.front()).string();
  return command;
}

void read_nothing() {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
}

// Of what is in the environment, the names of those variables that the processes of a job read.
std::vector<std::string> variables_of_processes() {
  std::vector<std::string> names;
  for (const weft::setting& row : weft::settings())
    if (std::getenv(row.environment_name().c_str()) != nullptr)
      names.push_back(row.environment_name());
  if (std::getenv(weft::lent_plugins_variable) != nullptr)
    names.push_back(weft::lent_plugins_variable);
  return names;
}

void put_into_environment(const std::vector<std::string>& assignments) {
  for (std::size_t i = 0; i < assignments.size(); i += 2)
    ::setenv(assignments[i].c_str(), assignments[i + 1].c_str(), 1);
}

// As weft::run() would choose.
int ranks_by_default(const weft::options& how) {
  return how.workers != 0 ? how.workers : static_cast<int>(weft::machine_topology().threads.size());
}

// "--pin off" as "--pin=off" and "--pin" as "--pin=on", which is how CLI11 takes the value of what may stand alone; only
// before PROGRAM, whose words are its own. Other words than on and off may be names of programs (true).
std::vector<std::string> joined_switches(std::vector<std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("-") || word == "--") break;
    const weft::setting* const row = word.starts_with("--") ? weft::find_setting(word.substr(2))
                                     : word == "-n"         ? weft::find_setting("ranks")
                                                            : nullptr;
    if (row == nullptr) continue;
    const bool has_next = i + 1 != words.size();
    if (!row->may_stand_alone()) {
      i += has_next ? 1 : 0;
    } else if (has_next && row->takes_from_next(words[i + 1])) {
      words[i] += "=" + words[i + 1];
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      words[i].append("=").append(row->words.front());
    }
  }
  return words;
}

// Throws weft::error. `words` are those of one program, without weftrun's own name.
parsed_program parse(std::vector<std::string> words) {
  parsed_program request;
  CLI::App app(description, "weftrun");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.formatter(std::make_shared<help_text>());
  app.footer(examples);
  app.prefix_command();
  add_setting_options(app, request);
  const std::string last = words.empty() ? "" : words.back();
  // mpirun's -np is in many fingers.
  if (!words.empty() && words.front() == "-np") words.front() = "-n";
  words = joined_switches(std::move(words));
  std::ranges::reverse(words);  // As CLI11 takes them.
  try {
    app.parse(words);
  } catch (const CLI::Success& shown) {
    std::exit(app.exit(shown));
  } catch (const CLI::ArgumentMismatch&) {
    throw weft::error(weft::formatted("{} needs a value; weftrun --help lists all options", last));
  } catch (const CLI::ParseError& failure) {
    throw weft::error(weft::formatted("{}; weftrun --help lists all options", failure.what()));
  }
  request.command = app.remaining();
  if (!request.command.empty() && request.command.front() == "--")
    request.command.erase(request.command.begin());
  check_command(request.command);
  return request;
}

// What may differ between the programs of a job.
bool is_of_program(const weft::setting& row) {
  return row.name == "ranks" || row.name == "processes" || row.name == "ranks-per-process" ||
         row.name == "hosts";
}

const weft::setting& setting_of_variable(const std::string& variable) {
  return *std::ranges::find(weft::settings(), variable, &weft::setting::environment_name);
}

void assign(weft::options& values, const std::vector<std::string>& assignments) {
  for (std::size_t i = 0; i < assignments.size(); i += 2)
    weft::assign_setting(values, setting_of_variable(assignments[i]), assignments[i],
                         assignments[i + 1]);
}

// The first program's settings are those of the job, but for how many ranks it has.
weft::job_request request_of(const std::vector<weft::program_words>& programs) {
  weft::job_request request;
  for (const weft::program_words& one : programs) {
    parsed_program parsed = parse(one.words);
    const bool is_first = request.programs.empty();
    const bool is_only = programs.size() == 1;
    std::vector<std::string> own;
    for (std::size_t i = 0; i < parsed.assignments.size(); i += 2) {
      const weft::setting& row = setting_of_variable(parsed.assignments[i]);
      const std::vector<std::string> both{parsed.assignments[i], parsed.assignments[i + 1]};
      const bool is_own = row.name == "ranks" || (!is_first && is_of_program(row));
      if (!is_own && !is_first)
        throw weft::error(
            weft::formatted("--{} {}: holds for the whole job; say it before the first program, {}",
                            row.name, both[1], request.programs.front().command.front()));
      if (is_only || !is_own)
        put_into_environment(both);
      else
        own.insert(own.end(), both.begin(), both.end());
    }
    if (is_first && !is_only) ::unsetenv("WEFT_RANKS");
    if (is_first) request.how = options_of_environment();
    weft::job_program made{.how = request.how,
                           .command = std::move(parsed.command),
                           .directory = one.directory,
                           .environment = one.environment};
    if (!is_only) {
      made.how.ranks = 1;
      assign(made.how, own);
      // A program of few ranks has few processes.
      made.how.processes = std::min(made.how.processes, std::max(made.how.ranks, 1));
      if (made.how.map != "block" && made.how.map != "cyclic")
        throw weft::error(weft::formatted(
            "--map {}: a file numbers the ranks of one program; give block or cyclic",
            made.how.map));
      if (made.how.hosts.empty() != request.how.hosts.empty())
        throw weft::error("hosts for one program and none for another: give --hosts to each");
    }
    request.programs.push_back(std::move(made));
  }
  return request;
}

// What stands between colons.
std::vector<weft::program_words> programs_of(const std::vector<std::string>& words) {
  std::vector<weft::program_words> programs(1);
  for (const std::string& word : words)
    if (word == ":")
      programs.emplace_back();
    else
      programs.back().words.push_back(word);
  return programs;
}

// Where the words of mpirun say that a program runs; a job of one process is there, too.
void go_to(const std::string& directory) {
  if (!directory.empty() && ::chdir(directory.c_str()) != 0)
    throw weft::error(weft::formatted("cannot go to {}: {}", directory, std::strerror(errno)));
}

std::string content_of(const std::string& name) {
  std::ifstream file(name);
  if (!file)
    throw weft::error(weft::formatted("{} cannot be read: {}", name, std::strerror(errno)));
  return {std::istreambuf_iterator<char>(file), {}};
}

// PATH says where programs are.
void drop_variables() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    if (name != "PATH" && !name.starts_with("WEFT_")) names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

void use_cpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const auto count = static_cast<std::size_t>(*std::ranges::max_element(cpus)) + 1;
  cpu_set_t* const set = CPU_ALLOC(count);
  const std::size_t size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(size, set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  const int failed = ::sched_setaffinity(0, size, set);
  CPU_FREE(set);
  if (failed != 0)
    throw weft::error(weft::formatted("--cpu-set: none of these CPUs may be used here: {}",
                                      std::strerror(errno)));
}

// Nobody has said how ranks are shared out to processes.
bool is_free(const weft::job_program& one) {
  return one.how.processes == 0 && one.how.ranks_per_process == 0;
}

weft::job_request request_of_mpirun(const std::string& name,
                                    const std::vector<std::string>& words) {
  using question = weft::mpirun_request::question;
  weft::mpirun_request asked = weft::understand_mpirun(words, &weft::is_this_host, &content_of);
  if (asked.asks == question::help) std::fputs(weft::mpirun_help(name).c_str(), stdout);
  if (asked.asks == question::version || asked.asks == question::build)
    std::puts("weft " WEFT_VERSION);
  if (asked.asks == question::build) {
    const auto info = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weft-info";
    std::fflush(stdout);
    if (std::filesystem::exists(info)) execute({info.string()});
  }
  if (asked.asks != question::none) std::exit(0);
  if (asked.is_bare) drop_variables();
  for (const auto& [variable, value] : asked.environment)
    ::setenv(variable.c_str(), value.c_str(), 1);
  // Before anybody looks at what this machine has.
  use_cpus(asked.cpus);
  if (asked.programs.size() == 1) {
    go_to(std::exchange(asked.programs[0].directory, {}));
    for (const std::string& text : std::exchange(asked.programs[0].environment, {}))
      ::setenv(text.substr(0, text.find('=')).c_str(), text.substr(text.find('=') + 1).c_str(), 1);
  }
  weft::job_request request = request_of(asked.programs);
  if (!asked.cpus.empty() && !request.how.hosts.empty())
    throw weft::error("--cpu-set: CPUs are chosen on this host only; leave it out, or the hosts");
  request.files = asked.files;
  request.reads_input = asked.reads_input;
  // Of others than weft's a process is started for each rank, as any mpirun does.
  for (weft::job_program& one : request.programs)
    if (is_free(one) && !weft::knows_ranks(in_its_directory(one))) one.how.ranks_per_process = 1;
  return request;
}

// More ranks than one process can hold copies for, or threads. A seeded schedule has one process: there the loader names the limit.
void divide_many_ranks(weft::job_program& one) {
  constexpr int looked_at_min =
      500;  // Fewer copies fit in any case, and their start is not to wait.
  if (one.how.ranks <= weft::ranks_with_threads_max || one.how.schedule) return;
  const std::vector<std::string> command = in_its_directory(one);
  const auto limit = static_cast<int>(weft::process::limit_of_mappings());
  int at_most = 0;
  std::string why;
  if (weft::ranks_have_threads(command)) {
    at_most = weft::ranks_with_threads_max;
    why = "each rank has a thread, for its thread-local variables";
  } else if (one.how.ranks >= looked_at_min) {
    at_most = weft::ranks_of_one_process(command, limit);
    why = weft::formatted("vm.max_map_count is {}", limit);
  } else {
    return;
  }
  const int hosts = std::max(static_cast<int>(weft::host_names(one.how).size()), 1);
  const int each = weft::ranks_of_each_process(one.how.ranks, hosts, at_most);
  if (each == 0) return;
  one.how.ranks_per_process = each;
  std::fprintf(stderr,
               "weftrun: %d ranks of %s get processes of %d each: one holds at most %d, since %s; "
               "--processes or --ranks-per-process chooses\n",
               one.how.ranks, one.command.front().c_str(), each, at_most, why.c_str());
}

// Programs of which no process can hold several copies.
void give_processes_to_ranks(weft::job_request& request) {
  for (weft::job_program& one : request.programs) {
    if (weft::opens_modules(in_its_directory(one))) {
      if (is_free(one)) one.how.ranks_per_process = 1;
      one.opens_modules = one.how.ranks_per_process == 1;
      continue;
    }
    one.starts_program = !weft::knows_ranks(in_its_directory(one));
    if (is_free(one) && weft::is_of_shell(in_its_directory(one))) one.how.ranks_per_process = 1;
    if (!is_free(one) || one.how.ranks == 1) continue;
    weft::options how = request.how;
    how.ranks = one.how.ranks;
    const std::string why = weft::why_one_rank(in_its_directory(one), how);
    if (why.empty()) {
      divide_many_ranks(one);
      continue;
    }
    one.how.ranks_per_process = 1;
    std::fprintf(stderr, "weftrun: %s %s\n", one.command.front().c_str(), why.c_str());
  }
}

// What the program's own assignment or, without one, the environment has comes first.
void put_behind(weft::job_program& program, const std::string& variable, const std::string& path) {
  const char* const from_environment = std::getenv(variable.c_str());
  std::string before = from_environment != nullptr ? from_environment : "";
  for (const std::string& one : program.environment)
    if (one.starts_with(variable + "=")) before = one.substr(variable.size() + 1);
  program.environment.push_back(
      weft::formatted("{}={}{}{}", variable, before, before.empty() ? "" : ":", path));
}

// The library of the interface that it asks for is loaded before the program looks for one: it may know the folder of another MPI.
// Behind what the user preloads, a tool that stands before MPI's functions, say. A module finds it by its name.
void lend_mpi_library(weft::job_program& program) {
  if (const std::string libraries = weft::library_beside_this(WEFT_LIBRARIES);
      program.opens_modules && !libraries.empty())
    return put_behind(program, "LD_LIBRARY_PATH", libraries + ":" + libraries + "/modules");
  if (const std::string library = weft::mpi_library_for(in_its_directory(program));
      !library.empty())
    put_behind(program, "LD_PRELOAD", library);
}

// The command that another launcher starts: only the program is to have these variables.
std::vector<std::string> command_for_others(weft::job_program program) {
  lend_mpi_library(program);
  std::vector<std::string> command = std::move(program.environment);
  if (!command.empty()) command.insert(command.begin(), "env");
  command.insert(command.end(), program.command.begin(), program.command.end());
  return command;
}

int start(weft::job_request& request, bool is_mpirun) {
  const weft::options& how = request.how;
  const weft::job_program& first = request.programs.front();
  const bool is_only = request.programs.size() == 1;
  if (weft::has_afterwards(how)) weft::stay_for_afterwards(how);
  if (how.transport.starts_with("mpi")) weft::lend_mpi_plugins();
  const std::vector<std::string> command = is_only ? command_for_others(first) : first.command;
  if (const auto other = is_only ? weft::hand_over_to_mpi(first.how, command, &std::getenv,
                                                          variables_of_processes())
                                 : std::nullopt) {
    weft::lend_mpi_plugins();
    put_into_environment(other->assignments);
    execute(other->command);
  }
  if (const auto other =
          is_only ? weft::hand_over(first.how, command, &std::getenv, variables_of_processes())
                  : std::nullopt) {
    put_into_environment(other->assignments);
    execute(other->command);
  }
  if (how.check) preload_check_library();
  for (weft::job_program& one : request.programs) lend_mpi_library(one);
  for (const weft::job_program& one : request.programs) {
    if (const std::string remark = weft::not_built_with_weft(in_its_directory(one));
        !remark.empty() && (one.how.ranks != 1 || !is_only) && !is_mpirun)
      std::fprintf(stderr, "weftrun: %s\n", remark.c_str());
  }
  // Ranks that start others on other hosts reach them as this job does.
  if (how.rsh != weft::options{}.rsh)
    ::setenv("WEFT_SPAWN_RSH", how.rsh.c_str(), 1);
  else
    ::unsetenv("WEFT_SPAWN_RSH");  // A weftrun around this one may have set it.
  if (!needs_supervisor(request)) {
    // A program with a main() of ranks is one rank when nobody says how many.
    if (how.ranks == 0) ::setenv("WEFT_RANKS", std::to_string(ranks_by_default(how)).c_str(), 1);
    if (first.starts_program && how.ranks == 1 && !how.transport.starts_with("mpi"))
      for (const std::string& one : weft::process::variables_of_rank({0, 1, 0, 1}))
        ::setenv(one.substr(0, one.find('=')).c_str(), one.substr(one.find('=') + 1).c_str(), 1);
    for (const std::string& one : first.environment)
      ::setenv(one.substr(0, one.find('=')).c_str(), one.substr(one.find('=') + 1).c_str(), 1);
    if (!request.reads_input) read_nothing();
    execute(first.command);
  }
  ::signal(SIGPIPE, SIG_IGN);  // A reader of the output that has gone is an error to look at.
  return weft::supervise(request);
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = "weftrun";
  try {
    weft::take_standard_descriptors();
    if (argc == 2 && std::strcmp(argv[1], "--agent") == 0) {
      ::signal(SIGPIPE, SIG_IGN);
      return weft::run_agent();
    }
    std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
    // By the script of that name, which says what it was called.
    const bool is_mpirun = words.size() > 1 && words[0] == "--as-mpirun";
    if (is_mpirun) {
      name = words[1];
      words.erase(words.begin(), words.begin() + 2);
    }
    weft::job_request request =
        is_mpirun ? request_of_mpirun(name, words) : request_of(programs_of(words));
    give_processes_to_ranks(request);
    return start(request, is_mpirun);
  } catch (const weft::error& failure) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), failure.what());
    return weft::status_usage;
  }
}
