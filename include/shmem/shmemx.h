/* Active messages: those of the paper, and more. docs/openshmem.md explains them.
   Written by src/shmem/generate.py from its table: change that. */
#ifndef WEFT_SHMEMX_H
#define WEFT_SHMEMX_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that a message may hold; shmemx_am_payload_max() says what is accepted. */
#define SHMEMX_AM_PAYLOAD_MAX_SIZE 32768

/* Called by shmemx_am_poll(), shmemx_am_wait() and the other calls that take args_p, on the PE that calls them.
   The payload is gone when the handler returns. It may put, get, use atomics, fence, quiet, and send messages. */
typedef void (*shmemx_am_handler_t)(void* payload, size_t length, void* args_r, void* args_p, int source_pe);

/* shmemx_am_set_handler      the paper's: id is this PE's own; NULL for handler resets the id that is passed
   shmemx_am_set_handler_all  collective: the same id on all PEs
   shmemx_am_send_nbi         payload may be changed after shmem_quiet(); waits while the target's queue is full
   shmemx_ctx_am_send_nbi     the same on a context; in a session with SHMEM_CTX_SESSION_BATCH messages go together
   shmemx_am_try_send_nbi     0 instead of waiting
   shmemx_am_poll             runs handlers of what has come; how many
   shmemx_am_wait             waits until something has come, then runs its handlers
   shmemx_am_reply            in a handler: what shmemx_am_call() of the source returns
   shmemx_am_call             sends, runs handlers while it waits, and returns how many bytes the handler has replied with
   shmemx_am_quiet            returns when the handlers of all messages that this PE has sent have run; runs handlers
   shmemx_am_barrier_all      collective: returns when all messages of all PEs, and what their handlers have sent, have
                              been handled */

/* --- Active messages --- */
void shmemx_am_set_handler(shmemx_am_handler_t handler, void* args_r, int* id);
void shmemx_am_set_handler_all(shmemx_am_handler_t handler, void* args_r, int* id);
void shmemx_am_send_nbi(int id, void* payload, size_t length, int pe);
void shmemx_ctx_am_send_nbi(shmem_ctx_t ctx, int id, void* payload, size_t length, int pe);
int shmemx_am_try_send_nbi(int id, void* payload, size_t length, int pe);
int shmemx_am_poll(void* args_p);
void shmemx_am_wait(void* args_p);
void shmemx_am_reply(void* data, size_t length);
size_t shmemx_am_call(int id, void* payload, size_t length, int pe, void* reply, size_t reply_max, void* args_p);
void shmemx_am_quiet(void* args_p);
void shmemx_am_barrier_all(void* args_p);
size_t shmemx_am_payload_max(void);

#ifdef __cplusplus
}
#endif
#endif
