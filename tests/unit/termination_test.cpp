// How the processes of a job find out together that nothing goes on in any of them: over a network on
// which what two workers of one process say arrives in another order than it was said.
#include <chrono>
#include <string>

#include "job.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

// Words of a process that are late, compared with the passes in which it says the next ones. Workers that
// outnumber the cores give them away in each pass: where others want them, a pass takes milliseconds.
sim_options slow_network(std::uint64_t seed) {
  sim_options network;
  network.seed = seed;
  network.delay_polls_max = 600;
  return network;
}

// Process 1 is quiet before it gets a message and after, and either worker of it may say so.
TEST(a_deadlock_between_processes, is_found_although_what_workers_say_overtakes_each_other) {
  const int first = tests::number_of_environment("TEST_SEED", 1) * 1000;
  for (int seed = first; seed < first + (sanitized ? 20 : 60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int processes = 2 + seed % 2;  // With three, one may be asked twice before it answers.
    options how = job_of(3, 2 * processes);
    how.timeout_s = 20;
    testing::internal::CaptureStderr();
    const int status = tests::run_in_processes(
        processes, how,
        [](communicator& world) {
          if (world.rank() == 1) sleep_for(1ms);
          world.ssend(1, (world.rank() + 1) % 3);
        },
        slow_network(static_cast<std::uint64_t>(seed)));
    const std::string text = testing::internal::GetCapturedStderr();
    ASSERT_EQ(status, 1) << text;
    expect_contains(text, "cycle: rank 0 waits for rank 1 waits for rank 2 waits for rank 0\n");
  }
}

}  // namespace
}  // namespace weft
