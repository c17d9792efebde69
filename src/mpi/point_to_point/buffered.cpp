// Buffered sends. What cannot go at once is copied into memory of weft's own; the buffer that the
// program attaches says how much that may be.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collective/collectives.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/point_to_point/transfer.hpp"
#include "mpi/point_to_point/type_ledger.hpp"
#include "rank/remote.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

// The buffer that is for sends on a communicator: its own, that of its session, or the rank's.
attached_buffer& buffer_for(state& me, std::uint32_t context) {
  if (const auto own = me.own_buffers.find(context); own != me.own_buffers.end())
    return own->second;
  if (me.sessions.live() != 0)
    if (const communicator_object* const c = me.find_by_context(context); c != nullptr)
      if (session_object* const s = find_session(me, c->session);
          s != nullptr && s->buffer.is_attached())
        return s->buffer;
  return me.buffer;
}

// Calls visit(operation) for each send of this buffer that waits for its receiver. One without a number is a standard send
// that was held for a time.
template <class Visit>
void each_waiting(state& me, const attached_buffer& buffer, const Visit& visit) {
  const auto& all = me.rank.detached;
  for (const operation* op = all.front(); op != nullptr; op = all.after(*op))
    if (op->number != 0 && &buffer_for(me, op->match.context) == &buffer) visit(*op);
}

MPI_Count waiting_bytes(state& me, const attached_buffer& buffer) {
  MPI_Count bytes = 0;
  each_waiting(me, buffer, [&](const operation& op) {
    bytes += static_cast<MPI_Count>(op.bytes) + MPI_BSEND_OVERHEAD;
  });
  return bytes;
}

// Those who have received may not have told it yet. Each worker that a send of this buffer waits for is asked, and answers
// behind what it has told. A buffered send does not wait for others' progress: an answer that takes long is not waited
// for, and that of a process that has died neither.
constexpr std::uint64_t answer_ns_max = 200'000'000;

void hear_of_received(state& me, const attached_buffer& buffer, MPI_Count wanted) {
  rank_state& r = me.rank;
  std::vector<peer> asked;  // All are found first: a question may let answers be handled.
  const auto place_of = [&](const peer& p) {
    const rank_place there = detail::place_of(*r.shared, p.number);
    return std::pair(there.process, there.worker);
  };
  each_waiting(me, buffer, [&](const operation& op) {
    const auto c = find_communicator(r, base_context(op.match.context));
    if (c == nullptr) return;
    const peer& to = c->to(op.peer);
    const auto is_there = [&](const peer& p) { return place_of(p) == place_of(to); };
    // Messages within this worker are delivered by the call itself, so it is not asked.
    if (to.worker != r.home->index() && std::ranges::none_of(asked, is_there)) asked.push_back(to);
  });
  if (asked.empty()) return;
  const std::uint32_t told_before = r.finishes_told;
  for (const peer& to : asked) ask_finished(r, to);
  r.home->wait_until(
      [&] {
        return r.finishes_told - told_before >= asked.size() ||
               buffer.size - waiting_bytes(me, buffer) >= wanted;
      },
      answer_ns_max, {"MPI_Bsend (space of messages that have been received)"});
}

template <class Data>
void send(state& me, const peer& there, int to, const envelope& from, const Data& data) {
  rank_state& r = me.rank;
  r.home->begin_call();
  if (send_now(r, there, from, data, send_mode::standard)) return;
  const attached_buffer& buffer = buffer_for(me, from.context);
  MPI_Count used = waiting_bytes(me, buffer);
  const MPI_Count wanted = static_cast<MPI_Count>(data.size()) + MPI_BSEND_OVERHEAD;
  const auto lacks_room = [&] {
    return buffer.address != MPI_BUFFER_AUTOMATIC && wanted > buffer.size - used;
  };
  if (lacks_room() && used != 0 && wanted <= buffer.size) [[unlikely]] {
    hear_of_received(me, buffer, wanted);
    used = waiting_bytes(me, buffer);
  }
  if (lacks_room())
    fail(MPI_ERR_BUFFER,
         "{} bytes with MPI_BSEND_OVERHEAD, and {} of {} attached are in use: call "
         "MPI_Buffer_attach with more",
         wanted, used, buffer.size);
  kept_operation* const op = take_kept(r);
  op->detached = true;
  op->copy = std::make_unique<std::byte[]>(data.size());
  copy_out(op->copy.get(), data);
  set_memory(*op, byte_view(op->copy.get(), data.size()));
  describe_send(*op, r, from, to, there.worker);
  op->number = ++me.buffered_sends;
  r.detached.push_back(*op);
  send_rts(*r.home, there, from, *op);
}

// Returns when the first `last` sends that had to wait have been received.
void flush(state& me, const attached_buffer& buffer, const char* call, std::uint64_t last) {
  me.rank.home->wait_until(
      [&] {
        bool any = false;
        each_waiting(me, buffer, [&](const operation& op) { any = any || op.number <= last; });
        return !any;
      },
      {call});
}

