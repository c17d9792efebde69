// Communicators that are revoked while their ranks move data, large ones between processes in each other's memory: whoever has left
// has its memory for itself, whoever has not been told of it has the right data, and nobody waits for ever.
#include <chrono>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "collective/broken_communicator.hpp"
#include "job.hpp"
#include "rank/state.hpp"

namespace weft {
namespace {

constexpr std::size_t large_part =
    40'000;  // Numbers: large enough to be written by their owners, too.
constexpr long left_behind = -1;

enum class moved { bcast, gather, allgather, alltoall, reduce, allreduce };
constexpr int moved_count = 6;

// What a rank gives and takes in one collective. Number i of its part for rank `to` is known to all.
class collective_data {
 public:
  collective_data(communicator& c, moved how, int root, std::size_t part = large_part)
      : c_(c),
        how_(how),
        root_(root),
        part_(part),
        n_(static_cast<std::size_t>(c.size())),
        in_(how == moved::alltoall ? n_ * part : part),
        out_(takes_parts() * part, 0) {
    for (std::size_t i = 0; i < in_.size(); ++i)
      in_[i] = number(c.rank(), static_cast<int>(i / part), i % part);
    if (how == moved::bcast && c.rank() == root) std::copy(in_.begin(), in_.end(), out_.begin());
  }

  void move() {
    switch (how_) {
      case moved::bcast:
        return c_.bcast(out_, root_);
      case moved::gather:
        return c_.gather(in_, out_, root_);
      case moved::allgather:
        return c_.allgather(in_, out_);
      case moved::alltoall:
        return c_.alltoall(in_, out_);
      case moved::reduce:
        return c_.reduce(in_, out_, std::plus<>{}, root_);
      case moved::allreduce:
        return c_.allreduce(in_, out_, std::plus<>{});
    }
  }
  [[nodiscard]] request start() {
    switch (how_) {
      case moved::bcast:
        return c_.ibcast(out_, root_);
      case moved::gather:
        return c_.igather(in_, out_, root_);
      case moved::allgather:
        return c_.iallgather(in_, out_);
      case moved::alltoall:
        return c_.ialltoall(in_, out_);
      case moved::reduce:
        return c_.ireduce(in_, out_, std::plus<>{}, root_);
      default:
        return c_.iallreduce(in_, out_, std::plus<>{});
    }
  }
  void expect_moved() const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out_.size(); ++i) wrong += out_[i] != wanted(i);
    EXPECT_EQ(wrong, 0u) << "numbers of " << out_.size() << ", in collective " << name();
  }
  // The rank has left: it does with its memory what it likes.
  void use_again() {
    std::ranges::fill(in_, left_behind);
    std::ranges::fill(out_, left_behind);
  }
  void expect_untouched() const {
    const auto is_other = [](long value) { return value != left_behind; };
    EXPECT_EQ(std::ranges::count_if(out_, is_other), 0) << "in collective " << name();
    EXPECT_EQ(std::ranges::count_if(in_, is_other), 0) << "in collective " << name();
  }

 private:
  [[nodiscard]] int name() const { return static_cast<int>(how_); }
  [[nodiscard]] bool is_root() const { return c_.rank() == root_; }
  [[nodiscard]] std::size_t takes_parts() const {
    switch (how_) {
      case moved::gather:
        return is_root() ? n_ : 0;
      case moved::reduce:
        return is_root() ? 1 : 0;
      case moved::allgather:
      case moved::alltoall:
        return n_;
      default:
        return 1;
    }
  }
  [[nodiscard]] static long number(int from, int to, std::size_t i) {
    return from * 1'000'000L + to * 100'000L + static_cast<long>(i);
  }
  [[nodiscard]] long wanted(std::size_t i) const {
    const auto from = static_cast<int>(i / part_);
    switch (how_) {
      case moved::bcast:
        return number(root_, 0, i);
      case moved::gather:
      case moved::allgather:
        return number(from, 0, i % part_);
      case moved::alltoall:
        return number(from, c_.rank(), i % part_);
      default:
        break;
    }
    long sum = 0;
    for (int rank = 0; rank < c_.size(); ++rank) sum += number(rank, 0, i);
    return sum;
  }

