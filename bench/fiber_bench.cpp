// Switching between two fibers of one thread, and a fiber's life with a stack from the pool.
#include "fiber/context.hpp"

#include "fiber/stack_pool.hpp"
#include "two_threads.hpp"

namespace {

struct pair {
  weft::context* home;
  weft::context* other;
  weft::thread_state thread;
};

}  // namespace

int main() {
  bench::raise_priority();
  bench::print_header();
  weft::stack_pool stacks(64 * 1024);
  weft::context home;
  pair both{&home, nullptr, weft::this_thread_state()};
  weft::context other(
      stacks.take(),
      [](void* argument) {
        const pair& p = *static_cast<pair*>(argument);
        for (;;) weft::context::switch_to(*p.other, *p.home, p.thread);
      },
      &both);
  both.other = &other;
  bench::row("fiber/switch_and_back", [&] { weft::context::switch_to(home, other, both.thread); });
  bench::row("fiber/make_run_end", [&] {
    const auto stack = stacks.take();
    weft::context once(
        stack,
        [](void* argument) {
          const pair& p = *static_cast<pair*>(argument);
          weft::context::leave_to(*p.other, *p.home);
        },
        &both);
    both.other = &once;
    weft::context::switch_to(home, once, both.thread);
    stacks.give_back(stack);
  });
}
