#include "mpi/error_handler.hpp"

#include "mpi/state.hpp"

namespace weft::mpi {

int call_error_handler(state& me, communicator_object& c, int code) {
  MPI_Comm handle = &c == &*me.world  ? MPI_COMM_WORLD
                    : &c == &*me.self ? MPI_COMM_SELF
                                      : handle_of(c);
  int passed = code;
  if (const auto* const h = find_object<error_handler_object>(c.handler); h != nullptr)
    h->function(&handle, &passed);
  return code;
}

}  // namespace weft::mpi
