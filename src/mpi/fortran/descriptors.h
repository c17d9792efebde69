/* The buffers of Fortran 2008: each comes as a descriptor. What lies in a row is passed on by its address; a section of an array
   is passed on with a datatype that says where its elements lie. */
#ifndef WEFT_MPI_FORTRAN_DESCRIPTORS_H
#define WEFT_MPI_FORTRAN_DESCRIPTORS_H
#include <ISO_Fortran_binding.h>

#include "mpi/fortran/section.h"
#include "stubs.h"

/* Whether the elements do not lie in a row. The last extent of an array of unknown size is -1: such an array lies in a row. */
static inline int weft_f08_is_section(const CFI_cdesc_t* of) {
  if (of->rank == 0) return 0;
  CFI_index_t bytes = (CFI_index_t)of->elem_len;
  for (const CFI_dim_t* d = of->dim;; ++d) {
    if (d->sm != bytes && d->extent > 1) return 1;
    if (d == of->dim + of->rank - 1) return 0;
    bytes *= d->extent;
  }
}

/* Each returns the datatype that the call uses for its section, which weft_section_end() ends; null: the program's own. A call's
   count becomes 1 for a block. */
MPI_Datatype weft_f08_block(const CFI_cdesc_t* of, MPI_Count count, MPI_Datatype type) __attribute__((cold));
MPI_Datatype weft_f08_list(const CFI_cdesc_t* of, MPI_Datatype type) __attribute__((cold));
/* The two buffers of a reduction have one datatype, which knows both sections. In place the second is read, too. */
MPI_Datatype weft_f08_reduced(const CFI_cdesc_t* from, const CFI_cdesc_t* to, MPI_Datatype type) __attribute__((cold));
/* For MPI_Alltoallw and its kin: each datatype of the array becomes one of the section. */
void weft_f08_lists(const CFI_cdesc_t* of, MPI_Datatype* types, long count);
void weft_f08_end_lists(const CFI_cdesc_t* of, const MPI_Datatype* types, long count);

#endif
