/* What the stubs that Fortran calls share. They are linked to each program (libweft-program.a), so that
   common blocks and tables here are private to a rank, as the program's own. */
#ifndef WEFT_MPI_FORTRAN_STUBS_H
#define WEFT_MPI_FORTRAN_STUBS_H
#include <stddef.h>
#include <stdlib.h>

#include "mpi/mpi.h"

/* The name without the p in front is weak: a program may define it and call the other. */
#define WEFT_FORTRAN_NAME(name, parameters) extern __attribute__((weak, alias("p" #name))) void name parameters

/* Addresses that stand for something: common blocks of mpif.h. */
extern int weft_mpi_bottom_, weft_mpi_in_place_, weft_mpi_buffer_automatic_;
extern int weft_mpi_status_ignore_[8], weft_mpi_statuses_ignore_[8];
extern int weft_mpi_unweighted_[1], weft_mpi_weights_empty_[1], weft_mpi_errcodes_ignore_[1];

static inline void* weft_fortran_place(void* buffer) {
  if (buffer == &weft_mpi_bottom_) return MPI_BOTTOM;
  if (buffer == &weft_mpi_in_place_) return MPI_IN_PLACE;
  if (buffer == &weft_mpi_buffer_automatic_) return MPI_BUFFER_AUTOMATIC;
  return buffer;
}

static inline MPI_Status* weft_fortran_status(MPI_Status* status) {
  return (void*)status == weft_mpi_status_ignore_ || (void*)status == weft_mpi_statuses_ignore_ ? MPI_STATUS_IGNORE
                                                                                                 : status;
}

static inline int* weft_fortran_weights(const int* weights) {
  if (weights == weft_mpi_unweighted_) return MPI_UNWEIGHTED;
  if (weights == weft_mpi_weights_empty_) return MPI_WEIGHTS_EMPTY;
  return (int*)weights;
}

/* A text of Fortran ends with blanks, and one of C with a zero. The first is freed by the caller. */
char* weft_fortran_text_in(const char* text, size_t length);
void weft_fortran_text_out(const char* text, char* to, size_t room);

/* Memory of `count` elements, at least one byte; never null. */
void* weft_fortran_memory(long count, size_t size);

/* MPI_Comm_idup: the integer is written when the request is complete (communicator.cpp). */
int weft_fortran_idup(MPI_Comm comm, MPI_Info info, MPI_Fint* newcomm, MPI_Request* request);

/* The length of the arrays of datatypes of alltoallw. */
long weft_fortran_peers(MPI_Comm comm);
long weft_fortran_neighbours(MPI_Comm comm, int incoming);

#endif
