// The communication core alone: each process sends its number to the next one's handler.
//   weftrun --processes 4 example-comm_hello
#include <cstdio>
#include <weft/comm.hpp>

namespace comm = weft::comm;
namespace with = weft::comm::with;

int main() {
  comm::runtime core;
  comm::device& device = core.device();

  // Anything with this member can be told of a completion.
  struct mailbox {
    int from = -1;
    void signal(const comm::event& happened) noexcept { from = happened.process; }
  } box;
  const comm::handler_id handler = core.register_handler(box);

  const int next = (core.process() + 1) % core.process_count();
  const int greeting[] = {core.process()};
  while (post_am(device, {next}, handler, greeting, with::tag(42)) == weft::status::retry)
    device.progress();
  while (box.from < 0) device.progress();
  std::printf("process %d of %d: a message from %d\n", core.process(), core.process_count(),
              box.from);
}
