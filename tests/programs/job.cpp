// A job that behaves as its first word says; tests/unit/jobs_test.cpp runs it under weftrun and
// looks at output and exit status.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

namespace {

using weft::communicator;

void greet(communicator& world) {
  std::printf("rank %d of %d\n", world.rank(), world.size());
}

bool is_first_process = false;

void note_first(communicator& world) {
  if (world.rank() == 0) is_first_process = true;
}

void print_in_pieces(communicator& world) {
  for (int line = 0; line < 5; ++line) {
    std::printf("printf %d:", world.rank());
    std::fprintf(stderr, "stderr %d\n", world.rank());
    for (int i = 0; i < 3; ++i) {
      weft::yield();
      std::printf(" %d", world.rank());
    }
    std::printf("\n");
    std::cout << "cout " << world.rank() << ':';
    for (int i = 0; i < 3; ++i) {
      weft::yield();
      std::cout << ' ' << world.rank();
    }
    std::cout << std::endl;
  }
}

// A child of it writes, too.
void fork_one(communicator& world, void (*of_child)()) {
  if (world.rank() != 0) return;
  std::printf("parent ");
  if (const pid_t child = ::fork(); child == 0) {
    std::printf("child ");
    of_child();
  } else {
    ::waitpid(child, nullptr, 0);
  }
  std::printf("again\n");
}

void throw_one(communicator& world) {
  if (world.rank() == 1) throw std::runtime_error("the input is rotten");
  world.barrier();
}

// The file that TEST_FILE names; one with ".waits" behind the name says that all others wait in the barrier.
void wait_for_file(communicator& world) {
  if (world.rank() == 0) {
    const std::string name = std::getenv("TEST_FILE");
    weft::sleep_for(std::chrono::milliseconds(100));
    std::ofstream(name + ".waits") << "all\n";
    while (::access(name.c_str(), F_OK) != 0) weft::sleep_for(std::chrono::milliseconds(20));
  }
  world.barrier();
  greet(world);
}

// The exception passes a request whose message nobody takes, and frames that catch it and let it go on.
void throw_past_request(communicator& world) {
  if (world.rank() == 0) {
    world.barrier();
    return;
  }
  const std::vector<int> large(1'000'000);
  try {
    const weft::request sent = world.isend(large, 0);
    throw std::runtime_error("the input is rotten");
  } catch (const std::exception&) {
    throw;
  }
}

void deadlock(communicator& world) {
  (void)world.recv<int>((world.rank() + 1) % world.size(), 7);
}

void truncate(communicator& world) {
  const std::vector<int> long_message(100);
  std::vector<int> short_memory(10);
  if (world.rank() == 0)
    world.send(long_message, 1, 3);
  else if (world.rank() == 1)
    world.recv(short_memory, 0, 3);
}

void send_to_nobody(communicator& world) {
  if (world.rank() == 1) world.send(1, 99);
}

void mismatch(communicator& world) {
  if (world.rank() == 0)
    world.barrier();
  else
    (void)world.allreduce(1, std::plus<>{});
}

// Its status follows the word.
int status_of_exit = 0;
void exit_one(communicator& world) {
  if (world.rank() == 1) std::exit(status_of_exit);
  world.barrier();
}
void quick_exit_one(communicator& world) {
  if (world.rank() == 1) std::quick_exit(status_of_exit);
  world.barrier();
}
void exit_one_at_once(communicator& world) {
  if (world.rank() == 1) ::_exit(status_of_exit);
  world.barrier();
}
// The others are still printing when one closes or would redirect what they print to.
void change_stdout(communicator& world, const std::function<void()>& change) {
  for (int line = 0; line < 2000; ++line) {
    if (world.rank() == 1 && line == 100) change();
    std::printf("%d:%d\n", world.rank(), line);
    if (line % 50 == 0) world.barrier();
  }
}
void close_stdout(communicator& world) {
  change_stdout(world, [] { std::fclose(stdout); });
}
// An error of the program's, as without weft.
void close_nothing(communicator&) {
  std::FILE* volatile nothing = nullptr;
  std::fclose(nothing);
}
// It is no rank's.
void close_stdout_in_thread(communicator& world) {
  change_stdout(world, [] { std::thread([] { std::fclose(stdout); }).join(); });
}
// The child's output is its own.
void reopen_stdout_in_child(communicator& world) {
  change_stdout(world, [] {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool is_open = std::freopen("/dev/null", "w", stdout) != nullptr;
      std::printf("nobody sees it\n");
      ::_exit(is_open && std::fclose(stdout) == 0 ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    if (status != 0) std::abort();
  });
}
void reopen_stdout(communicator& world) {
  change_stdout(world, [] {
    if (std::freopen("/dev/null", "w", stdout) != nullptr) std::abort();
  });
}
void exit_last(communicator& world) {
  for (int from = 1; world.rank() == 0 && from < world.size(); ++from)
    (void)world.recv<int>(from, 1);
  if (world.rank() != 0) return world.send(1, 0, 1);
  weft::sleep_for(std::chrono::milliseconds(100));
  std::printf("the last\n");
  std::exit(status_of_exit);
}

// Nothing of what a rank has written before is lost.
void die_in_a_line(communicator& world, void (*die)()) {
  if (world.rank() == 1) {
    std::printf("begun");
    std::fprintf(stderr, "cause");
    die();
  }
  world.barrier();
}

void crash(communicator& world) {
  if (world.rank() == 1) std::raise(SIGSEGV);
  world.barrier();
}

// Waits for something that another part of the program never does; not a deadlock of messages.
void poll_forever(communicator&) {
  while (true) weft::yield();
}

// What a file holds that the program writes by another descriptor.
std::string text_of(int file) {
  std::string text(std::size_t(::lseek(file, 0, SEEK_END)), '\0');
  text.resize(std::size_t(std::max<ssize_t>(::pread(file, text.data(), text.size(), 0), 0)));
  return text;
}

// Asks until rank 1 is seen to wait, and lets it go on only then. Reports pass through a file on
// their way to stderr, so that the program sees them too.
void ask_for_report(communicator& world) {
  if (world.rank() != 0) {
    (void)world.recv<int>(0, 5);
    return;
  }
  std::FILE* const seen = std::tmpfile();
  const int file = ::fileno(seen), stderr_before = ::dup(2);
  ::dup2(file, 2);
  std::string text;
  while (text.find("rank 1 (worker 1): in recv") == text.npos) {
    ::kill(::getpid(), SIGUSR1);
    const std::size_t before = text.size();
    while ((text = text_of(file)).size() == before) weft::sleep_for(std::chrono::milliseconds(1));
  }
  ::dup2(stderr_before, 2);
  std::fputs(text.c_str(), stderr);
  std::fclose(seen);
  world.send(1, 1, 5);
}

// The owner is slow until another thread has executed a chunk.
void steal(communicator& world) {
  static std::atomic<bool> stolen = false;
  if (world.rank() == 0) {
    const std::thread::id owner = std::this_thread::get_id();
    while (!stolen)
      weft::parallel_for(0, 256, [owner](std::size_t) {
        if (std::this_thread::get_id() != owner) stolen = true;
        if (!stolen) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
  }
  world.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(communicator&)> bodies{
      {"greet", greet},
      {"work-after", note_first},
      {"pieces", print_in_pieces},
      {"forked", greet},
      {"fork", [](communicator& world) { fork_one(world, [] { std::exit(0); }); }},
      {"fork-abort", [](communicator& world) { fork_one(world, [] { std::abort(); }); }},
      {"throw", throw_one},
      {"wait-for-file", wait_for_file},
      {"throw-past-request", throw_past_request},
      {"deadlock", deadlock},
      {"truncate", truncate},
      {"send-to-nobody", send_to_nobody},
      {"mismatch", mismatch},
      {"exit", exit_one},
      {"exit-last", exit_last},
      {"quick_exit", quick_exit_one},
      {"_exit", exit_one_at_once},
      {"close-stdout", close_stdout},
      {"close-nothing", close_nothing},
      {"close-stdout-in-thread", close_stdout_in_thread},
      {"reopen-stdout-in-child", reopen_stdout_in_child},
      {"reopen-stdout", reopen_stdout},
      {"crash", crash},
      {"abort-in-a-line", [](communicator& world) { die_in_a_line(world, [] { std::abort(); }); }},
      {"leave-in-a-line", [](communicator& world) { die_in_a_line(world, [] { ::_exit(3); }); }},
      {"poll-forever", poll_forever},
      {"report", ask_for_report},
      {"steal", steal}};
  const auto body = bodies.find(argc > 1 ? argv[1] : "");
  if (body == bodies.end()) return 64;
  if (body->first == "forked")  // Before the job.
    if (const pid_t child = ::fork(); child != 0) {
      int status = 1;
      ::waitpid(child, &status, 0);
      return status;
    }
  if (body->first.find("exit") != std::string::npos && argc > 2)
    status_of_exit = std::stoi(argv[2]);
  const int status = weft::run(argc, argv, body->second);
  if (is_first_process) {  // Longer than weftrun waits for those that take part in a job that failed.
    std::this_thread::sleep_for(std::chrono::seconds(3));
    std::printf("worked on\n");
    return status;
  }
  // The program's own status, where the job had none to report.
  return status == 0 && argc > 2 ? std::stoi(argv[2]) : status;
}
