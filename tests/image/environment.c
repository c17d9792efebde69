/* The variables with which the host was started are none of the ranks' business. */
#include <stdio.h>
#include <stdlib.h>

static const char* value(const char* name) {
  const char* const text = getenv(name);
  return text != NULL ? text : "-";
}

int main(void) {
  printf("%s %s %s\n", value("LD_LIBRARY_PATH"), value("WEFT_IMAGE"), value("GLIBC_TUNABLES"));
  return 0;
}
