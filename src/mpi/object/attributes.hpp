// Attributes: values that a program attaches to communicators, datatypes and windows, under keys that it makes. Used by the rank
// alone.
#pragma once
#include <map>
#include <vector>

#include "mpi/mpi.h"

namespace weft::mpi {

struct state;
struct communicator_object;
struct window_object;

// In the order in which they were set.
using attribute_list = std::vector<std::pair<int, void*>>;

struct keyval {
  enum class kind { communicator, datatype, window };
  kind of = kind::communicator;
  // The callbacks: those of the kind that `of` says.
  MPI_Comm_copy_attr_function* copy_communicator = nullptr;
  MPI_Comm_delete_attr_function* delete_communicator = nullptr;
  MPI_Type_copy_attr_function* copy_datatype = nullptr;
  MPI_Type_delete_attr_function* delete_datatype = nullptr;
  MPI_Win_copy_attr_function* copy_window = nullptr;  // No call of MPI copies a window.
  MPI_Win_delete_attr_function* delete_window = nullptr;
  void* extra = nullptr;
  int holders = 1;     // References: the program's key, and attributes under it.
  bool freed = false;  // By the program, which may still have copies of the key.
};

struct attributes_state {
  std::map<int, keyval> keyvals;
  int next_key = 1000;  // Above the predefined keys.
  std::map<MPI_Datatype, attribute_list> of_datatypes;
  // What the predefined attributes of MPI_COMM_WORLD point to.
  int tag_ub = 0, io = 0, host = 0, wtime_is_global = 0, appnum = 0, last_used_code = 0,
      universe_size = 0;
};

// Called where communicators and datatypes are copied and freed. They call the program's callbacks; a callback's code
// other than MPI_SUCCESS is thrown as failure.
void copy_attributes(state& me, MPI_Comm from, const communicator_object& source,
                     communicator_object& target);
void delete_attributes(state& me, MPI_Comm comm, communicator_object& c);
void copy_attributes(state& me, MPI_Datatype from, MPI_Datatype to);
void delete_attributes(state& me, MPI_Datatype type);
void delete_attributes(state& me, MPI_Win win, window_object& w);

}  // namespace weft::mpi
