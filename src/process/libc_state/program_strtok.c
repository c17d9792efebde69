/* strtok() with a place of each rank. */
#include <string.h>

#include "process/life/program_replaces.h"

LINKED_AS(strtok);

REPLACES char* strtok(char* text, const char* separators) {
  static char* place;
  return strtok_r(text, separators, &place);
}
