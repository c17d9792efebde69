// Started by weftrun with two processes: a send, a put and a get of more than 4 GiB, and a put and a
// get behind that limit. Prints one line of process 0 when all was right.
#include <array>
#include <cstdio>
#include <vector>

#include "../memory_beyond_4_gib.hpp"
#include "comm_check.hpp"

namespace comm = weft::comm;
namespace with = weft::comm::with;
using weft::status;
using weft::tests::bytes_of;
using weft::tests::complete;
using weft::tests::meet;
using weft::tests::until;

int main() {
  const weft::tests::memory_beyond_4_gib memory;
  comm::runtime core;
  comm::device& on = core.device();
  comm::team all(on);
  comm::counter told;
  const comm::handler_id written = core.register_handler(told);
  const comm::registered_memory exposed(on, std::as_writable_bytes(memory.all()));
  std::array<comm::remote_memory, 2> everywhere;
  const comm::remote_memory mine[] = {exposed.remote()};
  comm::collective gathered = all.all_gather(std::as_bytes(std::span(mine)), bytes_of(everywhere));
  until(core, [&] { return gathered.test(); });
  const std::size_t size = memory.all().size();

  if (core.process() == 0) {
    memory.fill('a');
    complete(core, [&](const comm::completion& ended) {
      return post_send(on, {1}, memory.all(), with::tag(1), with::local(ended), with::done(false));
    });
    meet(core, all);
    memory.fill('b');
    complete(core, [&](const comm::completion& ended) {
      return post_put(on, everywhere[1], memory.all(), with::notify(written), with::local(ended),
                      with::done(false));
    });
    memory.fill('c');
    meet(core, all);
    meet(core, all);
    char behind[2] = {'x', '?'};
    complete(core, [&](const comm::completion& ended) {
      return post_put(on, everywhere[1], std::span<const char>(behind, 1), with::offset(size - 1),
                      with::local(ended), with::done(false));
    });
    // Its end says that the put has arrived.
    complete(core, [&](const comm::completion& ended) {
      return post_get(on, everywhere[1], {}, with::local(ended), with::done(false));
    });
    complete(core, [&](const comm::completion& ended) {
      return post_get(on, everywhere[1], std::span(behind + 1, 1), with::offset(size - 1),
                      with::local(ended), with::done(false));
    });
    REQUIRE(behind[1] == 'x');
  } else {
    comm::synchronizer received;
    REQUIRE(post_recv(on, 0, memory.all(), with::tag(1), with::local(received),
                      with::done(false)) == status::posted);
    until(core, [&] { return received.test(); });
    REQUIRE(received.events()[0].size == size && memory.is_filled('a'));
    meet(core, all);
    until(core, [&] { return told.value() == 1; });
    REQUIRE(memory.is_filled('b'));
    meet(core, all);
    complete(core, [&](const comm::completion& ended) {
      return post_get(on, everywhere[0], memory.all(), with::local(ended), with::done(false));
    });
    REQUIRE(memory.is_filled('c'));
    meet(core, all);
  }
  meet(core, all);
  if (core.process() == 0)
    std::printf("%d processes over %s: all right\n", core.process_count(),
                weft::tests::transport_of(core).c_str());
}
