// Long messages between processes: the sender offers where its data lie, the receiver reads them and says
// so. Until then the sender may ask for its rendezvous request back.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "rank/messages.hpp"
#include "rank/remote_wire.hpp"

namespace weft::detail {

// The other side of it is told that it failed.
void refuse(worker& here, rank_state& at, unexpected_message* m) {
  if (m->rts.remote != nullptr)
    m->rts.remote->ways->finish(here, m->rts.remote, true);
  else if (m->rts)
    refuse_of_process(here, m->rts);
  m->rts.remote = nullptr;
  free_unexpected(at, m);
}

namespace {

// What becomes of a send, as its sender is told.
constexpr std::uint32_t send_received = 0, send_failed = 1, send_withdrawn = 2;

}  // namespace

// --- Rendezvous requests --------------------------------------------------------------------------------------

void remote_messaging::send_rts(worker& here, const peer& to, const envelope& from, operation& op) {
  const remote::port p = remote::port::of(here);
  const int process = address_of(to.number).process;
  std::unique_ptr<std::byte[]> copy;
  if (op.layout != nullptr && op.bytes != 0) {
    copy = std::make_unique_for_overwrite<std::byte[]>(op.bytes);
    copy_out(copy.get(), *op.layout);
  }
  comm::registered_memory memory;
  if (op.bytes != 0)
    memory = p.open_memory({copy != nullptr ? copy.get() : op.data, op.bytes}, peer_access::read,
                           process);
  rts_on_wire rts;
  rts.bytes = op.bytes;
  rts.memory = memory.remote();
  rts.send = sends_of(here).add({&op, std::move(memory), std::move(copy)}, process);
  const comm::am wanted = message(to, from, rts_, std::as_bytes(std::span(&rts, 1)));
  const auto describe = [&]() -> wait_description {
    return {call_of(op.mode), from.context, to.number, from.tag, op.bytes};
  };
  if (p.send_in_wait(here, wanted, describe) == status::failed) {
    (void)sends_of(here).take(rts.send, process);
    throw_dead(*op.owner, to);
  }
}

void remote_messaging::forget(worker& here, const operation& op) noexcept {
  if (const std::uint64_t name = name_of(here, op); name != 0) (void)sends_of(here).take(name);
}

void remote_messaging::on_rts(worker& here, rank_state& to, const comm::event& happened) {
  rts_on_wire what;
  std::memcpy(&what, happened.data, sizeof what);
  // The transport will read where the rendezvous request says: from nobody but the device that sent it.
  if (const comm::remote_memory& m = what.memory;
      what.bytes != 0 && (m.process != own_number_of(happened.process) ||
                          m.device != happened.device || m.size != what.bytes)) [[unlikely]]
    return remote::refuse(here, happened,
                          "it offers memory that is not its own, or of another length");
  what.memory.process = happened.process;
  const envelope from = envelope_of(happened);
  const origin source = origin_of(here, to, from, happened);
  if (source == origin::forged) [[unlikely]]
    return;
  auto rts = std::make_unique<remote_rendezvous>();
  rts->ways = this;
  rts->from = {happened.process, happened.device};
  rts->what = what;
  rendezvous_request made{};
  made.bytes = what.bytes;
  made.worker = remote_worker;
  made.remote = rts.release();
  if (source == origin::right) [[likely]]
    deliver_rts(here, to, from, made);
  else
    deliver_early(here, to, from, {}, made, early_sender_of(happened));
}

void remote_messaging::on_finished(worker& here, const comm::event& happened) {
  auto sent = sends_of(here).take(happened.head[0], happened.process);
  if (!sent) [[unlikely]]
    return;
  operation& op = *sent->op;
  sent.reset();  // The memory is closed to the peer before its owner may free it.
  if (happened.user == send_withdrawn) return complete_withdrawn(here, op);
  if (happened.user != send_received) fail(op);
  complete(here, op);
}

// --- Sends that are taken back -------------------------------------------------------------------

void remote_messaging::ask_back(worker& here, const peer& to, const operation& op) noexcept {
  const std::uint64_t name = name_of(here, op);
  if (name != 0) post_to(here, to.number, op.match.context, withdraw_, {}, name);
}

// The question comes after the rendezvous request: messages between two devices keep their order.
void remote_messaging::on_withdraw(worker& here, rank_state& to, const comm::event& happened) {
  const comm::address sender{happened.process, happened.device};
  const std::uint64_t name = happened.head[1];
  const bool unmatched = drop_rts(to, [&](const rendezvous_request& o) {
    return o.remote != nullptr && o.remote->what.send == name &&
           o.remote->from.process == sender.process && o.remote->from.device == sender.device;
  });
  if (unmatched) post_small(here, sender, finished_, name, send_withdrawn);
}

// --- What is finished ----------------------------------------------------------------------------

void remote_messaging::ask_finished(worker& here, const peer& to, std::uint32_t asks) noexcept {
  post_small(here, address_of(to.number), finished_asked_, asks);
}

// Messages between two devices keep their order: what was told before comes before.
void remote_messaging::on_finished_asked(worker& here, const comm::event& happened) {
  post_small(here, {happened.process, happened.device}, finished_told_, happened.head[0]);
}

void remote_messaging::on_finished_told(worker&, rank_state& asked, const comm::event&) {
  ++asked.finishes_told;
}

// --- Reading -------------------------------------------------------------------------------------

struct remote_messaging::reading {
  remote_messaging* self;
  operation* op;
  envelope from;
  remote_rendezvous* rts;
  std::unique_ptr<std::byte[]> copy;  // Where the data go first when the receive has a layout.
};
struct remote_messaging::failed_read {
  operation* op;
  int process;
  std::uint64_t until_ns;
};

void remote_messaging::receive(worker& here, operation& op, const envelope& from,
                               remote_rendezvous* rts) {
  const std::size_t bytes = std::min<std::size_t>(op.bytes, rts->what.bytes);
  auto r = std::make_unique<reading>(reading{this, &op, from, rts, nullptr});
  if (bytes == 0) return end_read(here, *r, false);
  if (op.layout != nullptr) r->copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const remote::port p = remote::port::of(here);
  p.begin_read();
  // Freed when it is complete.
  if (reading* const record = r.release(); !try_read(here, record))
    p.keep_trying(&try_read, record);
}

// False: there is no room, try again.
bool remote_messaging::try_read(worker& here, void* record) {
  auto* const r = static_cast<reading*>(record);
  const std::size_t bytes = std::min<std::size_t>(r->op->bytes, r->rts->what.bytes);
  comm::event happened;
  if (!here.owner().stopping()) {
    comm::get wanted;
    wanted.from = r->rts->what.memory;
    wanted.data = std::span(r->copy != nullptr ? r->copy.get() : r->op->data, bytes);
    switch (remote::port::of(here).try_transfer<&on_read>(wanted, record)) {
      case status::posted:
        return true;
      case status::retry:
        return false;
      case status::failed:
        happened.result = comm::outcome::failed;
        break;
      case status::done:
        break;
    }
  }
  remote::port::of(here).end_read();
  on_read(record, happened);
  return true;
}

void remote_messaging::on_read(void* record, const comm::event& happened) noexcept {
  const std::unique_ptr<reading> r(static_cast<reading*>(record));
  worker* const current = worker::current();
  if (current == nullptr || current->owner().stopping()) {
    delete r->rts;
    return;
  }
  r->self->end_read(*current, *r, happened.result != comm::outcome::complete);
}

void remote_messaging::end_read(worker& here, const reading& r, bool failed) {
  const std::uint64_t bytes = r.rts->what.bytes;
  const int process = r.rts->from.process;
  if (r.copy != nullptr && !failed)
    fill_laid_out(*r.op, segments({r.copy.get(), std::min<std::size_t>(r.op->bytes, bytes)}));
  finish(here, r.rts, failed);
  if (!failed) return complete_receive(here, *r.op, packed_envelope(r.from), bytes);
  if (survives()) return fail(here, *r.op);
  remote::port::of(here).keep_trying(&try_fail,
                                     new failed_read{r.op, process, now_ns() + death_known_ns});
}

// The sender has died, which ends the job and the rank, or it has left the send by an exception.
bool remote_messaging::try_fail(worker& here, void* record) {
  auto* const r = static_cast<failed_read*>(record);
  const bool ends = here.owner().stopping() || !remote::port::of(here).is_alive(r->process);
  if (!ends && now_ns() < r->until_ns) return false;
  if (!ends) fail(here, *r->op);
  delete r;
  return true;
}

void remote_messaging::finish(worker& here, remote_rendezvous* rts, bool failed) {
  const std::unique_ptr<remote_rendezvous> ended(rts);
  post_small(here, ended->from, finished_, ended->what.send, failed ? send_failed : send_received);
}

}  // namespace weft::detail
