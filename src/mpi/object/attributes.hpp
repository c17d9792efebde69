// Attributes: what a program caches with communicators and datatypes, under keys that it makes.
#pragma once
#include <map>
#include <vector>

#include "mpi/mpi.h"

namespace weft::mpi {

struct state;
struct communicator_object;

// In the order in which they were set.
using attribute_list = std::vector<std::pair<int, void*>>;

struct keyval {
  enum class kind { communicator, datatype };
  kind of = kind::communicator;
  // Of the standard's two signatures, the one that `of` says.
  MPI_Comm_copy_attr_function* copy_communicator = nullptr;
  MPI_Comm_delete_attr_function* delete_communicator = nullptr;
  MPI_Type_copy_attr_function* copy_datatype = nullptr;
  MPI_Type_delete_attr_function* delete_datatype = nullptr;
  void* extra = nullptr;
  int holders = 1;     // The program's key, and attributes under it.
  bool freed = false;  // By the program, which may say so again through a copy of the key.
};

struct attributes_state {
  std::map<int, keyval> keyvals;
  int next_key = 1000;  // Beyond the predefined ones.
  std::map<MPI_Datatype, attribute_list> of_datatypes;
  // What the predefined attributes of MPI_COMM_WORLD point to.
  int tag_ub = 0, io = 0, host = 0, wtime_is_global = 0, appnum = 0, last_used_code = 0,
      universe_size = 0;
};

// Called by what copies and ends such objects; the functions of the program run in it, and a code
// other than MPI_SUCCESS that one of them returns is thrown as failure.
void copy_attributes(state& me, MPI_Comm from, const communicator_object& source,
                     communicator_object& target);
void delete_attributes(state& me, MPI_Comm comm, communicator_object& c);
void copy_attributes(state& me, MPI_Datatype from, MPI_Datatype to);
void delete_attributes(state& me, MPI_Datatype type);

}  // namespace weft::mpi
