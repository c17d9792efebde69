// What a plug-in shows: one symbol, weft_transport_plugin, that returns this table.
#pragma once
#include <cstddef>
#include <cstdint>

#include "transport/transport.hpp"

namespace weft {

// An MPI by itself, for who has a protocol of its own above it, in a communicator that nobody else uses. Called by any
// thread; nothing throws.
struct mpi_messages {
  // A communicator; 0: none.
  struct place {
    std::uint64_t word = 0;
  };
  // Of an operation under way; 0: none.
  struct request {
    std::uint64_t word = 0;
  };
  enum class state : std::uint8_t { under_way, complete, failed };
  int rank;
  int size;
  int tag_max;
  // A new one. All processes that this MPI has started call it, as often and in the same order. False: it failed.
  bool (*open)(place& made) noexcept;
  // Nothing may be under way in it, or it would meet what is sent in the next one.
  void (*close)(place& of) noexcept;
  // Of no more than an int counts. False: it failed. The bytes stay until it is complete.
  bool (*send)(const place& in, const std::byte* bytes, std::size_t size, int to, int tag,
               request& under_way) noexcept;
  bool (*receive)(const place& in, std::byte* bytes, std::size_t size, int from, int tag,
                  request& under_way) noexcept;  // From -1: anybody.
  // When it is complete, also whom it came from and how many bytes, and the request is none any more.
  state (*test)(request& of, int& from, std::size_t& size) noexcept;
  // The same and no more.
  bool (*is_complete)(const request& of) noexcept;
  // False: the MPI may still write to where it receives. The request is none any more in either case.
  bool (*cancel)(request& receive) noexcept;
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
  // Likewise.
  const mpi_messages* (*messages)(char* why, std::size_t why_bytes) noexcept = nullptr;
};
using mpi_plugin_entry = const mpi_plugin* (*)();

inline constexpr const char* mpi_plugin_symbol = "weft_transport_plugin";

}  // namespace weft
