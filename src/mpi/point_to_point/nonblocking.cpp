// Sends and receives that return at once, and persistent ones.
#include <memory>
#include <utility>

#include "mpi/object/profiling.hpp"
#include "mpi/point_to_point/fast_path.hpp"
#include "mpi/point_to_point/transfer.hpp"
#include "mpi/point_to_point/type_ledger.hpp"
#include "rank/request_watch.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

template <class Data>
void start_send_of(state& me, const route& to, const Data& data, send_mode mode, MPI_Comm comm,
                   MPI_Request* request, const char* call) {
  rank_state& r = me.rank;
  r.home->begin_call();
  const peer& there = to.comm->shared->to(to.peer);
  const envelope from = to.of_send();
  const bool gone = send_now(r, there, from, data, mode);
  if (gone && r.watch == nullptr) {
    *request = handle_of(me.done);
    return;
  }
  request_object& made = make_request(me, to.comm->peers_first, comm, request_object::type::send);
  set_memory(made.own_work, kept_by(me, made, data));
  describe_send(made.own_work, r, from, to.peer, there.worker);
  *request = handle_of(made);
  watch(me, made.own_work, call);
  if (gone)
    made.own_work.complete = true;
  else
    send_rts(*r.home, there, from, made.own_work);
}

template <send_mode Mode>
void start_send(state& me, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                int tag, MPI_Comm comm, MPI_Request* request, const char* call) {
  check_not_null(request, "request");
  *request = MPI_REQUEST_NULL;  // Of a call that fails.
  const route to = send_route(me, count, datatype, dest, tag, comm);
  if (to.to_nobody()) {
    *request = request_of_nothing(me, me.done, to, comm, call);
  } else if constexpr (Mode == send_mode::buffered) {
    send_buffered(me, to, buf, count);
    *request = request_of_nothing(me, me.done, to, comm, call);
  } else {
    with_data(buf, count, *to.type, [&](const auto& data) {
      if (keeps_ledger(me)) [[unlikely]]
        note_sent(me, to, to.type, count);
      start_send_of(me, to, data, Mode, comm, request, call);
    });
  }
}

[[gnu::noinline]] int start_send_in_call(const void* buf, MPI_Count count, MPI_Datatype datatype,
                                         int dest, int tag, MPI_Comm comm, MPI_Request* request,
                                         const char* call) {
  return in_call(
      call, comm,
      [&](state& me) {
        start_send<send_mode::standard>(me, buf, count, datatype, dest, tag, comm, request, call);
      },
      buf, count, datatype, dest, tag, comm, request);
}

void start_receive(state& me, void* buf, MPI_Count count, MPI_Datatype datatype, int source,
                   int tag, MPI_Comm comm, MPI_Request* request, const char* call) {
  check_not_null(request, "request");
  *request = MPI_REQUEST_NULL;  // Likewise.
  const route from = receive_route(me, count, datatype, source, tag, comm);
  if (from.to_nobody()) {
    *request = request_of_nothing(me, me.received_from_nobody, from, comm, call);
    return;
  }
  with_data(buf, count, *from.type, [&](const auto& into) {
    request_object& made = make_receive(me, from.comm->peers_first, comm);
    *request = handle_of(made);
    describe_receive(me, from, kept_by(me, made, into), made.own_work);
    watch(me, made.own_work, call);
    if (keeps_ledger(me)) [[unlikely]]
      note_posted(me, made.own_work, from.type, count);
    me.rank.home->begin_call();
    begin_receive(me, made.own_work);
    if (me.rank.watch != nullptr && made.own_work.complete) [[unlikely]]
      me.rank.watch->came_at_once(made.own_work);
  });
}

// Of a receive whose call is as usual, and which is begun next.
[[gnu::always_inline]] inline operation& described_receive(const usual_call& call, int source,
                                                           int tag, MPI_Comm comm,
                                                           MPI_Request* request) {
  request_object& made = make_receive(*call.me, call.comm->peers_first, comm);
  *request = handle_of(made);
  describe_receive(*call.me, {call.comm, nullptr, call.comm->peer(source), tag}, call.data,
                   made.own_work);
  return made.own_work;
}

