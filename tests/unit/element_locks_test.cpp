// Locks of elements whose holder is killed: processes that share them, of which some die with a lock.
#include "rma/element_locks.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <vector>

namespace weft {
namespace {

using rma::element_change;
using rma::element_locks;
using rma::element_update;

constexpr std::size_t elements = 512;  // 4 KiB: a row of blocks (element_locks.hpp).
constexpr std::uint32_t first = 1, second = 2, survivor = 3;

struct shared_memory {
  element_locks locks;
  std::array<long, elements> sums;
};

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  ::_exit(1);
}
void add(const void*, void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<long*>(left)[i] += static_cast<const long*>(right)[i];
}
// Changes one element, and dies with the lock.
void add_one_and_die(const void* op, void* left, const void* right, std::size_t) {
  add(op, left, right, 1);
  die();
}
element_update update_by(element_update::combine_function combine) {
  element_update made{.alignment = alignof(long), .change = element_change::combine};
  made.element_bytes = made.operand_bytes = sizeof(long);
  made.combine = combine;
  return made;
}

class element_locks_of_the_dead : public ::testing::Test {
 protected:
  element_locks_of_the_dead()
      : at_(static_cast<shared_memory*>(::mmap(nullptr, sizeof(shared_memory),
                                               PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                               -1, 0))) {}
  ~element_locks_of_the_dead() override { ::munmap(at_, sizeof(shared_memory)); }

  template <class IsGone>
  void change(std::uint32_t me, std::size_t from, std::size_t count,
              element_update::combine_function how, const IsGone& is_gone) {
    const std::vector<long> ones(count, 1);
    at_->locks.change(me, from * sizeof(long), reinterpret_cast<std::byte*>(&at_->sums[from]),
                      update_by(how), reinterpret_cast<const std::byte*>(ones.data()), nullptr,
                      count, is_gone);
  }
  // A process that lives until `run` kills it. From then on it is known to be dead.
  void lose(std::uint32_t who, const std::function<void()>& run) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      run();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it did not come to die";
    dead_[who] = true;
  }
  void lose_in_update(std::uint32_t who, std::size_t from, std::size_t count) {
    lose(who,
         [&] { change(who, from, count, &add_one_and_die, [](std::uint32_t) { return false; }); });
  }
  void survive(std::size_t from, std::size_t count) {
    change(survivor, from, count, &add, [&](std::uint32_t holder) {
      ++asked_[holder];
      return dead_[holder];
    });
  }
  [[nodiscard]] long sum(std::size_t element) const { return at_->sums[element]; }

  std::array<int, 4> asked_{};
  std::array<bool, 4> dead_{};

 private:
  shared_memory* const at_;
};

TEST_F(element_locks_of_the_dead, of_one_block_are_taken_by_who_changes_an_element_or_a_row) {
  lose_in_update(first, 3, 1);
  survive(3, 1);
  EXPECT_EQ(sum(3), 2);
  EXPECT_EQ(asked_[first], 1);
  lose_in_update(second, 3, 1);
  survive(0, elements);
  EXPECT_EQ(sum(3), 4);
  EXPECT_EQ(sum(elements - 1), 1);
  EXPECT_EQ(asked_[second], 1);
  survive(3, 1);
  survive(0, elements);
  EXPECT_EQ(asked_[first] + asked_[second], 2) << "a lock that was taken has not been given";
}

TEST_F(element_locks_of_the_dead, of_a_row_are_taken_by_who_changes_a_row_or_an_element) {
  lose_in_update(first, 0, elements);
  survive(0, elements);
  EXPECT_EQ(sum(0), 2);
  EXPECT_EQ(asked_[first], 1);
  lose_in_update(second, 0, elements);
  survive(9, 1);
  EXPECT_EQ(sum(9), 2);
  EXPECT_EQ(asked_[second], 1);
  survive(0, elements);
  survive(9, 1);
  EXPECT_EQ(asked_[first] + asked_[second], 2) << "a lock that was taken has not been given";
}

// The second one dies while it waits for the block of the first, with the group's lock.
TEST_F(element_locks_of_the_dead, are_taken_from_one_that_has_waited_for_another_dead) {
  lose_in_update(first, 40, 1);
  lose(second, [&] { change(second, 0, elements, &add, [](std::uint32_t) -> bool { die(); }); });
  EXPECT_EQ(sum(0), 0) << "it has not waited for the block";
  survive(0, elements);
  EXPECT_EQ(sum(40), 2);
  EXPECT_EQ(asked_[first], 1);
  EXPECT_EQ(asked_[second], 1);
  survive(40, 1);
  EXPECT_EQ(asked_[first] + asked_[second], 2) << "a lock that was taken has not been given";
}

}  // namespace
}  // namespace weft
