// One rank ends in the way that the first word says; the others wait for a message from it, or
// return when it ends well.
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <weft/weft.hpp>

namespace {

struct told {
  ~told() { std::printf("destroyed in rank %d\n", weft::this_rank()); }
} global;

[[gnu::noinline]] int deeper(int level) {
  volatile char some[2048];
  some[0] = static_cast<char>(level);
  return level == 0 ? 0 : deeper(level + 1) + some[0];
}

void end_in(std::string_view way) {
  if (way == "exit") std::exit(7);
  if (way == "exit-0") std::exit(0);
  if (way == "abort") std::abort();
  if (way == "throw") throw std::runtime_error("the reason");
  if (way == "fault") *static_cast<volatile int*>(nullptr) = 1;
  if (way == "overflow") (void)deeper(1);
  if (way.starts_with("throw-beside")) {
    ::usleep(100'000);
    throw std::runtime_error("the reason");
  }
}

// The job is to end meanwhile.
void join_thread() {
  std::thread([] { ::usleep(500'000); }).join();
}
void join_thread_for_ever() {
  std::thread([] {
    std::mutex lock;
    std::condition_variable never;
    std::unique_lock hold(lock);
    for (;;) never.wait(hold);
  }).join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "";
  std::atexit([] { std::printf("handler 1 in rank %d\n", weft::this_rank()); });
  std::atexit([] { std::printf("handler 2 in rank %d\n", weft::this_rank()); });
  if (way == "exit-in-handler") std::atexit([] { std::exit(5); });
  const weft::communicator world = weft::this_world();
  if (world.rank() == 1 || world.size() == 1) {
    end_in(way);
    if (way == "return") return 9;
    return 0;
  }
  if (way == "throw-beside-join") join_thread();
  if (way == "throw-beside-endless-join") join_thread_for_ever();
  if (way == "exit" || way == "abort" || way == "throw" || way == "fault" || way == "return" ||
      way == "overflow")
    (void)world.recv<int>(1);  // Never sent.
  return 0;
}
