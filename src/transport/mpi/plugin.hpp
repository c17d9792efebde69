// What a plug-in shows: one symbol, weft_transport_plugin, that returns this table.
#pragma once
#include <cstddef>
#include <cstdint>

#include "transport/transport.hpp"

namespace weft {

struct mpi_plugin {
  // WEFT_PLUGIN_VERSION, which weft-plugins.cmake makes of the bytes of what both sides must agree
  // on: the loader accepts its own only.
  std::uint32_t version;
  std::size_t header_bytes;  // sizeof(wire_header), sizeof(remote_key): a second look.
  std::size_t key_bytes;
  const char* mpi;
  // Null with a text when it fails; never throws.
  transport* (*make)(char* why, std::size_t why_bytes) noexcept;
};
using mpi_plugin_entry = const mpi_plugin* (*)();

inline constexpr const char* mpi_plugin_symbol = "weft_transport_plugin";

}  // namespace weft
