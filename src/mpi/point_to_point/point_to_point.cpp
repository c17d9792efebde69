// Blocking sends and receives.
#include <cstring>
#include <memory>

#include "mpi/datatype/overlap.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/point_to_point/fast_path.hpp"
#include "mpi/point_to_point/held_send.hpp"
#include "mpi/point_to_point/transfer.hpp"
#include "mpi/point_to_point/type_ledger.hpp"

namespace weft::mpi {

using namespace detail;

void fail_buffer(const void* buffer, const datatype_object& type) {
  fail(MPI_ERR_BUFFER, "the buffer is {}, which {} cannot be read from or written to",
       buffer == nullptr        ? "NULL"
       : buffer == MPI_IN_PLACE ? "MPI_IN_PLACE"
                                : "MPI_BUFFER_AUTOMATIC",
       printable(type.name));
}

int class_of(loss what) noexcept {
  switch (what) {
    case loss::none:
      return MPI_ERR_OTHER;
    case loss::dead:
    case loss::unacknowledged:
      return MPIX_ERR_PROC_FAILED;
    case loss::revoked:
      break;
  }
  return MPIX_ERR_REVOKED;
}

void fail_message(const operation& op, int peers_first, MPI_Comm where) {
  if (op.result.bytes == failed_bytes) {
    const reason_of_failure why = reason_of(op);
    throw failure(class_of(why.what),
                  formatted("a message of {} bytes, tag {}: the process of its partner {}",
                            op.bytes, op.match.tag, why.text),
                  where);
  }
  throw failure(MPI_ERR_TRUNCATE,
                formatted("a receive of {} bytes got a message of {} bytes from rank {}, tag {}: "
                          "receive it with room for all, or call MPI_Probe first",
                          op.bytes, op.result.bytes, op.result.source - peers_first, op.result.tag),
                where);
}

namespace {

// A receive, and what is done between its start and its end.
template <class Meanwhile>
[[gnu::always_inline]] inline void receive_with(state& me, const route& from, void* buf,
                                                MPI_Count count, MPI_Status* status,
                                                const Meanwhile& meanwhile, const char* call) {
  const std::uint64_t turn = keeps_ledger(me) ? take_turn(me) : 0;
  with_data(buf, count, *from.type, [&](const auto& into) {
    if (turn != 0) [[unlikely]]
      note_use(me, call, segments(into), true);
    me.rank.home->begin_call();
    blocking_receive arrival(me, from, into);
    // What has arrived is used up, whatever fails besides.
    const auto note = [&] {
      if (turn != 0 && arrival.complete() && arrival.message().source >= 0) [[unlikely]]
        note_received(me, turn, from, arrival.message(), count, call);
      if (turn != 0 && arrival.complete()) [[unlikely]]
        note_written(me, call, segments(into));
    };
    try {
      meanwhile();
    } catch (const job_stopped&) {
      throw;
    } catch (...) {
      arrival.give_up(call);
      note();
      throw;
    }
    arrival.wait(call);
    note();
    arrival.conclude(status);
  });
}

template <send_mode Mode>
[[gnu::always_inline]] inline void send(state& me, const void* buf, MPI_Count count,
                                        MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                                        const char* call) {
  const route to = send_route(me, count, datatype, dest, tag, comm);
  if (to.to_nobody()) return;
  if constexpr (Mode == send_mode::buffered) {
    send_buffered(me, to, buf, count);
  } else {
    with_data(buf, count, *to.type, [&](const auto& data) {
      if (keeps_ledger(me)) [[unlikely]] {
        note_sent(me, to, to.type, count);
        note_use(me, call, segments(data), false);
        if (Mode == send_mode::standard && holds_sends(me) &&
            goes_eager(me.rank, to.comm->shared->to(to.peer), data, Mode))
          return send_held(me, to, segments(data), call);
      }
      send_data(me, to, data, Mode, call);
      if (Mode == send_mode::synchronous && keeps_ledger(me)) [[unlikely]]
        note_answered(me, to);
    });
  }
}

[[gnu::always_inline]] inline void receive(state& me, void* buf, MPI_Count count,
                                           MPI_Datatype datatype, int source, int tag,
                                           MPI_Comm comm, MPI_Status* status, const char* call) {
  const route from = receive_route(me, count, datatype, source, tag, comm);
  if (from.to_nobody()) return set_null_status(status);
  receive_with(
      me, from, buf, count, status, [] {}, call);
}

// The slow paths: they check all arguments and handle all cases.
[[gnu::noinline]] int send_in_call(const void* buf, MPI_Count count, MPI_Datatype datatype,
                                   int dest, int tag, MPI_Comm comm, const char* call) {
  return in_call(
      call, comm,
      [&](state& me) {
        send<send_mode::standard>(me, buf, count, datatype, dest, tag, comm, call);
      },
      buf, count, datatype, dest, tag, comm);
}
[[gnu::noinline]] int receive_in_call(void* buf, MPI_Count count, MPI_Datatype datatype, int source,
                                      int tag, MPI_Comm comm, MPI_Status* status,
                                      const char* call) {
  return in_call(
      call, comm,
      [&](state& me) { receive(me, buf, count, datatype, source, tag, comm, status, call); }, buf,
      count, datatype, source, tag, comm, status);
}
[[gnu::noinline, gnu::cold]] int fail_in_call(const operation& op, int peers_first, void* buf,
                                              MPI_Count count, MPI_Datatype datatype, int source,
                                              int tag, MPI_Comm comm, MPI_Status* status,
                                              const char* call) {
  return in_call(
      call, comm, [&](state&) { fail_receive(op, peers_first, status); }, buf, count, datatype,
      source, tag, comm, status);
}

// Both halves; a half with MPI_PROC_NULL does nothing.
template <class Send>
void send_and_receive(state& me, const route& from, void* buf, MPI_Count count, MPI_Status* status,
                      const Send& send_part, const char* call) {
  if (from.to_nobody()) {
    send_part();
    return set_null_status(status);
  }
  receive_with(me, from, buf, count, status, send_part, call);
}

void exchange(state& me, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
              int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
              int recvtag, MPI_Comm comm, MPI_Status* status) {
  const route to = send_route(me, sendcount, sendtype, dest, sendtag, comm);
  const route from = receive_route(me, recvcount, recvtype, source, recvtag, comm);
  const auto receive_around = [&](const auto& send_part) {
    send_and_receive(me, from, recvbuf, recvcount, status, send_part, "MPI_Sendrecv (recv)");
  };
  if (to.to_nobody()) return receive_around([] {});
  // Whatever is wrong with the buffer of the send is known before the receive begins.
  with_data(sendbuf, sendcount, *to.type, [&](const auto& data) {
    receive_around([&] {
      if (keeps_ledger(me)) [[unlikely]] {
        note_sent(me, to, to.type, sendcount);
        if (!from.to_nobody() && to.type->contiguous && from.type->contiguous)
          note_overlap(me, "MPI_Sendrecv", one_part(sendbuf, sendcount, *to.type),
                       one_part(recvbuf, recvcount, *from.type));
      }
      send_data(me, to, data, send_mode::standard, "MPI_Sendrecv (send)");
    });
  });
}

// What is sent is copied before what comes may overwrite it.
void replace(state& me, void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
             int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  const route to = send_route(me, count, datatype, dest, sendtag, comm);
  const route from = receive_route(me, count, datatype, source, recvtag, comm);
  std::unique_ptr<std::byte[]> copy;
  byte_view sent;
  if (!to.to_nobody())
    with_data(buf, count, *to.type, [&](const auto& data) {
      copy = std::make_unique<std::byte[]>(data.size());
      copy_out(copy.get(), data);
      sent = {copy.get(), data.size()};
    });
  send_and_receive(
      me, from, buf, count, status,
      [&] {
        if (to.to_nobody()) return;
        if (keeps_ledger(me)) [[unlikely]]
          note_sent(me, to, to.type, count);
        send_data(me, to, sent, send_mode::standard, "MPI_Sendrecv_replace (send)");
      },
      "MPI_Sendrecv_replace (recv)");
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;
using weft::detail::operation;
using weft::detail::send_mode;

// Each exists for int and for MPI_Count.
#define SEND(name, count_type, mode)                                                              \
  WEFT_MPI_FUNCTION(int, name,                                                                    \
                    (const void* buf, count_type count, MPI_Datatype datatype, int dest, int tag, \
                     MPI_Comm comm)) {                                                            \
    return in_call(                                                                               \
        #name, comm,                                                                              \
        [&](state& me) {                                                                          \
          send<send_mode::mode>(me, buf, count, datatype, dest, tag, comm, #name);                \
        },                                                                                        \
        buf, count, datatype, dest, tag, comm);                                                   \
  }
// The calls that may take the fast path.
#define SHORT_SEND(name, count_type)                                                              \
  [[gnu::noinline]] static int name##_of_any_size(const void* buf, count_type count,              \
                                                  MPI_Datatype datatype, int dest, int tag,       \
                                                  MPI_Comm comm) {                                \
    if (sent_short(buf, count, datatype, dest, tag, comm) != nullptr) [[likely]]                  \
      return MPI_SUCCESS;                                                                         \
    return send_in_call(buf, count, datatype, dest, tag, comm, #name);                            \
  }                                                                                               \
  WEFT_MPI_FUNCTION(int, name,                                                                    \
                    (const void* buf, count_type count, MPI_Datatype datatype, int dest, int tag, \
                     MPI_Comm comm)) {                                                            \
    if (sent_words(buf, count, datatype, dest, tag, comm) != nullptr) return MPI_SUCCESS;         \
    note_call_site(__builtin_return_address(0));                                                  \
    return name##_of_any_size(buf, count, datatype, dest, tag, comm);                             \
  }
SHORT_SEND(MPI_Send, int)
SHORT_SEND(MPI_Send_c, MPI_Count)
SHORT_SEND(MPI_Rsend, int)
SHORT_SEND(MPI_Rsend_c, MPI_Count)
SEND(MPI_Ssend, int, synchronous)
SEND(MPI_Ssend_c, MPI_Count, synchronous)
SEND(MPI_Bsend, int, buffered)
SEND(MPI_Bsend_c, MPI_Count, buffered)

#define RECEIVE(name, count_type)                                                                \
  WEFT_MPI_WAITING_FUNCTION(int, name,                                                           \
                            (void* buf, count_type count, MPI_Datatype datatype, int source,     \
                             int tag, MPI_Comm comm, MPI_Status* status)) {                      \
    int code = MPI_SUCCESS;                                                                      \
    const auto fail = [&](const operation& op, int peers_first) __attribute__((always_inline)) { \
      return fail_in_call(op, peers_first, buf, count, datatype, source, tag, comm, status,      \
                          #name);                                                                \
    };                                                                                           \
    if (received_short(buf, count, datatype, source, tag, comm, status, #name, fail, &code))     \
        [[likely]]                                                                               \
      return code;                                                                               \
    note_call_site(__builtin_return_address(0));                                                 \
    return receive_in_call(buf, count, datatype, source, tag, comm, status, #name);              \
  }
RECEIVE(MPI_Recv, int)
RECEIVE(MPI_Recv_c, MPI_Count)

#define SENDRECV(name, count_type)                                                                \
  WEFT_MPI_WAITING_FUNCTION(                                                                      \
      int, name,                                                                                  \
      (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest, int sendtag,   \
       void* recvbuf, count_type recvcount, MPI_Datatype recvtype, int source, int recvtag,       \
       MPI_Comm comm, MPI_Status* status)) {                                                      \
    return in_call(                                                                               \
        #name, comm,                                                                              \
        [&](state& me) {                                                                          \
          exchange(me, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, \
                   source, recvtag, comm, status);                                                \
        },                                                                                        \
        sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,        \
        recvtag, comm, status);                                                                   \
  }
SENDRECV(MPI_Sendrecv, int)
SENDRECV(MPI_Sendrecv_c, MPI_Count)

#define SENDRECV_REPLACE(name, count_type)                                                    \
  WEFT_MPI_WAITING_FUNCTION(                                                                  \
      int, name,                                                                              \
      (void* buf, count_type count, MPI_Datatype datatype, int dest, int sendtag, int source, \
       int recvtag, MPI_Comm comm, MPI_Status* status)) {                                     \
    return in_call(                                                                           \
        #name, comm,                                                                          \
        [&](state& me) {                                                                      \
          replace(me, buf, count, datatype, dest, sendtag, source, recvtag, comm, status);    \
        },                                                                                    \
        buf, count, datatype, dest, sendtag, source, recvtag, comm, status);                  \
  }
SENDRECV_REPLACE(MPI_Sendrecv_replace, int)
SENDRECV_REPLACE(MPI_Sendrecv_replace_c, MPI_Count)
