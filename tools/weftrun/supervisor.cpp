#include "weftrun/supervisor.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/rank_map.hpp"
#include "base/settings.hpp"
#include "bootstrap/single/single.hpp"
#include "process/environment/own_environment.hpp"
#include "weft/error.hpp"
#include "weftrun/event_loop.hpp"
#include "weftrun/host.hpp"
#include "weftrun/input.hpp"
#include "weftrun/job_server.hpp"
#include "weftrun/job_shape.hpp"
#include "weftrun/output.hpp"
#include "weftrun/program.hpp"
#include "weftrun/rank_files.hpp"
#include "weftrun/signals.hpp"
#include "weftrun/sweeper.hpp"

namespace weft {

namespace {

constexpr int status_timeout = 124;
constexpr int status_of_signal = 128;  // And its number.

void say(const std::string& text) {
  static_cast<void>(write_all(STDERR_FILENO, "weftrun: " + text + "\n"));
}

// Variables that belong to the host of weftrun and not to the job.
bool stays_here(std::string_view assignment) {
  static constexpr std::string_view names[] = {
      "HOSTNAME=",    "SSH_", "DISPLAY=", "XDG_",   "TMPDIR=", "WINDOWID",
      "DBUS_SESSION", "PWD=", "OLDPWD=",  "SHLVL=", "_="};
  return std::ranges::any_of(names, [&](auto name) { return assignment.starts_with(name); });
}

class supervisor {
 public:
  explicit supervisor(const job_request& what)
      : how_(what.how),
        programs_(what.programs),
        reads_input_(what.reads_input),
        id_(make_job_id()),
        sweeps_(id_),
        has_files_(what.files.any()),
        files_(what.files),
        output_([this](int number, int stream,
                       std::string_view lines) { return write(number, stream, lines); },
                has_files_ ? begun_lines::wait : begun_lines::pass),
        input_(loop_) {
    loop_.watch(signals_.number(), POLLIN, [this](short) {
      while (const int number = signals_.next()) on_signal(number);
    });
    // What a nested weftrun would take for its own job.
    for (const char* variable : {"WEFT_HOSTS", "WEFT_RSH"}) ::unsetenv(variable);
    name_hosts();
    cores_.resize(names_.size());
    hosts_.resize(names_.size());
    waited_for_ = names_.size();
    for (std::size_t i = 0; i < names_.size(); ++i) hosts_[i] = make_host(i);
    if (how_.timeout_s > 0) loop_.after(how_.timeout_s + timeout_grace_s, [this] { on_timeout(); });
  }

  int run() {
    loop_.run();
    // Relaxed: the loop has ended when the output has.
    if (const int why = lost_output_.load(std::memory_order_relaxed); why != 0) {
      say(formatted(
          "standard output could not be written: {}: some of what the ranks printed is lost; is the "
          "disk full?",
          std::strerror(why)));
      // Those that went on to print have died of the broken pipe.
      if (status_ == 0 || status_ == status_of_signal + SIGPIPE) status_ = 1;
    }
    if (status_ == 0 && lost_files_.load(std::memory_order_relaxed)) status_ = 1;
    return status_;
  }

 private:
  enum class life { unborn, running, ended };
  struct process {
    std::size_t host = 0;
    life state = life::unborn;
    std::size_t program = 0;
    rank_block ranks = {};
  };

  // Those of all programs, each once.
  void name_hosts() {
    for (const job_program& one : programs_) {
      std::vector<std::string> names = host_names(one.how);
      are_remote_ = are_remote_ || !names.empty();
      if (names.empty()) names.push_back(host_name());
      std::vector<std::size_t> indices;
      for (const std::string& name : names) {
        const auto at = std::ranges::find(names_, name) - names_.begin();
        if (at == std::ssize(names_)) names_.push_back(name);
        indices.push_back(static_cast<std::size_t>(at));
      }
      hosts_of_program_.push_back(std::move(indices));
    }
  }

  // By the forwarder's thread. False: nobody reads it any more.
  bool write(int number, int stream, std::string_view lines) {
    std::string rest;
    if (has_files_) {
      try {
        rest = files_.take(processes_[static_cast<std::size_t>(number)].ranks, stream, lines,
                           how_.tag_output);
      } catch (const error& failure) {
        // Relaxed: read when the output has ended.
        if (!lost_files_.exchange(true, std::memory_order_relaxed)) say(failure.what());
      }
      lines = rest;
    }
    if (write_lines(stream, lines)) return true;
    if (stream == 1 && errno != EPIPE) lost_output_.store(errno, std::memory_order_relaxed);
    return false;
  }

