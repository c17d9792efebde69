// Started by weftrun: each process sends every other one so much that all rings between them have
// been gone around, then says how much memory it has.
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

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

int main() {
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
