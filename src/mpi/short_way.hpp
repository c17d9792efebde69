// The short way of messages of basic elements between ranks of one process: everything about the call
// is as usual, and is found to be so without a frame for errors. Whatever is not is left to the full
// checks of transfer.hpp, which know what is wrong.
#pragma once
#include "mpi/transfer.hpp"

namespace weft::mpi {

// What such a call sends or receives; `me` is null when it is not as usual.
struct usual_call {
  state* me = nullptr;
  communicator_object* comm = nullptr;
  detail::octets data;
};

// `peer` and `tag` as the program wrote them; wildcards are not usual.
[[gnu::always_inline]] inline usual_call as_usual(const void* buffer, MPI_Count count,
                                                  MPI_Datatype datatype, int peer, int tag,
                                                  MPI_Comm comm) {
  state* const me = usable_state();
  if (me == nullptr) [[unlikely]]
    return {};
  communicator_object* const c = find_communicator(*me, comm);
  const std::size_t element = predefined_sizes[value_of(datatype) & 0xff];
  if (c == nullptr || value_of(datatype) >> 8 != 2 || element == 0 || count < 0 || tag < 0 ||
      peer < 0 || peer >= c->peers_count || value_of(buffer) < 3) [[unlikely]]
    return {};
  return {
      me, c, {static_cast<const std::byte*>(buffer), static_cast<std::size_t>(count) * element}};
}

// Not null when the message has gone: a short one, to a rank that takes it.
[[gnu::always_inline]] inline state* sent_short(const void* buffer, MPI_Count count,
                                                MPI_Datatype datatype, int dest, int tag,
                                                MPI_Comm comm) {
  const usual_call call = as_usual(buffer, count, datatype, dest, tag, comm);
  if (call.me == nullptr) [[unlikely]]
    return nullptr;
  detail::rank_state& r = call.me->rank;
  detail::communicator_state& shared = *call.comm->shared;
  const int to = call.comm->peer(dest);
  const detail::peer& there = shared.to(to);
  if (!goes_eager(r, there, call.data.size(), detail::send_mode::standard)) return nullptr;
  r.home->begin_call();
  count_send(r, there, call.data.size());
  send_short(r, there, {shared.context, call.comm->own, tag}, call.data);
  return call.me;
}

// True when the message is there. One that was too long is left to fail(arrival), whose result is that
// of the call.
template <class Fail>
[[gnu::always_inline]] inline bool received_short(void* buffer, MPI_Count count,
                                                  MPI_Datatype datatype, int source, int tag,
                                                  MPI_Comm comm, MPI_Status* status,
                                                  const char* name, const Fail& fail, int* code) {
  const usual_call call = as_usual(buffer, count, datatype, source, tag, comm);
  if (call.me == nullptr) return false;
  const route from{call.comm, nullptr, call.comm->peer(source), tag};
  detail::rank_state& r = call.me->rank;
  r.home->begin_call();
  const std::span<std::byte> into(static_cast<std::byte*>(buffer), call.data.size());
  if (const auto got = take_next(r, from.comm->shared->to(from.peer), from.of_receive(), into); got)
      [[likely]] {
    set_status(status, got->source - from.comm->peers_first, got->tag, got->bytes);
    *code = MPI_SUCCESS;
    return true;
  }
  blocking_receive arrival(*call.me, from, call.data);
  arrival.wait(name);
  if (arrival.bad()) [[unlikely]] {
    *code = fail(arrival);
  } else {
    arrival.tell(status);
    *code = MPI_SUCCESS;
  }
  return true;
}

}  // namespace weft::mpi