  std::unique_ptr<host> make_host(std::size_t i) {
    host_events events{.ready = [this, i](host_cores cores) { on_ready(i, cores); },
                       .taken = [this](frame what) { take(std::move(what)); },
                       .gone = [this, i](const std::string& why) { on_gone(i, why); }};
    if (!are_remote_) return make_local_host(loop_, output_, sweeps_, std::move(events));
    return make_remote_host(loop_, output_, how_.rsh, names_[i], id_, std::move(events));
  }

  void on_ready(std::size_t i, host_cores cores) {
    cores_[i] = cores;
    if (--waited_for_ > 0 || ending_) return;
    try {
      start_all();
    } catch (const error& failure) {
      say(failure.what());
      fail(status_usage);
    }
  }

  void start_all() {
    job_description job{.id = id_, .line_buffered = ::isatty(STDOUT_FILENO) != 0};
    lay_out(job);
    job.hosts = names_;
    std::vector<int> slots(names_.size(), 0);
    for (const int on : job.host_index) ++slots[static_cast<std::size_t>(on)];
    server_ = std::make_unique<job_server>(std::move(job));
    std::vector<int> slot(names_.size(), 0);
    for (std::size_t p = 0; p < processes_.size() && !ending_; ++p) {
      const std::size_t on = processes_[p].host;
      hosts_[on]->start(order_for(static_cast<int>(p), slot[on]++, slots[on]));
    }
  }

  // Each program's processes and ranks follow those of the program before it.
  void lay_out(job_description& job) {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      std::vector<host_cores> cores;
      for (const std::size_t on : hosts_of_program_[i]) cores.push_back(cores_[on]);
      const job_shape shape = shape_of(programs_[i].how, cores);
      for (int p = 0; p < shape.processes(); ++p) {
        const auto on =
            static_cast<std::size_t>(shape.host_of_process[static_cast<std::size_t>(p)]);
        rank_block ranks = ranks_of_process(p, shape.ranks, shape.processes());
        ranks.first += ranks_;
        processes_.push_back({.host = hosts_of_program_[i][on], .program = i, .ranks = ranks});
        job.host_index.push_back(static_cast<int>(hosts_of_program_[i][on]));
      }
      if (programs_.size() > 1) job.parts.push_back({shape.ranks, shape.processes()});
      if (shape.ranks > ranks_max - ranks_ || std::ssize(processes_) > processes_max)
        throw error(formatted("the programs have more than {} ranks or {} processes together",
                              ranks_max, processes_max));
      ranks_ += shape.ranks;
    }
    if (job.host_index.size() > 1 && how_.transport.starts_with("shm") && names_.size() > 1)
      throw error("--transport shm reaches one host only; leave it out, or --hosts");
  }

  start_order order_for(int number, int slot, int slots) const {
    const process& its = processes_[static_cast<std::size_t>(number)];
    const job_program& program = programs_[its.program];
    start_order order;
    order.process = number;
    order.slot = slot;
    order.slots = slots;
    order.ranks = its.ranks.count;
    order.pin = how_.pin;
    order.command = program.command;
    order.directory = program.directory;
    if (!are_remote_) {
      order.inherits_stdin = reads_input_ && ::isatty(STDIN_FILENO) == 0;
    } else {
      std::error_code ignored;
      order.directory = (std::filesystem::current_path(ignored) / program.directory).string();
      for (char** variable = environ; *variable != nullptr; ++variable)
        if (!stays_here(*variable)) order.environment.emplace_back(*variable);
    }
    order.environment.insert(order.environment.end(), program.environment.begin(),
                             program.environment.end());
    order.environment.push_back(formatted("WEFT_RANKS={}", ranks_));
    order.environment.push_back(formatted("WEFT_PROCESSES={}", processes_.size()));
    // Programs may differ there, and processes compare their settings.
    if (programs_.size() > 1) order.environment.emplace_back("WEFT_RANKS_PER_PROCESS=auto");
    if (has_files_) order.environment.emplace_back("WEFT_TAG_OUTPUT=on");  // See rank_files.
    if (program.opens_modules) tell_modules(order, its.ranks.first);
    if (program.starts_program && its.ranks.count == 1 && !how_.transport.starts_with("mpi"))
      std::ranges::move(
          weft::process::variables_of_rank({its.ranks.first, ranks_, order.slot, order.slots}),
          std::back_inserter(order.environment));
    return order;
  }

  // A program that begins its rank in the middle cannot be told in its own environment before.
  void tell_modules(start_order& order, int rank) const {
    order.environment.push_back(formatted("WEFT_RANK={}", rank));
    order.environment.push_back(formatted("WEFT_LOCAL_RANK={}", order.slot));
    if (order.process != 0 || ranks_ == 1 || are_remote_) return;
    const std::string library = library_beside_this(WEFT_OTHER_MPI_LIBRARY);
    if (library.empty()) return;
    const char* const before = std::getenv("LD_PRELOAD");
    order.environment.push_back(formatted("WEFT_OTHER_MPI={}", library));
    order.environment.push_back(formatted("LD_PRELOAD={}{}{}", library,
                                          before != nullptr ? ":" : "",
                                          before != nullptr ? before : ""));
  }

