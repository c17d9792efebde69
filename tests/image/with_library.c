#include <stdio.h>
#include <unistd.h>

extern int library_total;
int library_count(void);

static int number;
int program_number(void) { return ++number; }

int main(void) {
  int last = 0;
  for (int i = 0; i < 3; ++i) {
    last = library_count();
    usleep(500);
  }
  const int right = last == 3 && library_total == 106 && number == 3;
  puts(right ? "right" : "wrong");
  return !right;
}
