/* Between the files that are linked to each program: what the first call into a copy sets up. */
#ifndef WEFT_PROCESS_LIFE_PROGRAM_BEGIN_H
#define WEFT_PROCESS_LIFE_PROGRAM_BEGIN_H

__attribute__((visibility("hidden"))) void weft_begin_environment(char** environment);
__attribute__((visibility("hidden"))) void weft_begin_input(void* standard_input);
__attribute__((visibility("hidden"))) void weft_begin_output(void* standard_output, void* standard_error);
/* All of them. */
__attribute__((visibility("hidden"))) void weft_begin_copy(char** environment, void* standard_input,
                                                           void* standard_output, void* standard_error);

typedef int weft_main_function(int, char**, char**);
/* Has the form of the C library's __libc_start_main(), which it goes on to. */
typedef int weft_start_function(weft_main_function* main, int argc, char** argv, void (*begin)(void), void (*end)(void),
                                void (*end_of_loader)(void), void* stack);
__attribute__((visibility("hidden"))) weft_start_function weft_start_program;

#endif
