// What a plug-in shows: one symbol, weft_transport_plugin, that returns this table.
#pragma once
#include <cstddef>
#include <cstdint>

#include "transport/transport.hpp"

namespace weft {

// An MPI by itself, for who has a protocol of its own above it. All is in one communicator that nobody else uses. Called by
// any thread; nothing throws.
struct mpi_messages {
  // Of an operation under way; 0: none.
  struct request {
    std::uint64_t word = 0;
  };
  enum class state : std::uint8_t { under_way, complete, failed };
  int rank;
  int size;
  int tag_max;
  // False: it failed. The bytes stay until it is complete.
  bool (*send)(const std::byte* bytes, std::size_t size, int to, int tag,
               request& under_way) noexcept;
  bool (*receive)(std::byte* bytes, std::size_t size, int from, int tag,
                  request& under_way) noexcept;  // From -1: anybody.
  // When it is complete, also whom it came from and how many bytes, and the request is none any more.
  state (*test)(request& of, int& from, std::size_t& size) noexcept;
  // The same and no more.
  bool (*is_complete)(const request& of) noexcept;
  void (*cancel)(request& receive) noexcept;
};

struct mpi_plugin {
  // WEFT_PLUGIN_VERSION, which weft-plugins.cmake makes of the bytes of what both sides must agree
  // on: the loader accepts its own only.
  std::uint32_t version;
  std::size_t header_bytes;  // sizeof(wire_header), sizeof(remote_key): a second look.
  std::size_t key_bytes;
  const char* mpi;
  // Null with a text when it fails; never throws.
  transport* (*make)(char* why, std::size_t why_bytes) noexcept;
  // Likewise. Called by all processes that this MPI has started, once.
  const mpi_messages* (*messages)(char* why, std::size_t why_bytes) noexcept = nullptr;
};
using mpi_plugin_entry = const mpi_plugin* (*)();

inline constexpr const char* mpi_plugin_symbol = "weft_transport_plugin";

}  // namespace weft
