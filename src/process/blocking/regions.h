/* Regions of OpenMP that ranks begin. */
#ifndef WEFT_PROCESS_BLOCKING_REGIONS_H
#define WEFT_PROCESS_BLOCKING_REGIONS_H
#ifdef __cplusplus
extern "C" {
#endif

/* A rank's own thread that begins a region does not wait in its barriers for threads that wait in MPI for other ranks of its worker: it
   lets those ranks run until all others of the team have come to the barrier, too. */
struct weft_region;
/* Null, always when `body` is: the team runs `body(argument)` by itself. Otherwise each of its threads calls
   weft_run_part(). Both end with weft_end_region(), which is given the `outer` that this one has set. */
struct weft_region* weft_begin_region(void (*body)(void*), void* argument,
                                      struct weft_region** outer);
void weft_end_region(struct weft_region* outer);
void weft_run_part(struct weft_region* region, unsigned member, unsigned members);
/* Each thread of a team calls this before a barrier of the region that it is in. */
void weft_meet_in_region(void);
/* A thread of the team has made a task. Whoever waits in OpenMP's barriers runs those: the first thread does not wait
   elsewhere any more. */
void weft_has_tasks(void);

#ifdef __cplusplus
}
#endif
#endif
