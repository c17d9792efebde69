// A debugger comes while both ranks compute here, each with variables of its own.
#include <cstdio>
#include <weft/weft.hpp>

struct pair_of_numbers {
  int first = 0;
  int second = 0;
};
pair_of_numbers own_pair;
static int own_number;
static volatile bool go_on = false;

[[gnu::noinline]] void wait_for_debugger(int local) {
  own_number = 1000 + local;
  own_pair.second = 2000 + local;
  std::puts("waiting");
  std::fflush(stdout);
  while (!go_on) asm volatile("" : : "r"(own_number), "r"(&own_pair), "r"(local));
}

int main() {
  wait_for_debugger(weft::this_rank());
}
