// Partitioned messages, as far as other files of requests ask.
#pragma once
#include "mpi/mpi.h"

namespace weft::mpi {

struct request_object;

// Between processes a partitioned message travels under another tag than the program's, which its status tells.
void correct_tag(const request_object& r, MPI_Status* status);

}  // namespace weft::mpi
