#include "weftrun/children.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/topology.hpp"
#include "bootstrap/local/local.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

[[noreturn]] void fail(const char* what) {
  throw error(formatted("cannot {}: {}", what, std::strerror(errno)));
}

struct pipe_ends {
  descriptor read;
  descriptor write;
};

pipe_ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("make a pipe");
  return {descriptor(ends[0]), descriptor(ends[1])};
}

// This process's environment with `changes` on top.
std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::map<std::string, std::string> values;
  const auto assign = [&](std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return;
    values[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  };
  for (char** variable = environ; *variable != nullptr; ++variable) assign(*variable);
  for (const std::string& change : changes) assign(change);
  std::vector<std::string> result;
  for (const auto& [name, value] : values) result.push_back(name + "=" + value);
  return result;
}

// Unless `changes` or this process's environment give the variable a value.
void assign_where_missing(std::vector<std::string>& changes, const std::string& name, int value) {
  const auto gives_it = [&](const std::string& change) { return change.starts_with(name + "="); };
  if (std::getenv(name.c_str()) == nullptr && std::ranges::none_of(changes, gives_it))
    changes.push_back(formatted("{}={}", name, value));
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// All that the new process needs, made before fork(): between it and exec() no memory is allocated,
// since another thread may hold the lock of malloc.
struct new_process {
  std::vector<char*> command;
  std::vector<char*> environment;
  const char* directory;
  cpu_set_t* cpus;  // Null: any.
  std::size_t cpus_size;
  int words, input, output, errors;
  int failure;  // Where errno goes when it cannot be started.
  pid_t parent;
};

[[noreturn]] void become(const new_process& one) {
  ::setpgid(0, 0);
  // The sweeper does the same for whole groups; this is quicker, and works when that one is killed.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != one.parent) ::_exit(1);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (one.cpus != nullptr) ::sched_setaffinity(0, one.cpus_size, one.cpus);
  if ((one.input < 0 || ::dup2(one.input, STDIN_FILENO) >= 0) &&
      ::dup2(one.output, STDOUT_FILENO) >= 0 && ::dup2(one.errors, STDERR_FILENO) >= 0 &&
      ::fcntl(one.words, F_SETFD, 0) == 0 &&
      (*one.directory == '\0' || ::chdir(one.directory) == 0))
    ::execvpe(one.command[0], one.command.data(), one.environment.data());
  const int reason = errno;
  static_cast<void>(!::write(one.failure, &reason, sizeof reason));
  ::_exit(127);
}

}  // namespace

std::string start_order::encoded() const {
  field_writer fields;
  fields.number(slot)
      .number(slots)
      .number(ranks)
      .number(pin)
      .number(inherits_stdin)
      .text(directory);
  for (const auto* list : {&command, &environment}) {
    fields.number(static_cast<std::int64_t>(list->size()));
    for (const std::string& word : *list) fields.text(word);
  }
  return fields.take();
}

start_order start_order::decoded(int process, std::string_view bytes) {
  field_reader fields(bytes);
  start_order order;
  order.process = process;
  order.slot = static_cast<int>(fields.number());
  order.slots = static_cast<int>(fields.number());
  order.ranks = static_cast<int>(fields.number());
  order.pin = fields.number() != 0;
  order.inherits_stdin = fields.number() != 0;
  order.directory = fields.text();
  for (auto* list : {&order.command, &order.environment})
    for (std::int64_t left = fields.number(); left > 0; --left) list->emplace_back(fields.text());
  return order;
}

std::vector<int> cpus_of_slot(int slot, int slots) {
  const std::vector<hardware_thread>& threads = machine_topology().threads;
  const std::vector<int> nodes = machine_topology().numa_nodes();
  std::vector<int> cpus;
  if (slots > 1 && slots == static_cast<int>(nodes.size())) {  // They need not be equal.
    for (const hardware_thread& thread : threads)
      if (thread.numa_node == nodes[static_cast<std::size_t>(slot)]) cpus.push_back(thread.cpu);
    return cpus;
  }
  // Cores in pinning order, so that a slot's share lies together.
  const auto cores = static_cast<std::int64_t>(machine_topology().core_count);
  const auto first = slot * cores / slots;
  const auto last = std::max(first + 1, (slot + std::int64_t{1}) * cores / slots);
  for (std::int64_t i = first; i < last; ++i)
    for (const hardware_thread& thread : threads)
      if (thread.core == threads[static_cast<std::size_t>(i)].core) cpus.push_back(thread.cpu);
  return cpus;
}

children::children(event_loop& loop, output_forwarder& output, sweeper& sweeps, frame_handler taken)
    : loop_(loop), output_(output), sweeps_(sweeps), taken_(std::move(taken)) {}

children::~children() {
  kill_all();
  for (const auto& one : all_)
    if (one->running) ::waitpid(one->pid, nullptr, 0);
}

children::child* children::find(int process) {
  const auto found = std::ranges::find(all_, process, [](const auto& one) { return one->process; });
  return found == all_.end() ? nullptr : found->get();
}

