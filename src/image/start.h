/* Called by the start code of every program that weftcc links, before its constructors. */
#ifndef WEFT_IMAGE_START_H
#define WEFT_IMAGE_START_H
#ifdef __cplusplus
extern "C" {
#endif

/* Returns when the program is one rank; otherwise this process becomes the host of its copies, and
   the call does not return. */
void weft_become_host(int argc, char** argv);

#ifdef __cplusplus
}
#endif
#endif
