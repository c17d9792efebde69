// Names under which ports are published: files in a directory of the user, so that other jobs find them.
#pragma once
#include <string>

namespace weft::mpi {

// Throws failure: MPI_ERR_SERVICE when the name is taken by a process that lives.
void publish_name(const std::string& service, const std::string& port);
// MPI_ERR_SERVICE when this user has not published it.
void unpublish_name(const std::string& service);
// MPI_ERR_NAME when it is not published.
[[nodiscard]] std::string find_name(const std::string& service);

}  // namespace weft::mpi
