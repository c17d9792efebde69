/* The buffers of Fortran 2008: each comes as a descriptor. What lies in a row is passed on by its address; a section of an array
   is passed on with a datatype that says where its elements lie. */
#ifndef WEFT_MPI_FORTRAN_DESCRIPTORS_H
#define WEFT_MPI_FORTRAN_DESCRIPTORS_H
#include <ISO_Fortran_binding.h>

#include "mpi/fortran/section.h"
#include "stubs.h"

/* An argument of a call, with the count and the datatype that go with it. `made` is the call's own, or null. */
struct weft_f08_buffer {
  void* address;
  MPI_Count count;
  MPI_Datatype type, made;
};
#define WEFT_F08_BUFFER const struct weft_f08_buffer __attribute__((cleanup(weft_f08_end)))

static inline void weft_f08_end(const struct weft_f08_buffer* buffer) {
  if (__builtin_expect(buffer->made != NULL, 0)) weft_section_end(buffer->made);
}

/* The last extent of an array of unknown size is -1: such an array lies in a row. */
int weft_f08_has_gaps(const CFI_cdesc_t* of);
static inline int weft_f08_is_section(const CFI_cdesc_t* of) {
  if (of->rank == 0) return 0;
  if (of->rank == 1) return of->dim[0].sm != (CFI_index_t)of->elem_len && of->dim[0].extent > 1;
  return weft_f08_has_gaps(of);
}
struct weft_section weft_f08_section(const CFI_cdesc_t* of);

static inline struct weft_f08_buffer weft_f08_block(const CFI_cdesc_t* of, MPI_Count count, MPI_Datatype type) {
  struct weft_f08_buffer buffer = {weft_fortran_place(of->base_addr), count, type, NULL};
  if (__builtin_expect(weft_f08_is_section(of), 0)) {
    const struct weft_section section = weft_f08_section(of);
    buffer.made = weft_section_block(&section, count, type);
    if (buffer.made != NULL) buffer.type = buffer.made, buffer.count = 1;
  }
  return buffer;
}

static inline struct weft_f08_buffer weft_f08_list(const CFI_cdesc_t* of, MPI_Datatype type) {
  struct weft_f08_buffer buffer = {weft_fortran_place(of->base_addr), 0, type, NULL};
  if (__builtin_expect(weft_f08_is_section(of), 0)) {
    const struct weft_section section = weft_f08_section(of);
    buffer.made = weft_section_list(&section, type);
    if (buffer.made != NULL) buffer.type = buffer.made;
  }
  return buffer;
}

/* For MPI_Alltoallw and its kin: each datatype of the array becomes one of the section. */
void weft_f08_lists(const CFI_cdesc_t* of, MPI_Datatype* types, long count);
void weft_f08_end_lists(const CFI_cdesc_t* of, const MPI_Datatype* types, long count);

/* The two buffers of a reduction have one datatype, which knows both sections. In place the second is read, too. */
static inline struct weft_f08_buffer weft_f08_reduced(const CFI_cdesc_t* from, const CFI_cdesc_t* to, MPI_Datatype type) {
  struct weft_f08_buffer buffer = {NULL, 0, type, NULL};
  if (from->base_addr == &weft_mpi_in_place_) from = to;
  const int has_from = weft_f08_is_section(from), has_to = weft_f08_is_section(to);
  if (__builtin_expect(has_from | has_to, 0)) {
    const struct weft_section one = weft_f08_section(from), other = weft_f08_section(to);
    buffer.made = weft_section_reduced(has_from ? &one : NULL, has_to ? &other : NULL, type);
    if (buffer.made != NULL) buffer.type = buffer.made;
  }
  return buffer;
}

#endif
