/* What a program defines itself goes before what weft would put in the C library's place. */
#ifndef WEFT_PROCESS_LIFE_PROGRAM_REPLACES_H
#define WEFT_PROCESS_LIFE_PROGRAM_REPLACES_H
#define REPLACES __attribute__((weak))

/* program_start.c names this symbol, so that the file is linked to each program, although a library that was linked to the file, too, may
   offer the same functions. */
#define LINKED_AS(file) __attribute__((visibility("hidden"))) const char weft_own_##file = 0
#endif
