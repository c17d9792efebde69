// Buffered sends. What cannot go at once is copied into memory of weft's own; the buffer that the
// program attaches says how much that may be.
#include <memory>

#include "mpi/profiling.hpp"
#include "mpi/transfer.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

// That wait for their receivers.
MPI_Count waiting_bytes(const rank_state& r) {
  MPI_Count bytes = 0;
  for (const operation* op = r.detached.front(); op != nullptr; op = r.detached.after(*op))
    bytes += static_cast<MPI_Count>(op->bytes) + MPI_BSEND_OVERHEAD;
  return bytes;
}

template <class Data>
void send(state& me, const peer& there, int to, const envelope& from, const Data& data) {
  rank_state& r = me.rank;
  r.home->perturb();
  r.home->check_stopped();
  if (send_now(r, there, to, from, data, send_mode::standard)) return;
  const MPI_Count used = waiting_bytes(r);
  const MPI_Count wanted = static_cast<MPI_Count>(data.size()) + MPI_BSEND_OVERHEAD;
  if (me.buffer != MPI_BUFFER_AUTOMATIC && wanted > me.buffer_size - used)
    fail(MPI_ERR_BUFFER, "{} octets with MPI_BSEND_OVERHEAD, and {} of {} attached are in use: call "
         "MPI_Buffer_attach with more", wanted, used, me.buffer_size);
  kept_operation* const op = take_kept(r);
  op->detached = true;
  op->copy = std::make_unique<std::byte[]>(data.size());
  copy_out(op->copy.get(), data);
  set_memory(*op, octets(op->copy.get(), data.size()));
  describe_send(*op, r, from, to, there.worker);
  r.detached.push_back(*op);
  send_offer(*r.home, there, from, *op);
}

void attach(state& me, void* buffer, MPI_Count size) {
  if (me.buffer_size != 0 || me.buffer == MPI_BUFFER_AUTOMATIC)
    fail(MPI_ERR_BUFFER, "a buffer is attached already: call MPI_Buffer_detach first");
  if (size < 0) fail(MPI_ERR_ARG, "a buffer of {} octets", size);
  me.buffer = buffer;
  me.buffer_size = size;
}

template <class Size>
void detach(state& me, void* buffer, Size* size) {
  check_not_null(buffer, "buffer_addr");
  check_not_null(size, "size");
  finish_buffered(me);
  *static_cast<void**>(buffer) = me.buffer;
  *size = static_cast<Size>(me.buffer_size);
  me.buffer = nullptr;
  me.buffer_size = 0;
}

}  // namespace

void send_buffered(state& me, const route& to, const void* buffer, MPI_Count count) {
  with_data(buffer, count, *to.type, [&](const auto& data) {
    send(me, to.comm->shared->to(to.peer), to.peer, to.of_send(), data);
  });
}

void send_buffered(state& me, const peer& there, int to, const envelope& from,
                   const segments* layout, octets data) {
  if (layout != nullptr)
    send(me, there, to, from, *layout);
  else
    send(me, there, to, from, data);
}

void finish_buffered(state& me) {
  const rank_state& r = me.rank;
  me.rank.home->wait_until([&] { return r.detached.front() == nullptr; },
                           {"MPI_Buffer_detach (buffered sends)"});
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Buffer_attach, (void* buffer, int size)) {
  return in_call("MPI_Buffer_attach", MPI_COMM_SELF, [&](state& me) { attach(me, buffer, size); },
                 buffer, size);
}
WEFT_MPI_FUNCTION(int, MPI_Buffer_attach_c, (void* buffer, MPI_Count size)) {
  return in_call("MPI_Buffer_attach_c", MPI_COMM_SELF, [&](state& me) { attach(me, buffer, size); },
                 buffer, size);
}
WEFT_MPI_FUNCTION(int, MPI_Buffer_detach, (void* buffer_addr, int* size)) {
  return in_call("MPI_Buffer_detach", MPI_COMM_SELF,
                 [&](state& me) { detach(me, buffer_addr, size); }, buffer_addr, size);
}
WEFT_MPI_FUNCTION(int, MPI_Buffer_detach_c, (void* buffer_addr, MPI_Count* size)) {
  return in_call("MPI_Buffer_detach_c", MPI_COMM_SELF,
                 [&](state& me) { detach(me, buffer_addr, size); }, buffer_addr, size);
}
WEFT_MPI_FUNCTION(int, MPI_Buffer_flush, (void)) {
  return in_call("MPI_Buffer_flush", MPI_COMM_SELF, [](state& me) { finish_buffered(me); });
}