void attach(attached_buffer& buffer, void* address, MPI_Count size) {
  if (buffer.is_attached()) fail(MPI_ERR_BUFFER, "a buffer is attached already: detach it first");
  if (size < 0) fail(MPI_ERR_ARG, "a buffer of {} bytes", size);
  buffer = {address, size};
}

template <class Size>
void detach(state& me, attached_buffer& buffer, void* address, Size* size, const char* call) {
  check_not_null(address, "buffer_addr");
  check_not_null(size, "size");
  flush(me, buffer, call, me.buffered_sends);
  *static_cast<void**>(address) = buffer.address;
  *size = buffer.size > std::numeric_limits<Size>::max() ? static_cast<Size>(MPI_UNDEFINED)
                                                         : static_cast<Size>(buffer.size);
  buffer = {};
}

// Sends on the communicator use its own buffer from now on. Those that wait already are accounted to
// it, too: that is more than there need be.
void attach_own(state& me, MPI_Comm comm, void* address, MPI_Count size) {
  const std::uint32_t context = checked_communicator(me, comm).shared->context;
  if (me.own_buffers.contains(context))
    fail(MPI_ERR_BUFFER, "a buffer is attached to the communicator already: detach it first");
  attached_buffer made;
  attach(made, address, size);
  me.own_buffers[context] = made;
}

template <class Size>
void detach_own(state& me, MPI_Comm comm, void* address, Size* size, const char* call) {
  const std::uint32_t context = checked_communicator(me, comm).shared->context;
  const auto own = me.own_buffers.find(context);
  attached_buffer none;
  detach(me, own == me.own_buffers.end() ? none : own->second, address, size, call);
  me.own_buffers.erase(context);
}

const attached_buffer& own_buffer(state& me, MPI_Comm comm) {
  static const attached_buffer none;  // For which nothing waits.
  const auto own = me.own_buffers.find(checked_communicator(me, comm).shared->context);
  return own == me.own_buffers.end() ? none : own->second;
}

// A request that is complete when flush() would return.
MPI_Request start_flush(state& me, const attached_buffer& buffer, const communicator_object& c,
                        MPI_Comm comm, const char* call) {
  return add_request(me, comm,
                     start_activity(c.ranks.shared_state(),
                                    [&me, &buffer, call, last = me.buffered_sends] {
                                      flush(me, buffer, call, last);
                                    }),
                     call);
}

}  // namespace

void send_buffered(state& me, const route& to, const void* buffer, MPI_Count count) {
  const peer& there = to.comm->shared->to(to.peer);
  // Before: who receives it looks for the note.
  if (keeps_ledger(me)) [[unlikely]]
    note_sent(me, to, to.type, count);
  try {
    with_data(buffer, count, *to.type,
              [&](const auto& data) { send(me, there, to.peer, to.of_send(), data); });
  } catch (...) {
    if (keeps_ledger(me)) note_lost(me, there.number, to.of_send());
    throw;
  }
}

void send_buffered(state& me, const peer& there, int to, const envelope& from,
                   const segments* layout, byte_view data) {
  if (layout != nullptr)
    send(me, there, to, from, *layout);
  else
    send(me, there, to, from, data);
}

bool has_buffered(const state& me, std::uint32_t context) noexcept {
  const auto& all = me.rank.detached;
  const operation* op = all.front();
  while (op != nullptr && (op->number == 0 || op->match.context != context)) op = all.after(*op);
  return op != nullptr;
}

void finish_buffered(state& me, const char* call, std::optional<std::uint32_t> session) {
  const auto is_concerned = [&](const operation& op) {
    if (op.number == 0) return false;
    if (!session) return true;
    const communicator_object* const c = me.find_by_context(op.match.context);
    return c != nullptr && c->session == *session;
  };
  me.rank.home->wait_until(
      [&] {
        const auto& all = me.rank.detached;
        const operation* op = all.front();
        while (op != nullptr && !is_concerned(*op)) op = all.after(*op);
        return op == nullptr;
      },
      {call});
}

}  // namespace weft::mpi

using namespace weft::mpi;

#define BUFFER_OF_ALL(suffix, Size)                                                       \
  WEFT_MPI_FUNCTION(int, MPI_Buffer_attach##suffix, (void* buffer, Size size)) {          \
    return in_call(                                                                       \
        "MPI_Buffer_attach" #suffix, MPI_COMM_SELF,                                       \
        [&](state& me) { attach(me.buffer, buffer, size); }, buffer, size);               \
  }                                                                                       \
  WEFT_MPI_FUNCTION(int, MPI_Buffer_detach##suffix, (void* buffer_addr, Size* size)) {    \
    return in_call(                                                                       \
        "MPI_Buffer_detach" #suffix, MPI_COMM_SELF,                                       \
        [&](state& me) {                                                                  \
          detach(me, me.buffer, buffer_addr, size, "MPI_Buffer_detach (buffered sends)"); \
        },                                                                                \
        buffer_addr, size);                                                               \
  }
