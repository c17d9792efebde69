/* What weft-host-threads has beside weft-host. Its object is linked last: nothing else lies between this and the thread pointer. */
#include "process/life/thread_locals.h"

static _Thread_local char room[weft_thread_locals_max]
    __attribute__((aligned(weft_thread_locals_alignment_max)));

char* weft_room_for_thread_locals(void) {
  return room;
}
