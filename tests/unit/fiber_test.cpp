#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "fiber/context.hpp"
#include "fiber/stack_pool.hpp"
#include "job.hpp"
#include "weft/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace weft {
namespace {

// Two flows of control on one thread: the test's own and one fiber.
struct pair_of_flows {
  stack_pool stacks{64 * 1024};
  context main;
  thread_state state = this_thread_state();
  void (*body)(pair_of_flows&);
  int steps = 0;
  std::unique_ptr<context> fiber;

  explicit pair_of_flows(void (*f)(pair_of_flows&)) : body(f) {
    fiber = std::make_unique<context>(
        stacks.take(),
        [](void* self) {
          auto& flows = *static_cast<pair_of_flows*>(self);
          flows.body(flows);
          context::leave_to(*flows.fiber, flows.main);
        },
        this);
  }
  void enter() { context::switch_to(main, *fiber, state); }
  void leave() { context::switch_to(*fiber, main, state); }
};

TEST(context, control_goes_back_and_forth_and_locals_stay) {
  pair_of_flows flows([](pair_of_flows& f) {
    for (int i = 1; i <= 3; ++i) {
      f.steps = i;
      f.leave();
    }
    f.steps = 100;
  });
  for (int i = 1; i <= 3; ++i) {
    flows.enter();
    EXPECT_EQ(flows.steps, i);
  }
  flows.enter();
  EXPECT_EQ(flows.steps, 100);
}

TEST(context, a_visit_runs_on_the_suspended_stack_and_leaves_it_as_it_was) {
  pair_of_flows flows([](pair_of_flows& f) {
    int local = 5;
    for (int i = 1; i <= 3; ++i) {
      f.steps = local + i;
      f.leave();
    }
    f.steps = -1;
  });
  flows.enter();
  for (int i = 1; i <= 3; ++i) {
    for (int visits = 0; visits < i; ++visits) {
      struct seen {
        int* steps;
        std::uintptr_t at = 0;
      } it{&flows.steps};
      context::visit(
          flows.main, *flows.fiber,
          [](void* argument) {
            auto& s = *static_cast<seen*>(argument);
            const volatile char here = 1;
            s.at = reinterpret_cast<std::uintptr_t>(&here) + (*s.steps > 0 ? 0 : 1);
          },
          &it);
      const volatile char mine = 1;
      const auto own = reinterpret_cast<std::uintptr_t>(&mine);
      if (!sanitized) {  // AddressSanitizer may keep locals elsewhere.
        EXPECT_GT(it.at > own ? it.at - own : own - it.at, 256u * 1024);
      }
      EXPECT_EQ(flows.steps, 5 + i);
    }
    flows.enter();
  }
  EXPECT_EQ(flows.steps, -1);
}

TEST(context, errno_belongs_to_the_flow) {
  pair_of_flows flows([](pair_of_flows& f) {
    errno = ENOENT;
    f.leave();
    f.steps = errno;
  });
  errno = EAGAIN;
  flows.enter();
  EXPECT_EQ(errno, EAGAIN);
  errno = EINTR;
  flows.enter();
  EXPECT_EQ(flows.steps, ENOENT);
}

// Of operands that the compiler does not know, so that it is the processor that rounds and raises.
double quotient(double of, double by) {
  volatile double dividend = of, divisor = by, result = dividend / divisor;
  return result;
}

TEST(context, rounding_belongs_to_the_flow) {
  pair_of_flows flows([](pair_of_flows& f) {
    std::fesetround(FE_UPWARD);
    f.leave();
    f.steps = std::fegetround() == FE_UPWARD ? 1 : -1;
    f.leave();
  });
  const double nearest = quotient(1, 3);
  flows.enter();
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(quotient(1, 3), nearest);
  flows.enter();
  EXPECT_EQ(flows.steps, 1);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

// How long doubles are rounded, for which some machines have a unit of its own: 1 up, -1 down, 0 neither.
int rounding_of_long_doubles() {
  volatile long double one = 1, minus_one = -1, three = 3;  // The processor's to divide.
  const volatile long double third = one / three, mirrored = minus_one / three;
  return (third > -mirrored) - (third < -mirrored);
}

TEST(context, long_doubles_are_rounded_as_the_flow_says) {
  pair_of_flows flows([](pair_of_flows& f) {
    std::fesetround(FE_DOWNWARD);
    f.leave();
    f.steps = rounding_of_long_doubles();
    f.leave();
    std::fesetround(FE_UPWARD);
    f.leave();
    f.steps = rounding_of_long_doubles();
  });
  flows.enter();
  EXPECT_EQ(rounding_of_long_doubles(), 0);
  std::fesetround(FE_UPWARD);
  flows.enter();
  EXPECT_EQ(flows.steps, -1);
  EXPECT_EQ(rounding_of_long_doubles(), 1);
  flows.enter();  // Now both round up.
  std::fesetround(FE_TONEAREST);
  flows.enter();
  EXPECT_EQ(flows.steps, 1);
  EXPECT_EQ(rounding_of_long_doubles(), 0);
}

TEST(context, raised_exceptions_of_arithmetic_belong_to_the_flow) {
  pair_of_flows flows([](pair_of_flows& f) {
    f.steps = std::fetestexcept(FE_DIVBYZERO) == 0 ? 1 : -1;
    quotient(1e300, 1e-300);
    f.leave();
    f.steps = std::fetestexcept(FE_OVERFLOW) != 0 && std::fetestexcept(FE_DIVBYZERO) == 0 ? 2 : -2;
    f.leave();
  });
  std::feclearexcept(FE_ALL_EXCEPT);
  quotient(1, 0);
  flows.enter();
  EXPECT_EQ(flows.steps, 1);
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW), FE_DIVBYZERO);
  flows.enter();
  EXPECT_EQ(flows.steps, 2);
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW), FE_DIVBYZERO);
  std::feclearexcept(FE_ALL_EXCEPT);
}

