// What an MPI_File stands for, and the data representations that the program has registered.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "mpi/object/handles.hpp"

namespace weft::mpi {

struct file_state;  // io/file_state.hpp: what a rank knows of a file that it has open.

struct file_object : object {
  using handle = MPI_File;
  static constexpr object_kind own_kind = object_kind::file;

  std::string name;  // As the program gave it.
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  std::shared_ptr<file_state> file;
};

// One of MPI_Register_datarep. Of each function one of the two forms is set, or none: the data stay as they are.
struct registered_representation {
  MPI_Datarep_conversion_function* read = nullptr;
  MPI_Datarep_conversion_function* write = nullptr;
  MPI_Datarep_conversion_function_c* large_read = nullptr;
  MPI_Datarep_conversion_function_c* large_write = nullptr;
  MPI_Datarep_extent_function* extent = nullptr;
  void* extra_state = nullptr;
};
using data_representations = std::map<std::string, registered_representation, std::less<>>;

}  // namespace weft::mpi
