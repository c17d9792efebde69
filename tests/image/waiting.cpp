// All ranks wait: for ever if nobody ends them.
#include <chrono>
#include <weft/weft.hpp>

[[gnu::noinline]] void wait_for_nobody() {
  weft::sleep_for(std::chrono::hours(1));
  asm volatile("");  // No tail call: the function is to be on the stack.
}

int main() {
  wait_for_nobody();
}
