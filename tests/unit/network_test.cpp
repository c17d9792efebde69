// What a worker's device does in each pass besides receiving.
#include "remote/port.hpp"

#include "job.hpp"

namespace weft {
namespace {

struct attempts {
  int begun = 0;
  int ended = 0;
};
bool end(worker&, void* of) {
  ++static_cast<attempts*>(of)->ended;
  return true;
}
bool begin_many(worker& here, void* of) {
  for (int i = 0; i < 100; ++i) remote::port::of(here).keep_trying(&end, of);
  static_cast<attempts*>(of)->begun += 100;
  return end(here, of);
}

TEST(an_attempt_of_a_port, may_begin_others) {
  (void)tests::run_in_processes(2, job_of(2, 2), [](communicator& world) {
    attempts of_rank;
    const remote::port here = remote::port::of(*worker::current());
    for (int i = 0; i < 3; ++i, ++of_rank.begun) here.keep_trying(&begin_many, &of_rank);
    for (int i = 0; i < 1000 && of_rank.ended != 303; ++i) (void)world.iprobe();
    EXPECT_EQ(of_rank.begun, 303);
    EXPECT_EQ(of_rank.ended, 303);
    world.barrier();
  });
}

}  // namespace
}  // namespace weft
