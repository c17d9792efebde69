// The fast path of messages of basic elements between ranks of one process. It checks without a frame for errors that
// the call is as usual: valid arguments, a predefined datatype without gaps, no wildcard. Any other call goes through
// the full checks of transfer.hpp, which find out what is wrong.
#pragma once
#include <cstdint>
#include <limits>

#include "mpi/point_to_point/transfer.hpp"

namespace weft::mpi {

// What a usual call sends or receives; `me` is null when the call is not as usual.
struct usual_call {
  state* me = nullptr;
  communicator_object* comm = nullptr;
  detail::byte_view data;
};

// `peer` and `tag` are the program's arguments.
[[gnu::always_inline]] inline usual_call as_usual(const void* buffer, MPI_Count count,
                                                  MPI_Datatype datatype, int peer, int tag,
                                                  MPI_Comm comm) {
  state* const me = usable_state();
  if (me == nullptr) [[unlikely]]
    return {};
  communicator_object* const c = find_communicator(*me, comm);
  const std::size_t element = size_without_gaps(datatype);
  // A negative count too: it is large as an unsigned number.
  const bool is_beyond_int = static_cast<std::uint64_t>(count) > std::numeric_limits<int>::max();
  if (c == nullptr || element == 0 || is_beyond_int || tag < 0 || peer < 0 ||
      peer >= c->open_peers || is_no_memory(buffer)) [[unlikely]]
    return {};
  return {
      me, c, {static_cast<const std::byte*>(buffer), static_cast<std::size_t>(count) * element}};
}

// Sends a message of words (4, 8 or 16 bytes), if it goes to a rank of the same worker whose first receive is for it,
// or into a mailbox with room. Returns null when it has not sent it.
[[gnu::always_inline]] inline state* sent_words(const void* buffer, MPI_Count count,
                                                MPI_Datatype datatype, int dest, int tag,
                                                MPI_Comm comm) {
  const usual_call call = as_usual(buffer, count, datatype, dest, tag, comm);
  if (call.me == nullptr || !detail::are_words(call.data.size())) [[unlikely]]
    return nullptr;
  detail::rank_state& r = call.me->rank;
  if (r.home->needs_slow_path()) [[unlikely]]
    return nullptr;
  const detail::communicator_state& shared = *call.comm->shared;
  const detail::peer& there = shared.to(call.comm->peer(dest));
  const detail::packed_envelope from({shared.context, call.comm->own, tag});
  const bool sent = there.worker == r.home->index()
                        ? give_words_same_worker(r, *there.rank, from, call.data)
                        : mail_words(r, there, from, call.data);
  return sent ? call.me : nullptr;
}

// Sends a short message, if its receiver is not congested. Returns null when it has not sent it.
[[gnu::always_inline]] inline state* sent_short(const void* buffer, MPI_Count count,
                                                MPI_Datatype datatype, int dest, int tag,
                                                MPI_Comm comm) {
  const usual_call call = as_usual(buffer, count, datatype, dest, tag, comm);
  if (call.me == nullptr) [[unlikely]]
    return nullptr;
  detail::rank_state& r = call.me->rank;
  if (r.home->needs_slow_path()) [[unlikely]]
    return nullptr;
  detail::communicator_state& shared = *call.comm->shared;
  const int to = call.comm->peer(dest);
  const detail::peer& there = shared.to(to);
  if (!goes_eager(r, there, call.data.size(), detail::send_mode::standard)) return nullptr;
  const detail::envelope from{shared.context, call.comm->own, tag};
  count_send(r, there, from, call.data.size());
  send_short(r, there, from, call.data);
  return call.me;
}

// Receives, if the call is as usual; false: it has done nothing. When the message is too long or the sender has died,
// it calls fail(operation, peers_first), whose result, never MPI_SUCCESS, becomes *code; the status is not set then.
template <class Fail>
[[gnu::always_inline]] inline bool received_short(void* buffer, MPI_Count count,
                                                  MPI_Datatype datatype, int source, int tag,
                                                  MPI_Comm comm, MPI_Status* status,
                                                  const char* name, const Fail& fail, int* code) {
  const usual_call call = as_usual(buffer, count, datatype, source, tag, comm);
  if (call.me == nullptr) [[unlikely]]
    return false;
  detail::rank_state& r = call.me->rank;
  if (r.home->needs_slow_path()) [[unlikely]]
    return false;
  const detail::communicator_state& shared = *call.comm->shared;
  const int from = call.comm->peer(source);
  const detail::peer& there = shared.to(from);
  const detail::envelope wanted{shared.context, from, tag};
  const int peers_first = call.comm->peers_first;
  *code = MPI_SUCCESS;
  if (there.worker != r.home->index()) {
    const std::span<std::byte> into(static_cast<std::byte*>(buffer), call.data.size());
    if (const auto got = take_next(r, there, wanted, into); got) [[likely]] {
      set_status(status, got->source - peers_first, got->tag, got->bytes);
      return true;
    }
  }
  const message_status got = post_and_wait(
      r, &there, detail::packed_envelope(wanted), call.data,
      name, [&](const detail::operation& op) __attribute__((always_inline)) {
        *code = fail(op, peers_first);
      });
  if (*code == MPI_SUCCESS) [[likely]]
    set_status(status, got.source - peers_first, got.tag, got.bytes);
  return true;
}

}  // namespace weft::mpi