  host& host_of(int number) {
    return *hosts_[processes_.at(static_cast<std::size_t>(number)).host];
  }

  const job_program& program_of(int number) const {
    return programs_[processes_.at(static_cast<std::size_t>(number)).program];
  }

  void take(frame what) {
    switch (what.kind) {
      case frame_kind::started:
        processes_.at(static_cast<std::size_t>(what.process)).state = life::running;
        if (what.process == 0 && !reads_input_)
          host_of(0).send({.kind = frame_kind::input});  // Its end.
        else if (what.process == 0 && (are_remote_ || ::isatty(STDIN_FILENO) != 0))
          input_.start([this](std::string bytes) {
            host_of(0).send({.kind = frame_kind::input, .payload = std::move(bytes)});
          });
        return;
      case frame_kind::not_started:
        if (!ending_)
          say(what.payload.empty()
                  ? cannot_run(program_of(what.process).command.front(), what.argument)
                  : what.payload);
        return fail(status_of_failed_start(what.argument));
      case frame_kind::exited:
        return on_exited(what.process, what.argument);
      case frame_kind::input:
        return input_.more();
      case frame_kind::abort:
        if (!ending_) log_text(what.payload);
        return fail(what.argument != 0 ? what.argument & 0xff : 1);
      default:
        break;
    }
    try {
      answer(server_->take(what));
      for (const std::string& why : server_->take_missed()) {
        if (ending_) break;
        if (status_ == 0) status_ = 1;
        on_failure(why, {}, true, 1);
      }
    } catch (const error& failure) {
      if (!ending_) say(failure.what());
      fail(1);
    }
  }

  void answer(const std::vector<frame>& answers) {
    for (const frame& one : answers) host_of(one.process).send(one);
  }

  std::string name_of(int number) const {
    const rank_block block = processes_[static_cast<std::size_t>(number)].ranks;
    const std::string& host = names_[processes_[static_cast<std::size_t>(number)].host];
    return block.count == 1
               ? formatted("process {} (rank {}) on host {}", number, block.first, host)
               : formatted("process {} (ranks {} to {}) on host {}", number, block.first,
                           block.first + block.count - 1, host);
  }

  void on_exited(int number, int raw) {
    const bool killed = WIFSIGNALED(raw);
    const int status = killed ? status_of_signal + WTERMSIG(raw) : WEXITSTATUS(raw);
    std::string why = name_of(number);
    if (killed)
      why += formatted(" was killed by signal {} ({})", WTERMSIG(raw), ::strsignal(WTERMSIG(raw)));
    else if (status != 0)
      why += formatted(" ended with status {}", status);
    else
      why += " ended without having finished its part";
    processes_[static_cast<std::size_t>(number)].state = life::ended;
    on_end_of(number, why, status, killed);
  }

  void on_end_of(int number, const std::string& why, int status, bool killed) {
    const bool good = status == 0;
    std::vector<frame> answers;
    const bool failed = server_->ended(number, why, good, answers);
    if (!ending_) {
      if (status_ == 0) status_ = failed && good ? 1 : status;
      if (failed || killed)
        on_failure(why, answers, failed, status);
      else if (!good && status != status_timeout && interrupted_ == 0 && how_.on_failure != "error")
        end_those_that_compute(why);
    }
    finish_if_empty();
  }

  void on_failure(const std::string& why, const std::vector<frame>& answers, bool failed,
                  int status) {
    if (interrupted_ != 0) {
      // The user wanted it; those that go on in spite of it would wait for the dead.
      loop_.after(end_grace_s, [this] { end_all(); });
      return;
    }
    if (!failed) return say(why);
    // `weftrun ... | head` has what it wanted, and says as little as any program does there.
    if (status == status_of_signal + SIGPIPE && output_.reader_is_gone()) return end_all();
    if (how_.on_failure == "error") {
      say(why + "; the others go on (--on-failure error)");
      return answer(answers);
    }
    if (status == status_timeout) {
      // The others have the same limit, and each of them says what its ranks wait for.
      loop_.after(timeout_grace_s, [this] { end_all(); });
      return;
    }
    say(why + "; the job ends");
    end_all();
  }

  // Of a process that has told its failure and left: the others stop when they hear of it, which they do in calls. What has
  // left as well may go on with work of its own.
  void end_those_that_compute(const std::string& why) {
    loop_.after(stop_grace_s, [this, why] {
      if (ending_ || finishing_ || !server_->any_takes_part()) return;
      say(why + ", and others compute without calling weft or wait for threads; the job ends");
      end_all();
    });
  }

