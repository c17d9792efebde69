#include "sync/memory_watch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/checker.hpp"
#include "sync/parking.hpp"

namespace weft {
namespace {

using model::scenario;

constexpr auto relaxed = std::memory_order_relaxed;

// A worker that waits for a word of memory, parks as workers do, and has the sign up meanwhile. Others write first
// a word that it does not wait for, and then that one, relaxed on purpose: only the fences order it.
struct sides {
  memory_watch<model_atomics> watch;
  parking_spot<model_atomics> spot;
  std::array<model_atomics::atomic<int>, 2> words;
};

// `first` and `then`: arms and announces, in the order in which that kind of job does.
template <class First, class Then>
void wait_for_words(sides& shared, const std::function<bool()>& is_over,
                    const std::function<bool()>& has_news, const First& first, const Then& then) {
  while (!is_over()) {
    first();
    then();
    if (is_over() || has_news())
      shared.spot.cancel();
    else
      while (!shared.spot.sleep(-1)) {
      }
    shared.watch.disarm();
  }
}

void wait_within_a_process(sides& shared) {
  wait_for_words(
      shared, [&] { return shared.words[1].load(relaxed) == 1; }, [] { return false; },
      [&] { shared.watch.arm(); }, [&] { shared.spot.announce(); });
}

// Within a process: the writer wakes the worker and leaves the sign up.
scenario within_a_process() {
  auto shared = std::make_shared<sides>();
  const auto write = [=](std::size_t which) {
    shared->words[which].store(1, relaxed);
    if (shared->watch.is_asleep()) shared->spot.wake_if_parked();
  };
  return scenario{.threads = {[=] { wait_within_a_process(*shared); },
                              [=] {
                                write(0);
                                write(1);
                              }}};
}

// Between processes: a message, of which the parked worker hears in any case, and one writer is enough to send it.
model::setup between_processes(bool two_writers) {
  return [=] {
    struct with_mail : sides {
      model_atomics::atomic<int> mail{0};
    };
    auto shared = std::make_shared<with_mail>();
    const auto write = [=](std::size_t which) {
      shared->words[which].store(1, relaxed);
      if (!shared->watch.is_asleep() || !shared->watch.take()) return;
      shared->mail.fetch_add(1, std::memory_order_release);
      shared->spot.wake_if_parked();
    };
    const auto worker = [=] {
      int taken = 0;
      wait_for_words(
          *shared,
          [&] {
            return shared->words[0].load(relaxed) == 1 && shared->words[1].load(relaxed) == 1;
          },
          [&] {
            const int sent = shared->mail.load(std::memory_order_acquire);
            return std::exchange(taken, sent) != sent;
          },
          // What wakes it across processes is announced first here: its fence must not do for the sign's.
          [&] { shared->spot.announce(); }, [&] { shared->watch.arm(); });
    };
    if (two_writers) return scenario{.threads = {worker, [=] { write(0); }, [=] { write(1); }}};
    return scenario{.threads = {worker, [=] {
                                  write(0);
                                  write(1);
                                }}};
  };
}

const std::vector<model::setup> scenarios{within_a_process, between_processes(false),
                                          between_processes(true)};

TEST(memory_watch_model, no_schedule_leaves_a_worker_asleep_whose_word_was_written) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(memory_watch_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2, "parking.hpp"), std::vector<std::string>{});
}

// Taking the sign down within a process: the worker may park afterwards, and nobody sees it.
TEST(memory_watch_model, a_writer_of_the_same_process_must_leave_the_sign) {
  const model::setup taking = [] {
    auto shared = std::make_shared<sides>();
    const auto write = [=](std::size_t which) {
      shared->words[which].store(1, relaxed);
      if (shared->watch.is_asleep() && shared->watch.take()) shared->spot.wake_if_parked();
    };
    return scenario{.threads = {[=] { wait_within_a_process(*shared); },
                                [=] {
                                  write(0);
                                  write(1);
                                }}};
  };
  EXPECT_FALSE(model::failures({taking}, 3).empty());
}

}  // namespace
}  // namespace weft
