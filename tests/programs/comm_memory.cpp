// Started by weftrun: each process sends every other one so much that all rings between them have
// been gone around, then says how much memory it has. With the word "ranks" a rank of each does. With
// the word "flood" and a size the others send process 0 far more such messages than may wait for it, which
// takes a few each millisecond, and each says how much memory that took.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

#include "weft/comm.hpp"

namespace comm = weft::comm;

namespace {

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  return -1;
}

}  // namespace

int be_ranks(int argc, char** argv) {
  return weft::run(argc, argv, [](weft::communicator& world) {
    const std::vector<char> data(8000, 'x');
    std::vector<char> room(data.size());
    const int count = world.size();
    for (int i = 0; i < 100; ++i)
      for (int step = 1; step < count; ++step) {
        weft::request sent = world.isend(data, (world.rank() + step) % count);
        world.recv(room, (world.rank() + count - step) % count);
        sent.wait();
      }
    world.barrier();
    std::printf("rank %d has %ld KiB\n", world.rank(), resident_kib());
  });
}

int flood(std::size_t size) {
  constexpr long messages = 100'000;
  comm::runtime core;
  comm::counter arrived;
  const comm::handler_id handler = core.register_handler(arrived);
  comm::device& device = core.device();
  comm::team all(device);
  const auto meet = [&] {
    comm::collective barrier = all.barrier();
    while (!barrier.test())
      if (device.progress() == 0) sched_yield();
  };
  meet();
  const long before = resident_kib();
  long kib = 0;
  if (core.process() == 0) {
    const auto senders = static_cast<std::uint64_t>(core.process_count() - 1);
    for (int i = 0; i < 300; ++i) {
      device.progress();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    kib = resident_kib();
    while (arrived.value() < messages * senders)
      if (device.progress() == 0) sched_yield();
  } else {
    const std::vector<char> data(size, 'x');
    for (long i = 0; i < messages;) {
      const weft::status said = post_am(device, {0}, handler, data);
      if (said == weft::status::failed) return 1;
      if (said == weft::status::retry) {
        if (device.progress() == 0) sched_yield();
      } else {
        ++i;
      }
    }
    kib = resident_kib();
  }
  meet();
  std::printf("process %d took %ld KiB\n", core.process(), kib - before);
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 2 && argv[1] == std::string_view("flood"))
    return flood(static_cast<std::size_t>(std::atol(argv[2])));
  if (argc > 1 && argv[1] == std::string_view("ranks")) return be_ranks(argc, argv);
  constexpr long messages = 100;
  comm::runtime core;
  comm::counter arrived;
  const comm::handler_id handler = core.register_handler(arrived);
  comm::device& device = core.device();
  const int count = core.process_count();
  const std::vector<char> data(8000, 'x');
  const auto progress = [&] {
    if (device.progress() == 0) sched_yield();  // More processes than cores.
  };
  for (long i = 0; i < messages; ++i)
    for (int step = 1; step < count; ++step) {
      const int to = (core.process() + step) % count;
      for (;;) {
        const weft::status said = post_am(device, {to}, handler, data);
        if (said == weft::status::failed) return 1;
        if (said != weft::status::retry) break;
        progress();
      }
    }
  while (arrived.value() < static_cast<std::uint64_t>(messages * (count - 1))) progress();
  std::printf("process %d has %ld KiB\n", core.process(), resident_kib());
  return 0;
}
