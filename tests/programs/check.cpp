// Jobs with one mistake each, which their first word names; tests/unit/check_test.cpp runs them under
// weftrun --check and looks for the mistake in what it prints.
#include <pthread.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>
#include <weft/weft.hpp>

namespace {

using weft::communicator;

[[gnu::noinline]] void wait_for_other(communicator& world) {
  const int other = 1 - world.rank();
  // Until the other has begun to receive, which its worker does later.
  world.ssend(1, other, 1);
}
void answer_other(communicator& world) {
  (void)world.recv<int>(1 - world.rank(), 1);
}

template <class Lock, class Unlock>
void hold_while_waiting(communicator& world, const Lock& lock, const Unlock& unlock) {
  if (world.rank() == 1) return answer_other(world);
  lock();
  wait_for_other(world);
  unlock();
}

std::mutex plain;
std::recursive_mutex recursive;
pthread_mutex_t posix = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;

[[gnu::noinline]] void lock_plain() {
  plain.lock();
}

void hold_mutex(communicator& world) {
  hold_while_waiting(world, &lock_plain, [] { plain.unlock(); });
}
void hold_recursive(communicator& world) {
  hold_while_waiting(
      world,
      [] {
        recursive.lock();
        recursive.lock();
        recursive.unlock();
      },
      [] { recursive.unlock(); });
}
void hold_posix(communicator& world) {
  hold_while_waiting(
      world, [] { pthread_mutex_trylock(&posix); }, [] { pthread_mutex_unlock(&posix); });
}
void hold_shared(communicator& world) {
  hold_while_waiting(
      world, [] { pthread_rwlock_rdlock(&shared); }, [] { pthread_rwlock_unlock(&shared); });
}
void hold_stream(communicator& world) {
  hold_while_waiting(
      world, [] { flockfile(stdout); }, [] { funlockfile(stdout); });
}
void hold_initialiser(communicator& world) {
  if (world.rank() == 1) return answer_other(world);
  static const int value = (wait_for_other(world), world.rank());
  static_cast<void>(value);
}
void hold_while_yielding(communicator& world) {
  if (world.rank() == 1) return;
  const std::lock_guard hold(plain);
  weft::yield();
}

// What is right: locks between waits, and many of them.
void clean(communicator& world) {
  for (int round = 0; round < 1000; ++round) {
    {
      const std::lock_guard hold(plain);
      const std::lock_guard again(recursive);
    }
    if (round % 100 == 0) world.barrier();
  }
  int in = 0;
  const int out = world.rank();
  weft::request receive = world.irecv(std::span(&in, 1), 1 - world.rank(), 3);
  weft::request send = world.isend(std::span(&out, 1), 1 - world.rank(), 3);
  receive.wait();
  send.wait();
  receive = world.irecv(std::span(&in, 1), 1 - world.rank(), 3);
  world.send(out, 1 - world.rank(), 3);
  receive.wait();
}

void overlapping(communicator& world) {
  std::vector<int> memory(100);
  if (world.rank() == 0) {
    weft::request first = world.irecv(std::span(memory).first(60), 1, 4);
    weft::request second = world.irecv(std::span(memory).last(60), 1, 5);
    world.send(1, 1, 6);
    first.wait();
    second.wait();
  } else {
    (void)world.recv<int>(0, 6);
    world.send(std::vector<int>(60), 0, 4);
    world.send(std::vector<int>(60), 0, 5);
  }
}

// Columns of one matrix lie between each other, and do not overlap.
void interleaved(communicator& world) {
  std::vector<int> matrix(100);
  if (world.rank() == 0) {
    std::vector<weft::request> columns;
    for (std::size_t j = 0; j < 10; ++j)
      columns.push_back(
          world.irecv(weft::strided(matrix, {.first = j, .stride = 10, .count = 10}), 1, 4));
    weft::wait_all(columns);
  } else {
    for (int j = 0; j < 10; ++j) world.send(std::vector<int>(10), 0, 4);
  }
}

void left_request(communicator& world) {
  if (world.rank() != 0) return;
  static int into = 0;
  [[maybe_unused]] static weft::request* lost = nullptr;  // Never destroyed.
  lost = new weft::request(world.irecv(std::span(&into, 1), 1, 8));
}

void left_messages(communicator& world) {
  for (int i = 0; i < 3; ++i)
    if (world.rank() == 0) world.send(i, 1, 9);
}

void dropped_message(communicator& world) {
  if (world.rank() == 0) world.send(1, 1, 9);
  if (world.rank() == 1) {
    const weft::message taken = world.mprobe(0, 9);
    asm volatile("");
  }
}

void wait_in_chunk(communicator& world) {
  weft::parallel_for(0, 4, [&](std::size_t) { (void)world.recv<int>(0, 1); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(communicator&)> bodies{{"mutex", hold_mutex},
                                                              {"recursive", hold_recursive},
                                                              {"posix", hold_posix},
                                                              {"shared", hold_shared},
                                                              {"stream", hold_stream},
                                                              {"initialiser", hold_initialiser},
                                                              {"yield", hold_while_yielding},
                                                              {"clean", clean},
                                                              {"overlapping", overlapping},
                                                              {"interleaved", interleaved},
                                                              {"left-request", left_request},
                                                              {"left-messages", left_messages},
                                                              {"dropped-message", dropped_message},
                                                              {"chunk", wait_in_chunk}};
  const auto body = bodies.find(argc > 1 ? argv[1] : "");
  if (body == bodies.end()) return 64;
  return weft::run(argc, argv, body->second);
}