  // The job cannot go on; whoever noticed has said so.
  void fail(int status) {
    if (!ending_ && status_ == 0) status_ = status;
    end_all();
  }

  void end_all() {
    if (!ending_) {
      ending_ = true;
      for (const auto& one : hosts_)
        if (one) one->end();
    }
    finish_if_empty();
  }

  void on_timeout() {
    if (ending_ || finishing_) return;
    // A process that has said why does not end in time where there is too much to do.
    if (const int status = server_ ? server_->told_status() : 0; status != 0) return fail(status);
    say(formatted("the job was ended after its timeout of {} s", how_.timeout_s));
    fail(status_timeout);
  }

  void on_gone(std::size_t i, const std::string& why) {
    if (gone_.size() < hosts_.size()) gone_.resize(hosts_.size(), false);
    gone_[i] = true;
    if (!why.empty() && !finishing_) {
      if (!server_) {
        if (!ending_) say(why);
        status_ = status_ == 0 ? status_usage : status_;
        ending_ = true;
      }
      for (std::size_t p = 0; p < processes_.size(); ++p)
        if (processes_[p].host == i && processes_[p].state != life::ended) {
          processes_[p].state = life::ended;
          on_end_of(static_cast<int>(p), name_of(static_cast<int>(p)) + " is lost: " + why,
                    status_of_signal + SIGKILL, true);
        }
    }
    finish_if_empty();
    if (finishing_ && std::ranges::count(gone_, true) == std::ssize(hosts_))
      output_.finish([this] { loop_.post([this] { loop_.stop(); }); });
  }

  bool all_have_ended() const {
    if (!server_) return ending_;
    return std::ranges::none_of(processes_, [&](const process& one) {
      return one.state == life::running || (one.state == life::unborn && !ending_);
    });
  }

  void finish_if_empty() {
    if (finishing_ || !all_have_ended()) return;
    finishing_ = true;
    input_.stop();
    gone_.resize(hosts_.size(), false);
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (!gone_[i]) loop_.post([this, i] { hosts_[i]->leave(); });
    if (std::ranges::count(gone_, true) == std::ssize(hosts_))
      output_.finish([this] { loop_.post([this] { loop_.stop(); }); });
  }

  void on_signal(int number) {
    if (number == SIGCHLD) {
      for (const auto& one : hosts_)
        if (one) one->reap();
      return;
    }
    if (number == SIGALRM) return;
    if (number == SIGTSTP) return pause_all();
    const bool ends =
        (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) &&
        number != report_signal_number(how_);
    if (ends && interrupted_ != 0) return end_at_once(number);
    if (ends) interrupted_ = number;
    if (ends && !server_) {
      status_ = status_of_signal + number;
      return end_all();
    }
    for (const auto& one : hosts_)
      if (one) one->signal(number);
  }

  // Twice is meant: no more waiting, not even for an output that nobody reads.
  [[noreturn]] void end_at_once(int number) {
    for (const auto& one : hosts_)
      if (one) one->kill_all();
    remove_segments(id_);
    std::_Exit(status_of_signal + number);
  }

  void pause_all() {
    for (const auto& one : hosts_)
      if (one) one->signal(SIGSTOP);
    ::kill(::getpid(), SIGSTOP);
  }

  const options how_;
  const std::vector<job_program> programs_;
  const bool reads_input_;
  const std::string id_;
  sweeper sweeps_;
  signal_reader signals_;            // Before there are other threads, which must not receive them.
  std::atomic<int> lost_output_{0};  // Why, unless it was that nobody read it.
  const bool has_files_;
  rank_files files_;  // Of the forwarder's thread.
  std::atomic<bool> lost_files_{false};
  std::vector<process> processes_;  // Their ranks are known to the forwarder, too.
  output_forwarder output_;
  event_loop loop_;
  input_pump input_;
  bool are_remote_ = false;         // The hosts; otherwise the only one is this.
  std::vector<std::string> names_;  // Of the hosts.
  std::vector<std::vector<std::size_t>> hosts_of_program_;
  std::vector<host_cores> cores_;
  std::vector<bool> gone_;
  std::size_t waited_for_ = 0;  // Hosts that are not ready.
  std::vector<std::unique_ptr<host>> hosts_;
  std::unique_ptr<job_server> server_;  // None until all hosts are ready.
  int ranks_ = 0;
  int status_ = 0;          // Of the first that failed.
  int interrupted_ = 0;     // The signal by which the user ended the job.
  bool ending_ = false;     // Processes were asked to end.
  bool finishing_ = false;  // None runs any more.
};

}  // namespace

int supervise(const job_request& what) {
  return supervisor(what).run();
}

}  // namespace weft
