// A job that behaves as its first word says; tests/unit/jobs_test.cpp runs it under weftrun and
// looks at output and exit status.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
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

void throw_one(communicator& world) {
  if (world.rank() == 1) throw std::runtime_error("the input is rotten");
  world.barrier();
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

void crash(communicator& world) {
  if (world.rank() == 1) std::raise(SIGSEGV);
  world.barrier();
}

// Waits for something that another part of the program never does; not a deadlock of messages.
void poll_forever(communicator&) {
  while (true) weft::yield();
}

// The rank itself keeps waiting, so the report must show that.
void ask_for_report(communicator& world) {
  if (world.rank() == 0) {
    weft::sleep_for(std::chrono::milliseconds(100));  // The signal comes while the job runs.
    ::kill(::getpid(), SIGUSR1);
    weft::sleep_for(std::chrono::milliseconds(500));
    world.send(1, 1, 5);
  } else {
    (void)world.recv<int>(0, 5);
  }
}

// The owner is slow until another thread has executed a chunk.
void steal(communicator& world) {
  static std::atomic<bool> stolen = false;
  if (world.rank() == 0) {
    const std::thread::id owner = std::this_thread::get_id();
    weft::parallel_for(0, 256, [owner](std::size_t) {
      if (std::this_thread::get_id() != owner) stolen = true;
      if (!stolen) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  world.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(communicator&)> bodies{{"greet", greet},
                                                              {"throw", throw_one},
                                                              {"deadlock", deadlock},
                                                              {"truncate", truncate},
                                                              {"send-to-nobody", send_to_nobody},
                                                              {"mismatch", mismatch},
                                                              {"crash", crash},
                                                              {"poll-forever", poll_forever},
                                                              {"report", ask_for_report},
                                                              {"steal", steal}};
  const auto body = bodies.find(argc > 1 ? argv[1] : "");
  if (body == bodies.end()) return 64;
  const int status = weft::run(argc, argv, body->second);
  // The program's own status, where the job had none to report.
  return status == 0 && argc > 2 ? std::stoi(argv[2]) : status;
}
