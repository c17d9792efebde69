// The sender has one thread for each partition. What it sends and where it arrives are plain fields, so that a copy which is
// made too early, twice or by nobody is a race or a wrong value. The ends of rounds are told as the product does, by whoever
// settles the last partition; behind the last round the board is destroyed, though threads of the sender may still be in mark().
#include "sync/partition_board.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;
using number = model_atomics::atomic<std::uint32_t>;

// `WordParts`: partitions in a word.
template <std::size_t WordParts>
struct exchange {
  using board = partition_board<model_atomics, WordParts>;
  exchange(std::size_t partitions, std::size_t together)
      : partitions_of(std::make_unique<board>(partitions, together)),
        source(partitions),
        target(partitions) {}
  std::unique_ptr<board> partitions_of;
  std::vector<model_atomics::plain<int>> source, target;
  number begun{0};  // Rounds that the sender has begun.
  number sent{0};   // Rounds that have ended, as each side is told.
  number received{0};

  void copy(std::size_t first, std::uint64_t which) {
    for (std::size_t b = 0; b < WordParts; ++b)
      if ((which >> b & 1) != 0) target[first + b].set(source[first + b].get());
  }
  [[nodiscard]] auto copier() {
    return [this](std::size_t first, std::uint64_t which) { copy(first, which); };
  }
  void make_ready(std::size_t p, std::uint32_t round) {
    board& b = *partitions_of;
    const partition_turn turn = b.mark(p, round);
    model::require(turn != partition_turn::twice, "ready once");
    if (turn == partition_turn::group_complete && b.complete_group(p, round, copier())) end(round);
  }
  // The mail to both sides.
  void end(std::uint32_t round) {
    sent.store(round, std::memory_order_release);
    received.store(round, std::memory_order_release);
  }
};

int value_of(std::size_t p, std::uint32_t round) {
  return static_cast<int>(10 * round + p);
}

void await(const number& n, std::uint32_t round) {
  model::wait_until([&] { return n.load(std::memory_order_acquire) >= round; });
}

// `looks`: the receiver asks for a partition before it waits for the round, and takes what is ready.
template <std::size_t WordParts>
model::setup rounds(std::size_t partitions, std::size_t together, std::uint32_t count, bool looks) {
  return [=] {
    auto e = std::make_shared<exchange<WordParts>>(partitions, together);
    scenario scene;
    for (std::size_t p = 0; p < partitions; ++p)
      scene.threads.push_back([=] {
        for (std::uint32_t r = 1; r <= count; ++r) {
          if (p == 0) {
            e->partitions_of->begin_sending();
            e->begun.store(r, std::memory_order_release);
          } else {
            await(e->begun, r);
          }
          e->source[p].set(value_of(p, r));
          e->make_ready(p, r);
          await(e->sent, r);
        }
      });
    scene.threads.push_back([=] {
      for (std::uint32_t r = 1; r <= count; ++r) {
        for (std::size_t p = 0; p < partitions; ++p) e->target[p].set(-1);
        if (e->partitions_of->begin_receiving(r, e->copier())) e->end(r);
        if (looks) {
          if (partitions == 1 ? e->partitions_of->has_arrived(0, r)
                              : e->partitions_of->have_arrived(0, 0, r))
            model::require(e->target[0].get() == value_of(0, r), "what has arrived");
          else if (e->partitions_of->take_ready(0, 0, r, e->copier()))
            e->end(r);
        }
        await(e->received, r);
        model::require(e->partitions_of->have_arrived(0, partitions - 1, r), "all have arrived");
        for (std::size_t p = 0; p < partitions; ++p)
          model::require(e->target[p].get() == value_of(p, r), "all of the round");
      }
      await(e->sent, count);
      e->partitions_of.reset();
    });
    return scene;
  };
}

// The sender makes its second partition ready only when the receiver has the first. Each of them is alone in its group.
model::setup answered() {
  return [] {
    auto e = std::make_shared<exchange<2>>(2, 1);
    auto answers = std::make_shared<number>(0);
    e->partitions_of->begin_sending();
    scenario scene;
    scene.threads.push_back([=] {
      for (std::size_t p = 0; p < 2; ++p) {
        if (p != 0) await(*answers, 1);
        e->source[p].set(value_of(p, 1));
        e->make_ready(p, 1);
      }
      await(e->sent, 1);
    });
    scene.threads.push_back([=] {
      if (e->partitions_of->begin_receiving(1, e->copier())) e->end(1);
      for (;;) {
        if (e->partitions_of->have_arrived(0, 0, 1)) break;
        model::require(!e->partitions_of->take_ready(0, 0, 1, e->copier()), "one is left");
        if (e->partitions_of->have_arrived(0, 0, 1)) break;
        model::pause();
      }
      model::require(e->target[0].get() == value_of(0, 1), "what has arrived");
      answers->store(1, std::memory_order_release);
      await(e->received, 1);
      model::require(e->target[1].get() == value_of(1, 1), "all of the round");
    });
    return scene;
  };
}

// Somebody else waits for the round and reads what has arrived.
model::setup observed() {
  return [] {
    constexpr std::size_t partitions = 2;
    auto e = std::make_shared<exchange<2>>(partitions, 1);
    e->partitions_of->begin_sending();
    model::require(!e->partitions_of->begin_receiving(1, e->copier()), "nothing is ready");
    scenario scene;
    for (std::size_t p = 0; p < partitions; ++p)
      scene.threads.push_back([=] {
        e->source[p].set(value_of(p, 1));
        e->make_ready(p, 1);
      });
    scene.threads.push_back([=] {
      model::wait_until([&] { return e->partitions_of->all_settled(); });
      for (std::size_t p = 0; p < partitions; ++p)
        model::require(e->target[p].get() == value_of(p, 1), "what all have copied");
    });
    return scene;
  };
}

// Two threads make one partition ready: one of them is told.
model::setup ready_twice() {
  return [] {
    auto e = std::make_shared<exchange<2>>(2, 2);
    auto told = std::make_shared<number>(0);
    e->partitions_of->begin_sending();
    scenario scene;
    for (int t = 0; t < 2; ++t)
      scene.threads.push_back([=] {
        if (e->partitions_of->mark(0, 1) == partition_turn::twice)
          told->fetch_add(1, std::memory_order_relaxed);
      });
    scene.check = [=] { return told->load(std::memory_order_relaxed) == 1; };
    return scene;
  };
}

// Two rounds with one partition; two partitions in two words, and in one word as two groups and as one,
// also when one side waits for the other in the middle.
std::vector<model::setup> all() {
  return {rounds<1>(1, 1, 2, true),
          rounds<1>(2, 1, 1, false),
          rounds<2>(2, 2, 1, true),
          rounds<2>(2, 1, 1, false),
          answered(),
          observed()};
}

TEST(partition_board_model, every_schedule_copies_each_partition_once) {
  EXPECT_EQ(model::failures({rounds<1>(1, 1, 2, true)}, 3), "");
  EXPECT_EQ(model::failures(all(), 2), "");
  EXPECT_EQ(model::failures({ready_twice()}, model::unbounded), "");
}

TEST(partition_board_model, every_label_is_needed) {
  EXPECT_EQ(model::unneeded_places(all(), 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
