// What an older interface (older/functions.h) has to know of an object before the call that it is given to: how long arrays are, who the
// root is. Nothing is wrong here: one that is no object has 0 of everything, and the call tells of it.
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "mpi/topology/topology.hpp"

namespace weft::mpi {
namespace {

template <class Question>
int ask(int otherwise, const Question& question) {
  const entrance in;
  try {
    return question(in.checked("MPI"));
  } catch (const std::exception&) {  // Before MPI_Init, say.
    return otherwise;
  } catch (const job_stopped&) {
    pass_on_stop();
    return otherwise;  // Not reached.
  }
}

template <class Question>
int ask(MPI_Comm comm, int otherwise, const Question& question) {
  return ask(otherwise, [&](state& me) {
    const communicator_object* const c = find_communicator(me, comm);
    return c != nullptr ? question(*c) : otherwise;
  });
}

int length(std::size_t count) {
  return static_cast<int>(count);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

// The ranks that messages go to.
extern "C" int weft_peers_of(MPI_Comm comm) {
  return ask(comm, 0, [](const communicator_object& c) { return c.peers_count; });
}

// The neighbours in the communicator's topology that the rank receives from, or sends to.
extern "C" int weft_neighbours_of(MPI_Comm comm, int incoming) {
  return ask(comm, 0, [&](const communicator_object& c) {
    if (c.topology == nullptr) return 0;
    return length(incoming != 0 ? c.topology->sources.size() : c.topology->destinations.size());
  });
}

// The caller's rank; -1: none.
extern "C" int weft_rank_in(MPI_Comm comm) {
  return ask(comm, -1, [](const communicator_object& c) { return c.rank(); });
}

// Whether an info that the program has made holds the key.
extern "C" int weft_has_hint(MPI_Info info, const char* key) {
  return ask(0, [&](state&) {
    const info_object* const hints = find_object<info_object>(info);
    return hints != nullptr && hints->find(key) != nullptr ? 1 : 0;
  });
}
