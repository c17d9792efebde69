// Ranks, tags and communicators as people read them, wildcards too.
#pragma once
#include <cstdint>
#include <string>

#include "rank/communicator_state.hpp"
#include "weft/communicator.hpp"

namespace weft::detail {

[[nodiscard]] inline std::string rank_name(int rank) {
  return rank == any_source ? "any" : std::to_string(rank);
}
// The other side of a message.
[[nodiscard]] inline std::string peer_name(int rank) {
  return rank == any_source ? "any rank" : "rank " + std::to_string(rank);
}
[[nodiscard]] inline std::string tag_name(int tag) {
  return tag == any_tag ? "any" : std::to_string(tag);
}

// A face whose face_state derives from this says how its program names communicators and ranks. Of several faces the
// one with the lowest slot is asked.
struct face_names {
  // As the program says it: "MPI_COMM_WORLD".
  [[nodiscard]] virtual std::string name_of_communicator(std::uint32_t context) = 0;
  // The program's name for a rank of the communicator: "0".
  [[nodiscard]] virtual std::string name_of_peer(std::uint32_t context, int peer) = 0;
  // Who sent a message: "rank 0 of MPI_COMM_WORLD"; `source` is the envelope's.
  [[nodiscard]] virtual std::string name_of_source(std::uint32_t context, int source) = 0;

 protected:
  ~face_names() = default;
};

// The names of the rank's first face that has any; null: none has.
[[nodiscard]] face_names* names_of(const rank_state* r) noexcept;
// The name that the rank's face gives the communicator, or its context. Called on the rank's worker, or while no worker
// runs.
[[nodiscard]] std::string communicator_name(const rank_state* r, std::uint32_t context);
// The name that a rank of the calling worker gives it.
[[nodiscard]] std::string name_of(const communicator_state& c);
// The name that the rank's face gives a rank of the communicator: "1", "0 of the remote group".
[[nodiscard]] std::string name_of_peer(const rank_state* r, std::uint32_t context, int peer);

}  // namespace weft::detail
