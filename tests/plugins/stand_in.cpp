// A plug-in of no MPI, that says so when it is to start, and takes SIGHUP as libraries of networks take signals.
// STAND_IN_VERSION is what it says of itself.
#include <signal.h>

#include <cstdio>

#include "transport/mpi/plugin.hpp"

namespace {

void take(int) noexcept {}

weft::transport* make(char* why, std::size_t why_bytes) noexcept {
  ::signal(SIGHUP, &take);
  std::snprintf(why, why_bytes, "there is no MPI behind it");
  return nullptr;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const weft::mpi_plugin* weft_transport_plugin() {
  static constexpr weft::mpi_plugin table{STAND_IN_VERSION, sizeof(weft::wire_header),
                                          sizeof(weft::remote_key), "none", make};
  return &table;
}
