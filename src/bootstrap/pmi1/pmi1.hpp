// The bootstrap of a process that hydra's mpiexec (MPICH, Intel MPI) started: PMI-1, lines of text
// over the descriptor that PMI_FD names.
#pragma once
#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace weft {

// Throws weft::error when PMI_FD names nothing that speaks PMI-1.
std::unique_ptr<bootstrap> make_pmi1_bootstrap();

}  // namespace weft