// The fast path where nothing has come: it calls nobody, and so saves hardly any registers. False: nothing has been done.
[[gnu::always_inline]] inline bool posted_short(void* buf, MPI_Count count, MPI_Datatype datatype,
                                                int source, int tag, MPI_Comm comm,
                                                MPI_Request* request) {
  const usual_call call = as_usual(buf, count, datatype, source, tag, comm);
  if (call.me == nullptr || request == nullptr) [[unlikely]]
    return false;
  state& me = *call.me;
  match_lists& lists = me.rank.lists;
  if (me.rank.home->needs_slow_path() || lists.has_unexpected() || !lists.has_room_in_row() ||
      !me.requests.has_spare()) [[unlikely]]
    return false;
  lists.post_in_row(described_receive(call, source, tag, comm, request));
  return true;
}

// The fast path: of basic elements, from a rank that is named. False: nothing has been done.
[[gnu::always_inline]] inline bool started_short(void* buf, MPI_Count count, MPI_Datatype datatype,
                                                 int source, int tag, MPI_Comm comm,
                                                 MPI_Request* request) {
  const usual_call call = as_usual(buf, count, datatype, source, tag, comm);
  if (call.me == nullptr || request == nullptr) [[unlikely]]
    return false;
  call.me->rank.home->begin_call();
  begin_receive(*call.me, described_receive(call, source, tag, comm, request));
  return true;
}

[[gnu::noinline]] int start_receive_in_call(void* buf, MPI_Count count, MPI_Datatype datatype,
                                            int source, int tag, MPI_Comm comm,
                                            MPI_Request* request, const char* call) {
  return in_call(
      call, comm,
      [&](state& me) { start_receive(me, buf, count, datatype, source, tag, comm, request, call); },
      buf, count, datatype, source, tag, comm, request);
}

// The receive is posted before the send goes: it may be what this rank's own send is for.
template <class StartSend>
void start_exchange(state& me, const route& from, void* buf, MPI_Count count, MPI_Comm comm,
                    MPI_Request* request, const char* call, const StartSend& start_send_part) {
  if (!from.to_nobody()) check_buffer(buf, count, *from.type);
  request_object& made =
      make_request(me, from.comm->peers_first, comm, request_object::type::receive);
  made.needed_details(me.details).exchange = true;
  *request = handle_of(made);
  if (from.to_nobody()) {
    made.from_nobody = true;
    describe_nothing(made, me, from);
    watch(me, made.own_work, call);
    return start_send_part(made);
  }
  with_data(buf, count, *from.type, [&](const auto& into) {
    describe_receive(me, from, kept_by(me, made, into), made.own_work);
    watch(me, made.own_work, call);
    if (keeps_ledger(me)) [[unlikely]]
      note_posted(me, made.own_work, from.type, count);
    me.rank.home->begin_call();
    begin_receive(me, made.own_work);
  });
  start_send_part(made);
}

byte_view kept_to_send(request_object&, byte_view data) {
  return data;
}
const segments& kept_to_send(request_object& r, const segments& data) {
  return r.details->sent_layout = data;
}

template <class Data>
void start_sending(state& me, const route& to, MPI_Count count, const Data& data, request_object& r,
                   const char* call) {
  if (keeps_ledger(me)) [[unlikely]]
    note_sent(me, to, to.type, count);
  const peer& there = to.comm->shared->to(to.peer);
  const envelope from = to.of_send();
  if (send_now(me.rank, there, from, data, send_mode::standard)) return;
  operation& op = r.details->sending.emplace();
  set_memory(op, kept_to_send(r, data));
  describe_send(op, me.rank, from, to.peer, there.worker);
  watch(me, op, call);
  send_rts(*me.rank.home, there, from, op);
}

void start_exchange(state& me, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                    int dest, int sendtag, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                    MPI_Request* request, const char* call) {
  check_not_null(request, "request");
  const route to = send_route(me, sendcount, sendtype, dest, sendtag, comm);
  const route from = receive_route(me, recvcount, recvtype, source, recvtag, comm);
  if (!to.to_nobody()) check_buffer(sendbuf, sendcount, *to.type);
  start_exchange(me, from, recvbuf, recvcount, comm, request, call, [&](request_object& made) {
    if (to.to_nobody()) return;
    with_data(sendbuf, sendcount, *to.type,
              [&](const auto& data) { start_sending(me, to, sendcount, data, made, call); });
  });
}

void start_replacing(state& me, void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                     int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Request* request,
                     const char* call) {
  check_not_null(request, "request");
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
  start_exchange(me, from, buf, count, comm, request, call, [&](request_object& made) {
    made.details->copy = std::move(copy);
    if (!to.to_nobody()) start_sending(me, to, count, sent, made, call);
  });
}

