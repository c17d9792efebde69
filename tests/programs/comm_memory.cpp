// Started by weftrun: each process sends every other one so much that all rings between them have
// been gone around, then says how much memory it has. With the word "ranks" a rank of each does.
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
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

int main(int argc, char** argv) {
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