void children::start(const start_order& order) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("make a socket");
  descriptor mine(ends[0]);
  const descriptor its(ends[1]);
  pipe_ends out = make_pipe();
  pipe_ends err = make_pipe();
  pipe_ends failure = make_pipe();
  pipe_ends in;
  if (order.process != 0)
    in.read.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  else if (!order.inherits_stdin)
    in = make_pipe();

  std::vector<std::string> changes = order.environment;
  changes.push_back(formatted("{}={}:{}", job_variable, its.get(), order.ranks));
  std::vector<int> cpus;
  if (order.pin) {
    cpus = cpus_of_slot(order.slot, order.slots);
  } else {
    // Every process may use every core, so none takes more workers than its share, nor its ranks larger
    // teams of OpenMP.
    const int share = static_cast<int>(machine_topology().threads.size()) / order.slots;
    assign_where_missing(changes, "WEFT_WORKERS", std::max(1, share));
    assign_where_missing(changes, "OMP_NUM_THREADS", std::max(1, share / std::max(1, order.ranks)));
  }
  const std::vector<std::string> environment = environment_with(changes);
  new_process one{.command = pointers_to(order.command),
                  .environment = pointers_to(environment),
                  .directory = order.directory.c_str(),
                  .cpus = nullptr,
                  .cpus_size = 0,
                  .words = its.get(),
                  .input = in.read.get(),
                  .output = out.write.get(),
                  .errors = err.write.get(),
                  .failure = failure.write.get(),
                  .parent = ::getpid()};
  if (!cpus.empty()) {
    const auto count = static_cast<std::size_t>(*std::ranges::max_element(cpus)) + 1;
    one.cpus = CPU_ALLOC(count);
    one.cpus_size = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(one.cpus_size, one.cpus);
    for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), one.cpus_size, one.cpus);
  }
  const pid_t pid = ::fork();
  if (pid == 0) become(one);
  if (one.cpus != nullptr) CPU_FREE(one.cpus);
  if (pid < 0) fail("start a process");
  ::setpgid(pid, pid);  // By both, so that the group is there for whoever comes first.
  sweeps_.started(pid);
  failure.write.reset();
  int reason = 0;
  ssize_t size;
  while ((size = ::read(failure.read.get(), &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  if (size == sizeof reason) {
    ::waitpid(pid, nullptr, 0);
    sweeps_.ended(pid);
    return taken_({.kind = frame_kind::not_started, .process = order.process, .argument = reason});
  }

  child& added = *all_.emplace_back(std::make_unique<child>());
  added.process = order.process;
  added.pid = pid;
  added.running = true;
  added.input = std::move(in.write);
  if (added.input) set_nonblocking(added.input.get());
  ++running_;
  added.words = std::make_unique<channel>(
      loop_, std::move(mine), [this, &added](frame what) { take(added, std::move(what)); },
      // Why it ended shows when the process is reaped; one that lives on has closed it.
      [](const std::string&) {});
  output_.add(order.process, 1, std::move(out.read));
  output_.add(order.process, 2, std::move(err.read));
  taken_({.kind = frame_kind::started, .process = order.process, .argument = pid});
}

void children::take(child& of, frame what) {
  if (what.kind == frame_kind::join) {
    // Its own word, so only believed as far as it is of the group.
    const auto pid = static_cast<pid_t>(std::atoi(what.payload.c_str()));
    of.joined_pid = pid > 0 && ::getpgid(pid) == of.pid ? pid : of.pid;
  }
  what.process = of.process;
  taken_(std::move(what));
}

void children::send(const frame& what) {
  child* const to = find(what.process);
  if (to == nullptr) return;
  if (what.kind != frame_kind::input) return to->words->send(what);
  if (what.payload.empty()) return to->input.reset();
  to->unwritten_input += what.payload;
  write_input(*to);
}

void children::write_input(child& of) {
  while (of.input && !of.unwritten_input.empty()) {
    const ssize_t size =
        ::write(of.input.get(), of.unwritten_input.data(), of.unwritten_input.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      loop_.watch(of.input.get(), POLLOUT, [this, &of](short) { write_input(of); });
      return;
    }
    if (size < 0) {  // It reads no more.
      loop_.forget(of.input.get());
      of.input.reset();
      of.unwritten_input.clear();
      return;
    }
    of.unwritten_input.erase(0, static_cast<std::size_t>(size));
  }
  if (of.input) loop_.forget(of.input.get());
  taken_({.kind = frame_kind::input, .process = of.process});
}

void children::kill_group(const child& of, int number) {
  if (of.running) ::kill(-of.pid, number);
}

void children::signal(int number) {
  // These may be handled by the program alone, and end a shell around it that does not expect them.
  const bool for_program = number == SIGUSR1 || number == SIGUSR2 || number == SIGWINCH;
  for (const auto& one : all_) {
    if (!one->running) continue;
    if (for_program && one->joined_pid > 0)
      ::kill(one->joined_pid, number);
    else
      kill_group(*one, number);
  }
}

void children::end() {
  if (ending_) return;
  ending_ = true;
  signal(SIGTERM);
  signal(SIGCONT);  // A stopped one could not end.
  loop_.after(end_grace_s, [this] { kill_all(); });
}

void children::kill_all() {
  for (const auto& one : all_) kill_group(*one, SIGKILL);
}

void children::reap() {
  // When several have ended, one that was killed is the cause and one that gave up the consequence.
  for (const bool killed : {true, false})
    for (const auto& one : all_)
      if (one->running) reap(*one, killed);
}

void children::reap(child& of, bool only_killed) {
  siginfo_t end{};
  // Not taken yet: as long as it is there no other group can have its number.
  if (::waitid(P_PID, static_cast<id_t>(of.pid), &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      end.si_pid == 0 || (only_killed && end.si_code == CLD_EXITED))
    return;
  of.words->drain();  // Its last words come before its end.
  kill_group(of, SIGKILL);
  int status = 0;
  ::waitpid(of.pid, &status, 0);
  of.running = false;
  if (of.input) loop_.forget(of.input.get());
  of.input.reset();
  sweeps_.ended(of.pid);
  --running_;
  taken_({.kind = frame_kind::exited, .process = of.process, .argument = status});
}

}  // namespace weft