// Inactive until MPI_Start.
request_object& make_persistent(state& me, const route& r, const void* buf, MPI_Count count,
                                MPI_Comm comm, request_object::type what, const char* call) {
  if (!r.to_nobody()) check_buffer(buf, count, *r.type);
  request_object& made = make_request(me, r.comm->peers_first, comm, what);
  made.active = false;
  made.from_nobody = r.to_nobody();
  if (me.births != nullptr) me.births->born(object_kind::request, &made);
  request_details& d = made.needed_details(me.details);
  d.persistent = true;
  d.made_by = call;
  if (r.to_nobody()) {
    describe_nothing(made, me, r);
    return made;
  }
  if (keeps_ledger(me)) [[unlikely]]
    note_made(me, made.own_work, r.type, count);
  d.group = r.comm->ranks.shared_state();
  with_data(buf, count, *r.type,
            [&](const auto& data) { set_memory(made.own_work, kept_by(me, made, data)); });
  return made;
}

template <send_mode Mode>
void make_persistent_send(state& me, const void* buf, MPI_Count count, MPI_Datatype datatype,
                          int dest, int tag, MPI_Comm comm, MPI_Request* request,
                          const char* call) {
  check_not_null(request, "request");
  const route to = send_route(me, count, datatype, dest, tag, comm);
  request_object& made =
      make_persistent(me, to, buf, count, comm, request_object::type::send, call);
  if (!to.to_nobody())
    describe_send(made.own_work, me.rank, to.of_send(), to.peer,
                  to.comm->shared->to(to.peer).worker);
  made.own_work.mode = Mode == send_mode::synchronous ? Mode : send_mode::standard;
  made.details->buffered = Mode == send_mode::buffered;
  *request = handle_of(made);
}

