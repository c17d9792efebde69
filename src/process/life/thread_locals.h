/* Room for the thread-local variables of executables, in each thread of weft-host-threads, directly below the thread pointer. */
#ifndef WEFT_PROCESS_LIFE_THREAD_LOCALS_H
#define WEFT_PROCESS_LIFE_THREAD_LOCALS_H
#ifdef __cplusplus
extern "C" {
#endif

enum { weft_thread_locals_max = 64 * 1024, weft_thread_locals_alignment_max = 64 };

/* The calling thread's: weft_thread_locals_max bytes. weft-host-threads has this function. */
char* weft_room_for_thread_locals(void);

#ifdef __cplusplus
}
#endif
#endif