  communicator& c_;
  const moved how_;
  const int root_;
  const std::size_t part_;
  const std::size_t n_;
  std::vector<long> in_, out_;
};

// Without `looks` the worker hears nothing meanwhile, while others may be past their first meeting.
void spin_for(std::uint64_t ns, bool looks) {
  for (int i = 0; i < 4; ++i) yield();
  const std::uint64_t until = now_ns() + ns;
  while (now_ns() < until)
    if (looks) yield();
}

// In each round another rank revokes, at another moment: before it comes to the collective, or while it is in it.
void revoke_at_all_times(int ranks, int workers, int rounds) {
  run_ranks(ranks, workers, [&](communicator& world) {
    std::minstd_rand random(static_cast<unsigned>(tests::number_of_environment("TEST_SEED", 1)));
    for (int round = 0; round < rounds; ++round) {
      const int revoker = round % ranks;
      const bool comes = round / ranks % 4 != 0;
      const auto how = static_cast<moved>(random() % moved_count);
      const int root = static_cast<int>(random() % static_cast<unsigned>(ranks));
      const auto after_ns = std::uint64_t{random() % 80'000};
      const bool looks = random() % 4 == 0;
      communicator c = world.dup();
      // From now on all know whether they reach each other's memory.
      std::vector<long> first(large_part);
      c.bcast(first, 0);
      collective_data data(c, how, root);
      std::string told;
      world.barrier();
      try {
        if (world.rank() == revoker) {
          request moving;
          if (comes) moving = data.start();
          spin_for(after_ns, looks);
          detail::revoke(*detail::calling_rank("test").home, c.state());
          if (comes) moving.wait();
        } else {
          data.move();
        }
      } catch (const error& e) {
        told = e.what();
      }
      if (!told.empty())
        expect_contains(told, "is revoked");
      else if (world.rank() != revoker || comes)
        data.expect_moved();
      data.use_again();
      world.barrier();
      data.expect_untouched();
    }
  });
}

TEST(a_revocation, of_large_collectives_leaves_nobody_in_them_and_no_memory_in_use) {
  revoke_at_all_times(6, 6, 48);
  revoke_at_all_times(6, 3, 36);
}

// A rank revokes when its own call has ended. On the worker of the two others a rank of another communicator runs meanwhile: one of
// the two is woken by the revocation before the one that speaks for both has looked at what came.
TEST(a_revocation, after_a_small_collective_leaves_no_memory_in_use) {
  run_ranks(6, 2, [&](communicator& world) {
    constexpr int speakers_worker_ranks = 3, revoker = 3;
    const bool is_in = world.rank() <= 1 || world.rank() == revoker;
    for (int round = 0; round < 300; ++round) {
      communicator c = *world.split(is_in ? 1 : 0, 0);
      constexpr moved ways[] = {moved::allreduce, moved::alltoall, moved::allgather};
      collective_data data(c, ways[round % 3], 0, 1);
      world.barrier();
      if (is_in) {
        try {
          data.move();
          data.expect_moved();
          if (world.rank() == revoker)
            detail::revoke(*detail::calling_rank("test").home, c.state());
        } catch (const error& e) {
          expect_contains(e.what(), "is revoked");
        }
      } else if (world.rank() < speakers_worker_ranks) {
        spin_for(std::uint64_t{10'000} * static_cast<unsigned>(1 + round % 8), false);
        yield();
      }
      data.use_again();
      world.barrier();
      data.expect_untouched();
    }
  });
}

// Between processes of one rank reductions, too, are made in each other's memory.
TEST(a_revocation, of_one_rank_a_process_leaves_nobody_in_them_and_no_memory_in_use) {
  revoke_at_all_times(3, 3, 48);
}

}  // namespace
}  // namespace weft
