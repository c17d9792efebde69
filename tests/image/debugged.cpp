// A debugger stops in each rank and looks at its variable.
#include <weft/weft.hpp>

int own_number;

[[gnu::noinline]] void stop_here() {
  asm volatile("");
}

int main(int, char**) {
  own_number = 1000 + weft::this_rank();
  stop_here();  // image_test.cpp knows the line.
  asm volatile("");
}
