/* Built with -ftls-model=initial-exec: each copy takes static space of every thread. */
#include <stdio.h>
#include <unistd.h>

__thread int values[64];

int main(void) {
  for (int i = 0; i < 3; ++i) {
    ++values[5];
    usleep(500);
  }
  puts(values[5] == 3 ? "right" : "wrong");
  return values[5] != 3;
}
