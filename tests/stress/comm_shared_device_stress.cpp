// Several threads on one device, and completion objects that several threads use.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cluster.hpp"
#include "comm/event_slots.hpp"
#include "stress/stress.hpp"

namespace weft {
namespace {

namespace with = comm::with;

TEST(comm_shared_device_stress, threads_that_share_devices_lose_and_repeat_nothing) {
  const stress::run run;
  comm::runtime_options how;
  how.shared_devices = true;
  tests::cluster job(2, how, {.seed = run.random(0)(), .queue_capacity = 16});
  comm::counter arrived;
  comm::completion_queue queue(64);
  const comm::handler_id count = job[1].register_handler(arrived);
  const comm::handler_id queued = job[1].register_handler(queue);
  std::atomic<std::uint64_t> sent{0}, popped{0}, sum_sent{0}, sum_popped{0};
  std::atomic<int> senders{3};
  const auto pop = [&] {
    for (comm::event happened; queue.try_pop(happened);) {
      sum_popped += happened.tag;
      ++popped;
      release(happened);
    }
  };
  const auto sender = [&](std::size_t thread) {
    auto random = run.random(thread);
    while (run.time_left()) {
      const std::uint64_t tag = random();
      const std::vector<char> data(random() % 3000 + (random() % 50 == 0 ? 30000 : 0), 'x');
      comm::synchronizer ended;
      status said;
      while ((said = post_am(job.device(0), {1}, random() % 2 != 0 ? count : queued, data,
                             with::tag(tag), with::local(ended))) == status::retry) {
        job.device(0).progress();
        job.device(1).progress();
        pop();
      }
      ASSERT_NE(said, status::failed);
      while (said == status::posted && !ended.test()) {
        job.device(0).progress();
        job.device(1).progress();
        pop();
      }
      ++sent;
    }
    --senders;
  };
  const auto receiver = [&] {
    while (senders != 0 || arrived.value() + popped < sent) {
      job.device(1).progress();
      pop();
      std::this_thread::yield();
    }
  };
  stress::run::together({[&] { sender(1); }, [&] { sender(2); }, [&] { sender(3); }, receiver});
  EXPECT_GT(sent, 0u);
  EXPECT_EQ(arrived.value() + popped, sent);
}

TEST(comm_shared_device_stress, a_queue_of_several_threads_keeps_every_event) {
  const stress::run run;
  comm::event_ring<std::uint64_t> ring(8);
  std::atomic<std::uint64_t> pushed{0}, popped{0}, sum_in{0}, sum_out{0};
  std::atomic<int> pushers{2};
  const auto pusher = [&](std::size_t thread) {
    auto random = run.random(thread);
    while (run.time_left()) {
      if (!ring.reserve()) {
        std::this_thread::yield();
        continue;
      }
      const std::uint64_t value = random();
      ring.push(value);
      sum_in += value;
      ++pushed;
    }
    --pushers;
  };
  const auto popper = [&] {
    for (;;) {
      const bool last = pushers == 0;
      std::uint64_t value;
      if (ring.try_pop(value)) {
        sum_out += value;
        ++popped;
      } else if (last) {
        return;
      }
    }
  };
  stress::run::together({[&] { pusher(1); }, [&] { pusher(2); }, popper, popper});
  EXPECT_GT(pushed, 0u);
  EXPECT_EQ(pushed, popped);
  EXPECT_EQ(sum_in, sum_out);
}

}  // namespace
}  // namespace weft
