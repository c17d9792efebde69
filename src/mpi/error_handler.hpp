// What an MPI_Errhandler stands for.
#pragma once
#include "mpi/handles.hpp"

namespace weft::mpi {

struct state;
struct communicator_object;

struct error_handler_object : object {
  using handle = MPI_Errhandler;
  static constexpr object_kind own_kind = object_kind::error_handler;

  MPI_Comm_errhandler_function* function = nullptr;
  int holders = 1;  // The program's handle, and what it is attached to.
};

// Calls the program's own handler of `c`; what it returns is what the call returns.
int call_error_handler(state& me, communicator_object& c, int code);

}  // namespace weft::mpi
