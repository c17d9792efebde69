/* Descriptors of ranks that share a process: a child has those of its rank, and those that are nobody's. */
#ifndef WEFT_PROCESS_FILES_DESCRIPTORS_H
#define WEFT_PROCESS_FILES_DESCRIPTORS_H
#ifdef __cplusplus
extern "C" {
#endif

/* O_CLOEXEC where what code at `from` makes is the calling rank's, 0 elsewhere. A call that makes a descriptor asks the kernel
   for that, too: a program that another rank starts meanwhile does not get a descriptor of which it is not known yet whose it is. */
int weft_closed_at_first(const void* from);
/* The call has made `descriptor`, or none when that is negative: from now on it is known whose it is, and open to programs that its
   rank starts unless `stays_closed`. Returns it. errno stays. */
int weft_made_descriptor(const void* from, int descriptor, int stays_closed);
/* The descriptor is that rank's; -1: nobody's. Any thread calls this. */
void weft_note_owner(int descriptor, int rank);
/* It is about to be closed. */
void weft_note_closed(int descriptor);

/* Whether it is known already to be of a file that never waits. It is until it is closed. */
int weft_is_file(int descriptor);
void weft_note_file(int descriptor, int is_file);

/* Whether other ranks have any, or had some that a child might still have. */
int weft_has_descriptors_of_others(void);
/* Closes what other ranks have opened. A child of the calling rank calls it, also one of vfork(), which has its parent's memory.
   Async-signal-safe. */
void weft_close_descriptors_of_others(void);
/* The calling rank has no use for its own any more, but streams may: nothing that is written there arrives. Where not `all` go, those go
   at whose other end somebody may wait; files stay, to which streams have yet to write. */
void weft_give_up_own_descriptors(int all);
/* The rank has ended: those go at whose other end somebody may wait. Any thread calls this. */
void weft_end_descriptors_of(int rank);
/* close_range(2) by a rank: of its own descriptors alone. Calls `closing` before each is closed. */
int weft_close_own_descriptors(unsigned first, unsigned last, int flags, void (*closing)(int descriptor));

#ifdef __cplusplus
}
#endif
#endif
