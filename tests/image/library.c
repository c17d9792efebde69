/* A library of the program's own that holds state and calls the program back. */
static int calls;
int library_total = 100;
int program_number(void);

int library_count(void) {
  library_total += program_number();
  return ++calls;
}
