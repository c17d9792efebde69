// Inside an allocation of several nodes the processes are started by the batch system's own
// launcher, which knows the nodes, the limits and the accounting.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/options.hpp"

namespace weft {

struct handover {
  std::vector<std::string> command;
  std::vector<std::string> assignments;  // Name and value alternate.
};

// Nothing when this is no such allocation, or somebody has started weftrun itself several times.
// `variable` gives the value of a variable of the environment, or nullptr; `exported` names those
// that the program must see.
std::optional<handover> hand_over(const options& how, const std::vector<std::string>& command,
                                  const std::function<const char*(const char*)>& variable,
                                  const std::vector<std::string>& exported);

// Likewise where the parcelport is over an MPI: by its launcher. Throws weft::error where that cannot be.
std::optional<handover> hand_over_to_mpi(const options& how,
                                         const std::vector<std::string>& command,
                                         const std::function<const char*(const char*)>& variable,
                                         const std::vector<std::string>& exported);

}  // namespace weft
