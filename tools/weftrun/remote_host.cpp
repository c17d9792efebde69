#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/reasons.hpp"
#include "weft/error.hpp"
#include "weftrun/host.hpp"
#include "weftrun/program.hpp"

namespace weft {

namespace {

// What ssh hands to a shell there must survive it.
std::string quoted(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::strchr("/._-+=:@%,", c) != nullptr;
  });
  if (plain) return word;
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::vector<std::string> agent_command(const std::string& rsh, const std::string& name) {
  std::vector<std::string> words;
  std::istringstream parts(rsh);
  for (std::string word; parts >> word;) words.push_back(word);
  // No terminal, no X11, and no question that nobody answers.
  if (rsh == "ssh") words.insert(words.end(), {"-T", "-x", "-o", "BatchMode=yes"});
  words.push_back(name);
  words.push_back(quoted(std::filesystem::read_symlink("/proc/self/exe").string()));
  words.push_back("--agent");
  return words;
}

class remote_host final : public host {
 public:
  remote_host(event_loop& loop, output_forwarder& output, const std::string& rsh,
              const std::string& name, const std::string& job_id, host_events events)
      : loop_(loop), output_(output), name_(name), events_(std::move(events)) {
    connect(agent_command(rsh, name));
    link_->send({.kind = frame_kind::hello,
                 .payload = field_writer().text(job_id).text(WEFT_VERSION).take()});
    loop_.after(host_start_s, [this, here = std::weak_ptr(alive_)] {
      if (!here.expired() && !ready_) give_up(formatted("it did not answer in {} s", host_start_s));
    });
    beat();
  }
  ~remote_host() override {
    link_.reset();
    if (pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  void start(const start_order& order) override {
    link_->send({.kind = frame_kind::start, .process = order.process, .payload = order.encoded()});
  }
  void send(const frame& what) override { link_->send(what); }
  void signal(int number) override {
    link_->send({.kind = frame_kind::signal, .argument = number});
  }
  void end() override { link_->send({.kind = frame_kind::end}); }
  void kill_all() override { link_->send({.kind = frame_kind::signal, .argument = SIGKILL}); }
  void reap() override {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  }
  void leave() override {
    leaving_ = true;
    // Where nothing has answered yet nothing runs, and nobody takes leave.
    if (!ready_) give_up("");
    link_->send({.kind = frame_kind::leave});
    if (!link_->open()) events_.gone("");
  }

 private:
  void connect(const std::vector<std::string>& words) {
    int to[2];
    int from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
      throw error(formatted("cannot make a pipe: {}", reason_with_limit(errno)));
    const descriptor its_in(to[0]);
    const descriptor its_out(from[1]);
    std::vector<char*> command;
    for (const std::string& word : words) command.push_back(const_cast<char*>(word.c_str()));
    command.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw error(formatted("cannot start a process: {}", std::strerror(errno)));
    if (pid_ == 0) {
      ::setpgid(0, 0);  // ^C is for weftrun, which tells the agent.
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(1);
      for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
      sigset_t none;
      sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::dup2(its_in.get(), STDIN_FILENO);
      ::dup2(its_out.get(), STDOUT_FILENO);
      ::execvp(command[0], command.data());
      const std::string why =
          formatted("weftrun: host {}: {} (--rsh)\n", name_, cannot_run(words[0], errno));
      static_cast<void>(!::write(STDERR_FILENO, why.data(), why.size()));
      ::_exit(127);
    }
    ::setpgid(pid_, pid_);
    link_ = std::make_unique<channel>(
        loop_, descriptor(from[0]), descriptor(to[1]),
        [this](frame what) { take(std::move(what)); },
        [this](const std::string& why) { ended(why); });
  }

  void take(frame what) {
    heard_ = true;
    switch (what.kind) {
      case frame_kind::ready:
        return take_ready(field_reader(what.payload));
      case frame_kind::beat:
        return;
      case frame_kind::output:
        return forward(std::move(what));
      default:
        return events_.taken(std::move(what));
    }
  }

  void take_ready(field_reader fields) {
    const std::string version(fields.text());
    if (version != WEFT_VERSION)
      return give_up(formatted("it has weft {} and this host has weft {}; install the same on both",
                               version, WEFT_VERSION));
    ready_ = true;
    host_cores cores;
    cores.threads = static_cast<int>(fields.number());
    cores.numa_nodes = static_cast<int>(fields.number());
    events_.ready(cores);
  }

  void forward(frame what) {
    const int size = static_cast<int>(what.payload.size());
    const int stream = what.argument == 1 ? 1 : 2;
    output_.pass(what.process, stream, std::move(what.payload),
                 [this, size, stream, here = std::weak_ptr(alive_)](bool read) {
                   loop_.post([this, size, stream, read, here] {
                     if (here.expired()) return;
                     link_->send({.kind = frame_kind::output_room, .argument = size});
                     if (!read) link_->send({.kind = frame_kind::output, .argument = stream});
                   });
                 });
  }

  void beat() {
    loop_.after(1, [this, here = std::weak_ptr(alive_)] {
      if (here.expired() || !link_->open()) return;
      silent_s_ = heard_ ? 0 : silent_s_ + 1;
      heard_ = false;
      if (ready_ && silent_s_ > host_silence_s)
        return give_up(formatted("it has said nothing for {} s", host_silence_s));
      link_->send({.kind = frame_kind::beat});
      beat();
    });
  }

  void give_up(const std::string& why) {
    why_ = why;
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
  }

  void ended(const std::string& why) {
    if (leaving_) return events_.gone("");
    if (why_.empty()) why_ = why;
    if (why_.empty())
      why_ = ready_ ? "the connection to it is lost"
                    : "no weftrun could be started there; the line above may say why";
    events_.gone(formatted("host {}: {}", name_, why_));
  }

  event_loop& loop_;
  output_forwarder& output_;
  const std::string name_;
  host_events events_;
  pid_t pid_ = -1;
  std::unique_ptr<channel> link_;
  bool ready_ = false;
  bool leaving_ = false;
  bool heard_ = false;
  double silent_s_ = 0;
  std::string why_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>();  // For what comes later.
};

}  // namespace

std::unique_ptr<host> make_remote_host(event_loop& loop, output_forwarder& output,
                                       const std::string& rsh, const std::string& name,
                                       const std::string& job_id, host_events events) {
  return std::make_unique<remote_host>(loop, output, rsh, name, job_id, std::move(events));
}

}  // namespace weft
