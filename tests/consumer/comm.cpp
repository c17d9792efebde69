#include <cstdio>
#include <weft/comm.hpp>

int main() {
  weft::comm::runtime core;
  weft::comm::counter arrived;
  const auto handler = core.register_handler(arrived);
  while (post_am(core.device(), {core.process()}, handler, {}) != weft::status::done)
    core.device().progress();
  while (arrived.value() == 0) core.device().progress();
  std::printf("process %d of %d\n", core.process(), core.process_count());
}
