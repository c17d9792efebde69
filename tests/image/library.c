/* A library of the program's own that holds state and calls the program back. */
static int calls;
int library_total = 100;
int program_number(void);
/* The last object of the library, most likely, and a word that points behind it. */
double table[1000];
double* table_end = table + 1000;

int library_count(void) {
  if (table_end != table + 1000) return -1;
  library_total += program_number();
  return ++calls;
}
