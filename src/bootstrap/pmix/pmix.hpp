// The bootstrap of a process that a PMIx launcher started: Open MPI's mpirun, prterun, srun
// --mpi=pmix. libpmix is loaded when it is needed, so programs do not depend on it.
#pragma once
#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace weft {

// Throws weft::error when no PMIx server answers, and where weft was built without PMIx.
std::unique_ptr<bootstrap> make_pmix_bootstrap();

}  // namespace weft
