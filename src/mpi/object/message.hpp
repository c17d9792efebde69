// What an MPI_Message stands for: a message that MPI_Mprobe took out of the matching.
#pragma once
#include "mpi/object/handles.hpp"
#include "rank/matching.hpp"

namespace weft::mpi {

struct message_object : object {
  using handle = MPI_Message;
  static constexpr object_kind own_kind = object_kind::message;

  detail::unexpected_message* taken = nullptr;
  std::uint32_t context = 0;
  int peers_first = 0;
  MPI_Comm where = MPI_COMM_NULL;
};

struct state;
// Before MPI_Finalize ends: frees messages that MPI_Mprobe took and nobody received; a checked job is
// told of them. A sender that waits for such a message to be received goes on waiting.
void free_taken_messages(state& me, const char* call);

}  // namespace weft::mpi