BUFFER_OF_ALL(, int)
BUFFER_OF_ALL(_c, MPI_Count)

#define BUFFER_OF_COMMUNICATOR(suffix, Size)                                                  \
  WEFT_MPI_FUNCTION(int, MPI_Comm_attach_buffer##suffix,                                      \
                    (MPI_Comm comm, void* buffer, Size size)) {                               \
    return in_call(                                                                           \
        "MPI_Comm_attach_buffer" #suffix, comm,                                               \
        [&](state& me) { attach_own(me, comm, buffer, size); }, comm, buffer, size);          \
  }                                                                                           \
  WEFT_MPI_FUNCTION(int, MPI_Comm_detach_buffer##suffix,                                      \
                    (MPI_Comm comm, void* buffer_addr, Size* size)) {                         \
    return in_call(                                                                           \
        "MPI_Comm_detach_buffer" #suffix, comm,                                               \
        [&](state& me) {                                                                      \
          detach_own(me, comm, buffer_addr, size, "MPI_Comm_detach_buffer (buffered sends)"); \
        },                                                                                    \
        comm, buffer_addr, size);                                                             \
  }
BUFFER_OF_COMMUNICATOR(, int)
BUFFER_OF_COMMUNICATOR(_c, MPI_Count)

#define BUFFER_OF_SESSION(suffix, Size)                                                          \
  WEFT_MPI_FUNCTION(int, MPI_Session_attach_buffer##suffix,                                      \
                    (MPI_Session session, void* buffer, Size size)) {                            \
    return in_call(                                                                              \
        "MPI_Session_attach_buffer" #suffix, session,                                            \
        [&](state&) { attach(checked_session(session).buffer, buffer, size); }, session, buffer, \
        size);                                                                                   \
  }                                                                                              \
  WEFT_MPI_FUNCTION(int, MPI_Session_detach_buffer##suffix,                                      \
                    (MPI_Session session, void* buffer_addr, Size* size)) {                      \
    return in_call(                                                                              \
        "MPI_Session_detach_buffer" #suffix, session,                                            \
        [&](state& me) {                                                                         \
          detach(me, checked_session(session).buffer, buffer_addr, size,                         \
                 "MPI_Session_detach_buffer (buffered sends)");                                  \
        },                                                                                       \
        session, buffer_addr, size);                                                             \
  }
BUFFER_OF_SESSION(, int)
BUFFER_OF_SESSION(_c, MPI_Count)

WEFT_MPI_FUNCTION(int, MPI_Buffer_flush, (void)) {
  return in_call("MPI_Buffer_flush", MPI_COMM_SELF,
                 [](state& me) { flush(me, me.buffer, "MPI_Buffer_flush", me.buffered_sends); });
}
WEFT_MPI_FUNCTION(int, MPI_Buffer_iflush, (MPI_Request * request)) {
  return in_call(
      "MPI_Buffer_iflush", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(request, "request");
        *request = start_flush(me, me.buffer, *me.self, MPI_COMM_SELF, "MPI_Buffer_iflush");
      },
      request);
}
WEFT_MPI_FUNCTION(int, MPI_Comm_flush_buffer, (MPI_Comm comm)) {
  return in_call(
      "MPI_Comm_flush_buffer", comm,
      [&](state& me) {
        flush(me, own_buffer(me, comm), "MPI_Comm_flush_buffer", me.buffered_sends);
      },
      comm);
}
WEFT_MPI_FUNCTION(int, MPI_Comm_iflush_buffer, (MPI_Comm comm, MPI_Request* request)) {
  return in_call(
      "MPI_Comm_iflush_buffer", comm,
      [&](state& me) {
        check_not_null(request, "request");
        const communicator_object& c = checked_communicator(me, comm);
        *request = start_flush(me, own_buffer(me, comm), c, comm, "MPI_Comm_iflush_buffer");
      },
      comm, request);
}
WEFT_MPI_FUNCTION(int, MPI_Session_flush_buffer, (MPI_Session session)) {
  return in_call(
      "MPI_Session_flush_buffer", session,
      [&](state& me) {
        flush(me, checked_session(session).buffer, "MPI_Session_flush_buffer", me.buffered_sends);
      },
      session);
}
WEFT_MPI_FUNCTION(int, MPI_Session_iflush_buffer, (MPI_Session session, MPI_Request* request)) {
  return in_call(
      "MPI_Session_iflush_buffer", session,
      [&](state& me) {
        check_not_null(request, "request");
        *request = start_flush(me, checked_session(session).buffer, *me.self, MPI_COMM_SELF,
                               "MPI_Session_iflush_buffer");
      },
      session, request);
}
