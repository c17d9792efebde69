// A process of a job that speaks to its bootstrap and does as its words say; tests/multi starts
// many of them, in every way there is.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/format.hpp"
#include "bootstrap/bootstrap.hpp"

namespace {

using weft::bootstrap;
using weft::formatted;
using words = std::vector<std::string>;

int number(const words& all, std::size_t i, int otherwise) {
  return i < all.size() ? std::stoi(all[i]) : otherwise;
}

std::string value_of(int process, int key, std::size_t size) {
  std::string value(size, '\0');
  std::minstd_rand random(static_cast<unsigned>(process * 7919 + key + 1));
  for (char& c : value) c = static_cast<char>(random());
  return value;
}

// Every process reads what every other has put: keys KEYS of SIZE bytes.
int exchange(bootstrap& job, const words& all) {
  const int keys = number(all, 1, 3);
  const auto size = static_cast<std::size_t>(number(all, 2, 10));
  for (int key = 0; key < keys; ++key)
    job.put(formatted("key-{}", key), value_of(job.process(), key, size));
  job.fence();
  for (int process = 0; process < job.process_count(); ++process)
    for (int key = 0; key < keys; ++key)
      if (job.get(process, formatted("key-{}", key)) != value_of(process, key, size)) {
        std::printf("process %d: key %d of process %d is wrong\n", job.process(), key, process);
        return 1;
      }
  job.fence();
  std::printf("process %d of %d read %d keys\n", job.process(), job.process_count(),
              keys * job.process_count());
  return 0;
}

int identify(bootstrap& job, const words&) {
  std::string text =
      formatted("{} {} of {} job {}", job.name(), job.process(), job.process_count(), job.job_id());
  for (int process = 0; process < job.process_count(); ++process)
    text += formatted(" {}:{}", job.node_of(process), job.host_of(process));
  std::puts(text.c_str());
  return 0;
}

// The others wait until the failure of process WHO has been told, and go on without it.
int survive(bootstrap& job, const words& all) {
  const int who = number(all, 1, 1);
  std::mutex mutex;
  std::string told;
  std::atomic<int> dead = -1;
  job.on_failure([&](int process, const std::string& why) {
    const std::lock_guard hold(mutex);
    told = why;
    dead = process;
  });
  job.put("alive", "yes");
  job.fence();
  if (job.process() == who) ::kill(::getpid(), SIGKILL);
  while (dead != who) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  job.fence();  // Of the living.
  std::string refused;
  try {
    static_cast<void>(job.get(who, "alive"));
  } catch (const std::exception& failure) {
    refused = failure.what();
  }
  const std::lock_guard hold(mutex);
  std::printf("process %d was told: %s\n", job.process(), told.c_str());
  std::printf("process %d was refused: %s\n", job.process(), refused.c_str());
  return 0;
}

// Process WHO ends as HOW says; the others wait for ever.
int die(bootstrap& job, const words& all) {
  const int who = number(all, 1, 1);
  const std::string how = all.size() > 2 ? all[2] : "kill";
  job.fence();
  if (job.process() != who)
    while (true) ::pause();
  if (how == "kill") ::kill(::getpid(), SIGKILL);
  if (how == "segv") {
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
  }
  if (how == "abort") job.abort(7, formatted("process {} has had enough", who));
  if (how == "fence-alone") job.fence();
  std::fflush(nullptr);
  std::_Exit(std::stoi(how));
}

// Leaves a shared segment behind, as a transport does that is killed.
int wait_for_ever(bootstrap& job, const words&) {
  job.fence();
  const std::string segment = formatted("weft-{}-test-{}", job.job_id(), job.process());
  if (job.name() != "single") static_cast<void>(::creat(("/dev/shm/" + segment).c_str(), 0600));
  std::printf("%s\n", segment.c_str());
  std::printf("process %d waits in %d\n", job.process(), static_cast<int>(::getpid()));
  std::fflush(stdout);
  while (true) ::pause();
}

int no_such_key(bootstrap& job, const words&) {
  job.fence();
  try {
    static_cast<void>(job.get(0, "nothing"));
  } catch (const std::exception& failure) {
    std::printf("%s\n", failure.what());
    return 0;
  }
  return 1;
}

// What it prints is counted, line by line, by whoever reads it.
int print(bootstrap& job, const words& all) {
  const int lines = number(all, 1, 10);
  const int length = number(all, 2, 60);
  const std::string rest(static_cast<std::size_t>(length), 'x');
  job.fence();
  for (int i = 0; i < lines; ++i) std::printf("%d %d %s\n", job.process(), i, rest.c_str());
  std::printf("%d last line without an end", job.process());
  return 0;
}

int read_input(bootstrap& job, const words&) {
  std::size_t lines = 0;
  std::size_t bytes = 0;
  for (std::string line; std::getline(std::cin, line); ++lines) bytes += line.size() + 1;
  std::printf("process %d read %zu lines, %zu bytes\n", job.process(), lines, bytes);
  return 0;
}

int cpus(bootstrap& job, const words&) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ::sched_getaffinity(0, sizeof mask, &mask);
  std::string text = formatted("process {} on", job.process());
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<unsigned>(cpu), &mask)) text += formatted(" {}", cpu);
  const char* const ranks = std::getenv("WEFT_RANKS");
  std::printf("%s of %s ranks\n", text.c_str(), ranks == nullptr ? "auto" : ranks);
  return 0;
}

volatile sig_atomic_t signalled = 0;

// Ends in good order when the signal comes.
int handle(bootstrap& job, const words& all) {
  ::signal(number(all, 1, SIGTERM), [](int) { signalled = 1; });
  job.fence();
  std::printf("process %d is ready\n", job.process());
  std::fflush(stdout);
  while (signalled == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::printf("process %d was signalled\n", job.process());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int(bootstrap&, const words&)>> acts{
      {"exchange", exchange}, {"identify", identify},  {"survive", survive},
      {"die", die},           {"wait", wait_for_ever}, {"no-such-key", no_such_key},
      {"print", print},       {"input", read_input},   {"cpus", cpus},
      {"handle", handle}};
  const words all(argv + 1, argv + argc);
  // "twice ACT": two jobs of the same process, one after the other.
  const bool twice = !all.empty() && all.front() == "twice";
  const words act(all.begin() + (twice ? 1 : 0), all.end());
  const auto found = acts.find(act.empty() ? "" : act.front());
  if (found == acts.end()) return 64;
  try {
    for (int round = 0; round < (twice ? 2 : 1); ++round) {
      const auto job = weft::make_bootstrap();
      if (const int status = found->second(*job, act); status != 0) return status;
      job->finish();
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "test-process: %s\n", failure.what());
    return 2;
  }
  return 0;
}
