// What an MPI_Errhandler stands for, and the error classes and codes that the program adds.
#pragma once
#include <map>
#include <string>

#include "mpi/object/handles.hpp"

namespace weft::mpi {

struct state;
struct communicator_object;

struct error_handler_object : object {
  using handle = MPI_Errhandler;
  static constexpr object_kind own_kind = object_kind::error_handler;

  MPI_Comm_errhandler_function* function = nullptr;
  int holders = 1;  // References: the program's handle, and objects that it is attached to.
};

struct added_codes {
  struct code {
    int error_class = MPI_ERR_UNKNOWN;  // The code itself when it is a class.
    std::string text;
  };
  std::map<int, code> by_number;
  int last_used = MPI_ERR_LASTCODE;
};

// Calls the program's own error handler of `c`. Returns what the MPI call returns then.
int call_error_handler(state& me, communicator_object& c, int code);

// From now on errors of `c` go to this handler.
void set_error_handler(state& me, communicator_object& c, MPI_Errhandler handler);

// The value of the attribute MPI_LASTUSEDCODE.
[[nodiscard]] int last_used_code(state& me);

}  // namespace weft::mpi
