/* What stubs of Fortran 2008 tell the library about a buffer whose elements do not lie in a row: a section of an array. */
#ifndef WEFT_MPI_FORTRAN_SECTION_H
#define WEFT_MPI_FORTRAN_SECTION_H
#include "mpi/mpi.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { weft_section_rank_max = 15 };  /* Fortran's. */
struct weft_section {
  int rank;
  MPI_Aint element_bytes;
  struct {
    MPI_Aint extent, stride;  /* The stride in bytes; the first dimension runs fastest. */
  } dimensions[weft_section_rank_max];
};

/* Each returns a datatype for one call, which weft_section_end() ends afterwards; null: the call's arguments are wrong without
   the section, and the call finds it out. A section that does not fit becomes a datatype that every call refuses by its reason. */

/* `count` elements of `datatype` within the section, as one element. */
MPI_Datatype weft_section_block(const struct weft_section* section, MPI_Count count, MPI_Datatype datatype);
/* The elements of `datatype` within the section, as collectives count them: from any element on, any number of them. */
MPI_Datatype weft_section_list(const struct weft_section* section, MPI_Datatype datatype);
/* The same for the buffers that a reduction reads and writes; null: that buffer is no section. */
MPI_Datatype weft_section_reduced(const struct weft_section* from, const struct weft_section* to, MPI_Datatype datatype);
void weft_section_end(MPI_Datatype made);
/* Ends a call whose argument must lie in a row: returns what it returns. */
int weft_section_refuse(const char* call, const char* argument, MPI_Comm comm);

#ifdef __cplusplus
}
#endif
#endif
