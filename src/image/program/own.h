/* Between the files of this directory: what the first call into a copy sets up. */
#ifndef WEFT_IMAGE_PROGRAM_OWN_H
#define WEFT_IMAGE_PROGRAM_OWN_H

__attribute__((visibility("hidden"))) void weft_begin_environment(char** environment);
__attribute__((visibility("hidden"))) void weft_begin_input(void* standard_input);

#endif