TEST(context, two_flows_handle_exceptions_at_the_same_time) {
  static std::string seen_by_fiber;
  pair_of_flows flows([](pair_of_flows& f) {
    try {
      throw std::runtime_error("fiber");
    } catch (const std::exception&) {
      f.leave();  // While it is being handled.
      try {
        throw;
      } catch (const std::exception& e) {
        seen_by_fiber = e.what();
      }
    }
    f.steps = std::uncaught_exceptions();
  });
  std::string seen;
  try {
    throw std::runtime_error("main");
  } catch (const std::exception&) {
    flows.enter();
    try {
      throw;
    } catch (const std::exception& e) {
      seen = e.what();
    }
    flows.enter();
  }
  EXPECT_EQ(seen, "main");
  EXPECT_EQ(seen_by_fiber, "fiber");
  EXPECT_EQ(flows.steps, 0);
}

TEST(context, a_flow_may_switch_while_an_exception_passes_through_it) {
  struct switches_in_its_destructor {
    pair_of_flows& f;
    ~switches_in_its_destructor() {
      f.leave();
      f.steps = std::uncaught_exceptions();
    }
  };
  pair_of_flows flows([](pair_of_flows& f) {
    try {
      const switches_in_its_destructor guard{f};
      throw std::runtime_error("passes");
    } catch (const std::exception&) {
    }
  });
  flows.enter();
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  flows.enter();
  EXPECT_EQ(flows.steps, 1);
}

TEST(stack_pool, stacks_are_apart_writable_and_of_the_asked_size) {
  stack_pool pool(100'000);
  EXPECT_GE(pool.stack_bytes(), 100'000u);
  std::vector<std::span<std::byte>> stacks;
  for (int i = 0; i < 100; ++i) {
    stacks.push_back(pool.take());
    EXPECT_GE(stacks.back().size(), pool.stack_bytes() * 7 / 8);
    stacks.back().front() = std::byte{1};
    stacks.back().back() = std::byte{2};
  }
  std::set<const std::byte*> bases;
  for (const auto& s : stacks) bases.insert(s.data());
  EXPECT_EQ(bases.size(), stacks.size());
}

TEST(stack_pool, a_stack_given_back_is_taken_again) {
  stack_pool pool(64 * 1024);
  const auto first = pool.take();
  pool.give_back(first);
  EXPECT_EQ(pool.take().data(), first.data());
}

#if defined(__SANITIZE_ADDRESS__)
TEST(stack_pool, leaves_no_red_zones_in_the_memory_that_it_unmaps) {
  std::span<std::byte> stack;
  {
    stack_pool pool(64 * 1024);
    stack = pool.take();
    // As a frame does that never returns.
    __asan_poison_memory_region(stack.last(64).data(), 64);
  }
  EXPECT_EQ(__asan_region_is_poisoned(stack.data(), stack.size()), nullptr);
}
#endif

TEST(stack_pool, knows_the_guard_page_below_a_stack) {
  stack_pool pool(64 * 1024);
  const auto stack = pool.take();
  EXPECT_TRUE(pool.in_guard_page(stack.data() - 1));
  EXPECT_FALSE(pool.in_guard_page(stack.data()));
  EXPECT_FALSE(pool.in_guard_page(stack.data() + stack.size() - 1));
  int elsewhere = 0;
  EXPECT_FALSE(pool.in_guard_page(&elsewhere));
}

TEST(stack_pool, a_thousand_stacks_commit_only_what_is_touched) {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  stack_pool pool(8 << 20);
  for (int i = 0; i < 1000; ++i) pool.take().back() = std::byte{1};
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024);  // KiB, of 8,000 MiB reserved.
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void want_address_space() {
  const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
  setrlimit(RLIMIT_AS, &limit);
  try {
    stack_pool pool(std::size_t{1} << 30);
    (void)pool.take();
  } catch (const error& e) {
    std::fputs(e.what(), stderr);
    std::exit(7);
  }
}

TEST(stack_pool, want_of_address_space_is_an_error_with_a_remedy) {
  EXPECT_EXIT(want_address_space(), testing::ExitedWithCode(7),
              "cannot map a stack of 1073741824 bytes.*WEFT_STACK.*ulimit -v");
}
#endif

}  // namespace
}  // namespace weft
