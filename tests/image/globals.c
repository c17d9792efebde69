/* What a C program keeps in globals, in the C library's hidden ones too, belongs to one rank. Every
   rank waits between the steps, so that others are in the middle of theirs. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int wrong;
int counter;         /* .bss */
int preset = 41;     /* .data */
char table[1 << 16] = {1};
const char* const words[] = {"relocated", "pointers"};

/* The C library has a function of this name, which must not take its place. */
int error(int a, int b) { return a * 10 + b; }

static void expect(int holds, const char* what) {
  if (holds) return;
  wrong = 1;
  printf("wrong: %s\n", what);
}

static int next(void) {
  static int calls;
  return ++calls;
}

static void step(void) { usleep(500); }

static void check_globals(void) {
  for (int i = 0; i < 3; ++i) {
    ++counter;
    ++preset;
    ++table[0];
    expect(next() == i + 1, "a static variable of a function");
    step();
  }
  expect(counter == 3, "a variable of .bss");
  expect(preset == 44, "a variable of .data");
  expect(table[0] == 4, "a large initialised array");
  expect(strcmp(words[1], "pointers") == 0, "a table of pointers");
  expect(error(4, 2) == 42, "a function named as one of the C library");
}

static void check_getopt(int argc, char** argv) {
  static const struct option options[] = {{"level", required_argument, NULL, 'l'}, {0}};
  char seen[64] = "";
  int option;
  while ((option = getopt_long(argc, argv, "ab:", options, NULL)) != -1) {
    const size_t used = strlen(seen);
    snprintf(seen + used, sizeof seen - used, "%c%s", option, optarg != NULL ? optarg : "");
    step();
  }
  expect(strcmp(seen, "ab7l3") == 0, "getopt's options");
  expect(optind == argc - 1 && strcmp(argv[optind], "file") == 0, "getopt's arguments");
}

static void check_random(void) {
  static const int first_of_seed_5[] = {590011675, 99788765, 2131925610};
  srand(5);
  for (int i = 0; i < 3; ++i) {
    expect(rand() == first_of_seed_5[i], "rand()");
    step();
  }
  srand48(7);
  const double first = drand48();
  step();
  const double second = drand48();
  srand48(7);
  step();
  expect(drand48() == first && drand48() == second, "drand48()");
}

/* Each rank's numbers are those of its own seed, whatever others draw meanwhile. */
static void check_sequence(const char* what, void (*seed)(long), long (*draw)(void)) {
  long alone[4];
  seed((long)&counter);
  for (int i = 0; i < 4; ++i) alone[i] = draw();
  seed((long)&counter);
  for (int i = 0; i < 4; ++i) {
    step();
    expect(draw() == alone[i], what);
  }
}
static void seed_random(long seed) { srandom((unsigned)(seed >> 12)); }
static void seed_48(long seed) { srand48(seed >> 12); }

static void check_sequences(void) {
  check_sequence("random()", seed_random, random);
  check_sequence("lrand48()", seed_48, lrand48);
  check_sequence("mrand48()", seed_48, mrand48);
}

/* Of January 1970, 2 to 30: ranks differ, since their copies lie elsewhere. */
static int own_day(void) { return 2 + (int)(((size_t)&counter >> 12) % 29); }

static void check_dates(void) {
  const time_t day = 86400 * (time_t)(own_day() - 1);
  struct tm broken_down;
  char alone[64];
  localtime_r(&day, &broken_down);
  asctime_r(&broken_down, alone);
  const struct tm* const local = localtime(&day);
  step();
  expect(local->tm_mday == broken_down.tm_mday, "localtime()");
  const char* text = ctime(&day);
  step();
  expect(strcmp(text, alone) == 0, "ctime()");
  text = asctime(&broken_down);
  step();
  expect(strcmp(text, alone) == 0, "asctime()");
}

static void check_strings(void) {
  char text[] = "one two three";
  int count = 0;
  for (char* word = strtok(text, " "); word != NULL; word = strtok(NULL, " "), ++count) {
    expect(word == text + 4 * count, "a word of strtok()");
    step();
  }
  expect(count == 3, "strtok()");
  const time_t day = 86400 * (time_t)(own_day() - 1);
  const struct tm* const date = gmtime(&day);
  step();
  expect(date->tm_mday == own_day(), "gmtime()");
  hcreate(10);
  hsearch((ENTRY){"key", "value"}, ENTER);
  step();
  expect(hsearch((ENTRY){"key", NULL}, FIND) != NULL, "hsearch()");
  hdestroy();
}

int main(int argc, char** argv) {
  check_globals();
  check_getopt(argc, argv);
  check_random();
  check_sequences();
  check_dates();
  check_strings();
  errno = 0;
  step();
  expect(errno == 0, "errno");
  printf("%s\n", wrong ? "wrong" : "right");
  return wrong;
}
