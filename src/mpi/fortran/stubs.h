/* What the stubs share: the functions with Fortran's calling convention that call MPI's functions of C. They are linked to
   each program (libweft-program.a). So the common blocks and tables here belong to one rank, as the program's own data do. */
#ifndef WEFT_MPI_FORTRAN_STUBS_H
#define WEFT_MPI_FORTRAN_STUBS_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "mpi/mpi.h"
#include "trace/callers.h"

/* Behind the definition of pmpi_x_: makes mpi_x_ a weak name of it, which a tool for profiling may define itself; WEFT_FORTRAN_NAME
   also gives it its names in mpi_f08, mpi_x_f08_ and pmpi_x_f08_. */
#define WEFT_FORTRAN_NAME_ALONE(name, parameters) \
  extern __attribute__((weak, alias("p" #name))) void name parameters
#define WEFT_FORTRAN_NAME(name, parameters)                              \
  WEFT_FORTRAN_NAME_ALONE(name, parameters);                             \
  extern __attribute__((weak, alias("p" #name))) void name##f08_ parameters; \
  extern __attribute__((alias("p" #name))) void p##name##f08_ parameters

/* The first statement of a stub. Fortran 2008 may leave `ierror` out. */
#define WEFT_STUB WEFT_STUB_CALLED_FROM(__builtin_return_address(0))
#define WEFT_STUB_CALLED_FROM(caller) \
  WEFT_STUB_OF_CALL_FROM(caller);     \
  MPI_Fint weft_no_error;             \
  if (ierror == NULL) ierror = &weft_no_error

/* A handle of an integer. Those of predefined objects are the integers themselves. */
#define WEFT_IS_PREDEFINED(number) ((unsigned)(number) < 0x1000u)
#define WEFT_PREDEFINED(Handle, number) ((Handle)(uintptr_t)(unsigned)(number))
#define WEFT_HANDLE(Handle, of_fortran, number) \
  (WEFT_IS_PREDEFINED(number) ? WEFT_PREDEFINED(Handle, number) : of_fortran(number))

/* The common blocks of mpif.h whose addresses stand for constants such as MPI_BOTTOM and MPI_IN_PLACE. The functions
   below replace such an address by C's constant, and return any other pointer as it is. */
extern int weft_mpi_bottom_, weft_mpi_in_place_, weft_mpi_buffer_automatic_;
extern int weft_mpi_status_ignore_[8], weft_mpi_statuses_ignore_[8];
extern int weft_mpi_unweighted_[1], weft_mpi_weights_empty_[1], weft_mpi_errcodes_ignore_[1];

/* Of a call for which MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC mean nothing. */
static inline void* weft_fortran_memory_at(void* buffer) { return buffer == &weft_mpi_bottom_ ? MPI_BOTTOM : buffer; }
static inline void* weft_fortran_place(void* buffer) {
  if (buffer == &weft_mpi_in_place_) return MPI_IN_PLACE;
  if (buffer == &weft_mpi_buffer_automatic_) return MPI_BUFFER_AUTOMATIC;
  return weft_fortran_memory_at(buffer);
}

static inline MPI_Status* weft_fortran_status(MPI_Status* status) {
  return (void*)status == weft_mpi_status_ignore_ || (void*)status == weft_mpi_statuses_ignore_
             ? MPI_STATUS_IGNORE
             : status;
}

static inline int* weft_fortran_weights(const int* weights) {
  if (weights == weft_mpi_unweighted_) return MPI_UNWEIGHTED;
  if (weights == weft_mpi_weights_empty_) return MPI_WEIGHTS_EMPTY;
  return (int*)weights;
}

/* A string of Fortran is filled up with blanks, one of C ends with a zero byte. weft_fortran_text_in() returns a copy for C,
   without blanks around it, which the caller frees; weft_fortran_name_in() one with the blanks before it, which belong to the
   name of an object. weft_fortran_text_out() writes one for Fortran. */
char* weft_fortran_text_in(const char* text, size_t length);
char* weft_fortran_name_in(const char* text, size_t length);
void weft_fortran_text_out(const char* text, char* to, size_t room);

/* malloc() of `count` elements of `size` bytes. Never returns null: without memory it prints a line and aborts. */
void* weft_fortran_memory(long count, size_t size);

/* MPI_Comm_idup: the integer is written when the request is complete (communicator.cpp). */
int weft_fortran_idup(MPI_Comm comm, MPI_Info info, MPI_Fint* newcomm, MPI_Request* request);
/* MPIX_Comm_ishrink, likewise (failures.cpp). */
int weft_fortran_ishrink(MPI_Comm comm, MPI_Fint* newcomm, MPI_Request* request);

/* How many datatypes the arrays of MPI_Alltoallw and of MPI_Neighbor_alltoallw hold. */
long weft_fortran_peers(MPI_Comm comm);
long weft_fortran_neighbours(MPI_Comm comm, int incoming);

#endif
