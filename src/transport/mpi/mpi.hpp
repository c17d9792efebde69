// Messages over a vendor's MPI, for machines whose network only that MPI drives well. The MPI is in
// a plug-in, loaded on demand and so that its symbols meet nobody else's; the program must have
// been started by that MPI's own launcher.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.hpp"

namespace weft {

// `which` is the plug-in's name ("mpich", "openmpi"); empty: that of the launcher. Throws
// weft::error when there is no such plug-in, or when its MPI does not start.
[[nodiscard]] std::unique_ptr<transport> make_mpi_transport(std::string_view which);

// An MPI by itself, likewise.
struct mpi_messages;
[[nodiscard]] const mpi_messages& start_mpi_messages(std::string_view which);

// The plug-ins that are installed.
[[nodiscard]] std::vector<std::string> mpi_plugins();
// For programs that this one starts, which may lie where there are none: they look last where this
// one finds its own.
void lend_mpi_plugins();

}  // namespace weft
