/* Keys of thread-specific values of a rank that shares its process: the host's pthread_key_create() and its kin, which copies
   of programs and their private libraries call. */
#ifndef WEFT_PROCESS_THREADS_OWN_KEYS_H
#define WEFT_PROCESS_THREADS_OWN_KEYS_H
#ifdef __cplusplus
extern "C" {
#endif

/* The C library's keys are smaller. */
enum { weft_first_own_key_bit = 31 };
static inline int weft_is_own_key(unsigned key) { return key >> weft_first_own_key_bit != 0; }

/* These are the functions of POSIX for a key of the calling rank or, where there is the key, of the rank that has made it. They return an error
   number. `rank` is that of the caller, which may be a thread that it has made. */
int weft_make_key(int rank, unsigned* key, void (*destructor)(void*));
int weft_delete_key(unsigned key);
int weft_set_value(unsigned key, const void* value);
void* weft_value(unsigned key);
/* The calling rank's main() ends as a thread does: its values are destroyed. Nothing happens elsewhere. */
void weft_destroy_values(void);

#ifdef __cplusplus
}
#endif
#endif