void make_persistent_receive(state& me, void* buf, MPI_Count count, MPI_Datatype datatype,
                             int source, int tag, MPI_Comm comm, MPI_Request* request,
                             const char* call) {
  check_not_null(request, "request");
  const route from = receive_route(me, count, datatype, source, tag, comm);
  request_object& made =
      make_persistent(me, from, buf, count, comm, request_object::type::receive, call);
  made.own_work.match = from.of_receive();
  made.own_work.owner = &me.rank;
  if (from.peer >= 0) made.own_work.peer_worker = from.comm->shared->to(from.peer).worker;
  *request = handle_of(made);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;
using weft::detail::send_mode;

#define SEND(name, count_type, function, mode)                                                    \
  WEFT_MPI_FUNCTION(int, name,                                                                    \
                    (const void* buf, count_type count, MPI_Datatype datatype, int dest, int tag, \
                     MPI_Comm comm, MPI_Request* request)) {                                      \
    return in_call(                                                                               \
        #name, comm,                                                                              \
        [&](state& me) {                                                                          \
          function<send_mode::mode>(me, buf, count, datatype, dest, tag, comm, request, #name);   \
        },                                                                                        \
        buf, count, datatype, dest, tag, comm, request);                                          \
  }
// A short message has gone when its call returns: all such requests are one, unless the job is checked.
#define SHORT_SEND(name, count_type)                                                              \
  [[gnu::noinline]] static int name##_of_any_size(const void* buf, count_type count,              \
                                                  MPI_Datatype datatype, int dest, int tag,       \
                                                  MPI_Comm comm, MPI_Request* request) {          \
    if (request != nullptr) [[likely]]                                                            \
      if (state* const me = sent_short(buf, count, datatype, dest, tag, comm); me != nullptr) {   \
        *request = handle_of(me->done);                                                           \
        return MPI_SUCCESS;                                                                       \
      }                                                                                           \
    return start_send_in_call(buf, count, datatype, dest, tag, comm, request, #name);             \
  }                                                                                               \
  WEFT_MPI_FUNCTION(int, name,                                                                    \
                    (const void* buf, count_type count, MPI_Datatype datatype, int dest, int tag, \
                     MPI_Comm comm, MPI_Request* request)) {                                      \
    if (request != nullptr) [[likely]]                                                            \
      if (state* const me = sent_words(buf, count, datatype, dest, tag, comm); me != nullptr) {   \
        *request = handle_of(me->done);                                                           \
        return MPI_SUCCESS;                                                                       \
      }                                                                                           \
    note_call_site(__builtin_return_address(0));                                                  \
    return name##_of_any_size(buf, count, datatype, dest, tag, comm, request);                    \
  }
SHORT_SEND(MPI_Isend, int)
SHORT_SEND(MPI_Isend_c, MPI_Count)
SHORT_SEND(MPI_Irsend, int)
SHORT_SEND(MPI_Irsend_c, MPI_Count)
SEND(MPI_Issend, int, start_send, synchronous)
SEND(MPI_Issend_c, MPI_Count, start_send, synchronous)
SEND(MPI_Ibsend, int, start_send, buffered)
SEND(MPI_Ibsend_c, MPI_Count, start_send, buffered)
SEND(MPI_Send_init, int, make_persistent_send, standard)
SEND(MPI_Send_init_c, MPI_Count, make_persistent_send, standard)
SEND(MPI_Rsend_init, int, make_persistent_send, standard)
SEND(MPI_Rsend_init_c, MPI_Count, make_persistent_send, standard)
SEND(MPI_Ssend_init, int, make_persistent_send, synchronous)
SEND(MPI_Ssend_init_c, MPI_Count, make_persistent_send, synchronous)
SEND(MPI_Bsend_init, int, make_persistent_send, buffered)
SEND(MPI_Bsend_init_c, MPI_Count, make_persistent_send, buffered)

#define RECEIVE(name, count_type, function)                                                        \
  WEFT_MPI_FUNCTION(int, name,                                                                     \
                    (void* buf, count_type count, MPI_Datatype datatype, int source, int tag,      \
                     MPI_Comm comm, MPI_Request* request)) {                                       \
    return in_call(                                                                                \
        #name, comm,                                                                               \
        [&](state& me) { function(me, buf, count, datatype, source, tag, comm, request, #name); }, \
        buf, count, datatype, source, tag, comm, request);                                         \
  }
#define SHORT_RECEIVE(name, count_type)                                                       \
  [[gnu::noinline]] static int name##_in_any_case(void* buf, count_type count,                \
                                                  MPI_Datatype datatype, int source, int tag, \
                                                  MPI_Comm comm, MPI_Request* request) {      \
    if (started_short(buf, count, datatype, source, tag, comm, request)) [[likely]]           \
      return MPI_SUCCESS;                                                                     \
    return start_receive_in_call(buf, count, datatype, source, tag, comm, request, #name);    \
  }                                                                                           \
  WEFT_MPI_FUNCTION(int, name,                                                                \
                    (void* buf, count_type count, MPI_Datatype datatype, int source, int tag, \
                     MPI_Comm comm, MPI_Request* request)) {                                  \
    if (posted_short(buf, count, datatype, source, tag, comm, request)) [[likely]]            \
      return MPI_SUCCESS;                                                                     \
    return name##_in_any_case(buf, count, datatype, source, tag, comm, request);              \
  }
SHORT_RECEIVE(MPI_Irecv, int)
SHORT_RECEIVE(MPI_Irecv_c, MPI_Count)
RECEIVE(MPI_Recv_init, int, make_persistent_receive)
RECEIVE(MPI_Recv_init_c, MPI_Count, make_persistent_receive)

#define ISENDRECV(name, count_type)                                                              \
  WEFT_MPI_FUNCTION(int, name,                                                                   \
                    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest, \
                     int sendtag, void* recvbuf, count_type recvcount, MPI_Datatype recvtype,    \
                     int source, int recvtag, MPI_Comm comm, MPI_Request* request)) {            \
    return in_call(                                                                              \
        #name, comm,                                                                             \
        [&](state& me) {                                                                         \
          start_exchange(me, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,    \
                         recvtype, source, recvtag, comm, request, #name);                       \
        },                                                                                       \
        sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,       \
        recvtag, comm, request);                                                                 \
  }
ISENDRECV(MPI_Isendrecv, int)
ISENDRECV(MPI_Isendrecv_c, MPI_Count)

#define ISENDRECV_REPLACE(name, count_type)                                                        \
  WEFT_MPI_FUNCTION(int, name,                                                                     \
                    (void* buf, count_type count, MPI_Datatype datatype, int dest, int sendtag,    \
                     int source, int recvtag, MPI_Comm comm, MPI_Request* request)) {              \
    return in_call(                                                                                \
        #name, comm,                                                                               \
        [&](state& me) {                                                                           \
          start_replacing(me, buf, count, datatype, dest, sendtag, source, recvtag, comm, request, \
                          #name);                                                                  \
        },                                                                                         \
        buf, count, datatype, dest, sendtag, source, recvtag, comm, request);                      \
  }
ISENDRECV_REPLACE(MPI_Isendrecv_replace, int)
ISENDRECV_REPLACE(MPI_Isendrecv_replace_c, MPI_Count)
