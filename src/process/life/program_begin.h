/* Between the files that are linked to each program: what the first call into a copy sets up. */
#ifndef WEFT_PROCESS_LIFE_PROGRAM_BEGIN_H
#define WEFT_PROCESS_LIFE_PROGRAM_BEGIN_H

__attribute__((visibility("hidden"))) void weft_begin_environment(char** environment);
__attribute__((visibility("hidden"))) void weft_begin_input(void* standard_input);
__attribute__((visibility("hidden"))) void weft_begin_output(void* standard_output, void* standard_error);

#endif
