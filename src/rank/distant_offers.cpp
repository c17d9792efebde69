// Long messages between processes: the sender offers where its data lie, the receiver reads them and says
// so. Until then the sender may ask for its offer back.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "rank/distant_words.hpp"
#include "rank/messages.hpp"

namespace weft::detail {

namespace {

// What becomes of a send, as its sender is told.
constexpr std::uint32_t send_received = 0, send_failed = 1, send_withdrawn = 2;

}  // namespace

// --- Names of sends ------------------------------------------------------------------------------

std::uint64_t distant_sends::add(operation& op, int process, comm::registered_memory memory,
                                 std::unique_ptr<std::byte[]> copy) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  entry& e = entries_[index];
  e.op = &op;
  e.process = process;
  e.memory = std::move(memory);
  e.copy = std::move(copy);
  return two(++e.generation, index);
}

operation* distant_sends::take(std::uint64_t name, int process) noexcept {
  const std::uint32_t index = low_of(name);
  if (index >= entries_.size()) return nullptr;
  entry& e = entries_[index];
  if (e.op == nullptr || e.generation != high_of(name) || e.process != process) return nullptr;
  e.memory = {};
  e.copy.reset();
  free_.push_back(index);  // Never more than there were: no allocation.
  return std::exchange(e.op, nullptr);
}

std::uint64_t distant_sends::name_of(const operation& op) const noexcept {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].op == &op) return two(entries_[i].generation, static_cast<std::uint32_t>(i));
  return 0;
}

void distant_sends::forget(const operation& op) noexcept {
  if (const std::uint64_t name = name_of(op); name != 0)
    (void)take(name, entries_[low_of(name)].process);
}

operation* distant_sends::take_any(int process) noexcept {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].op != nullptr && entries_[i].process == process)
      return take(two(entries_[i].generation, static_cast<std::uint32_t>(i)), process);
  return nullptr;
}

// --- Offers --------------------------------------------------------------------------------------

void distant_ways::send_offer(worker& here, const peer& to, const envelope& from, operation& op) {
  port& p = network::of(here);
  const int process = address_of(to.number).process;
  std::unique_ptr<std::byte[]> copy;
  if (op.layout != nullptr && op.bytes != 0) {
    copy = std::make_unique_for_overwrite<std::byte[]>(op.bytes);
    copy_out(copy.get(), *op.layout);
  }
  comm::registered_memory memory;
  if (op.bytes != 0)
    memory = comm::registered_memory(p.device(), {copy != nullptr ? copy.get() : op.data, op.bytes},
                                     peer_access::read, process);
  offer_on_wire offered;
  offered.bytes = op.bytes;
  offered.memory = memory.remote();
  distant_sends& mine = sends_[static_cast<std::size_t>(here.index())];
  offered.send = mine.add(op, process, std::move(memory), std::move(copy));
  const comm::am wanted = message(to, from, offer_, std::as_bytes(std::span(&offered, 1)));
  p.count_sent(process);
  const auto post = [&] { return comm::post(p.device(), wanted); };
  const auto describe = [&]() -> wait_description {
    return {call_of(op.mode), from.context, to.number, from.tag, op.bytes};
  };
  if (post_in_wait(here, post, describe) == status::failed) {
    (void)mine.take(offered.send, process);
    throw_dead(*op.owner, to);
  }
}

void distant_ways::forget(worker& here, const operation& op) noexcept {
  sends_[static_cast<std::size_t>(here.index())].forget(op);
}

void distant_ways::on_offer(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened, sizeof(offer_on_wire));
  if (to == nullptr) [[unlikely]]
    return;
  offer_on_wire what;
  std::memcpy(&what, happened.data, sizeof what);
  // The transport will read where the offer says: from nobody but the device that sent it.
  if (const comm::remote_memory& m = what.memory;
      what.bytes != 0 && (m.process != happened.process || m.device != happened.device ||
                          m.size != what.bytes)) [[unlikely]]
    return refuse(here, happened, "it offers memory that is not its own, or of another length");
  const envelope from = envelope_of(happened);
  const origin source = origin_of(here, *to, from, happened);
  if (source == origin::forged) [[unlikely]]
    return;
  auto offered = std::make_unique<distant_offer>();
  offered->ways = this;
  offered->from = {happened.process, happened.device};
  offered->what = what;
  offer made{};
  made.bytes = what.bytes;
  made.worker = distant_worker;
  made.distant = offered.release();
  if (source == origin::right) [[likely]]
    deliver_offer(here, *to, from, made);
  else
    deliver_early(here, *to, from, {}, made, early_sender_of(happened));
}

void distant_ways::on_finished(worker& here, const comm::event& happened) {
  operation* const op =
      sends_[static_cast<std::size_t>(here.index())].take(happened.head[0], happened.process);
  if (op == nullptr) [[unlikely]]
    return;
  if (happened.user == send_withdrawn) return complete_withdrawn(here, *op);
  if (happened.user != send_received) fail(*op);
  complete(here, *op);
}

// --- Sends that are taken back -------------------------------------------------------------------

void distant_ways::ask_back(worker& here, const peer& to, const operation& op) noexcept {
  const std::uint64_t name = sends_[static_cast<std::size_t>(here.index())].name_of(op);
  if (name != 0) post_to(here, to.number, op.match.context, withdraw_, {}, name);
}

// The question comes after the offer: messages between two devices keep their order.
void distant_ways::on_withdraw(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  const comm::address sender{happened.process, happened.device};
  const std::uint64_t name = happened.head[1];
  const bool unmatched = drop_offer(*to, [&](const offer& o) {
    return o.distant != nullptr && o.distant->what.send == name &&
           o.distant->from.process == sender.process && o.distant->from.device == sender.device;
  });
  if (unmatched) post_small(here, sender, finished_, name, send_withdrawn);
}

// --- What is finished ----------------------------------------------------------------------------

void distant_ways::ask_finished(worker& here, const peer& to, std::uint32_t asks) noexcept {
  post_small(here, address_of(to.number), finished_asked_, asks);
}

// Messages between two devices keep their order: what was told before comes before.
void distant_ways::on_finished_asked(worker& here, const comm::event& happened) {
  post_small(here, {happened.process, happened.device}, finished_told_, happened.head[0]);
}

void distant_ways::on_finished_told(worker& here, const comm::event& happened) {
  if (rank_state* const asked = addressee(here, happened); asked != nullptr) [[likely]]
    ++asked->finishes_told;
}

// --- Reading -------------------------------------------------------------------------------------

struct distant_ways::reading {
  distant_ways* self;
  operation* op;
  envelope from;
  distant_offer* offered;
  std::unique_ptr<std::byte[]> copy;  // Where the data go first when the receive has a layout.
};
struct distant_ways::failed_read {
  operation* op;
  int process;
  std::uint64_t until_ns;
};

void distant_ways::receive(worker& here, operation& op, const envelope& from,
                           distant_offer* offered) {
  const std::size_t bytes = std::min<std::size_t>(op.bytes, offered->what.bytes);
  auto r = std::make_unique<reading>(reading{this, &op, from, offered, nullptr});
  if (bytes == 0) return end_read(here, *r, false);
  if (op.layout != nullptr) r->copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
  port& p = network::of(here);
  p.begin_writing();
  // Freed when it is complete.
  if (reading* const record = r.release(); !try_read(here, record))
    p.keep_trying(&try_read, record);
}

// False: there is no room, try again.
bool distant_ways::try_read(worker& here, void* record) {
  auto* const r = static_cast<reading*>(record);
  const std::size_t bytes = std::min<std::size_t>(r->op->bytes, r->offered->what.bytes);
  comm::event happened;
  if (!here.owner().stopping()) {
    comm::get wanted;
    wanted.from = r->offered->what.memory;
    wanted.data = std::span(r->copy != nullptr ? r->copy.get() : r->op->data, bytes);
    wanted.local = comm::completion(&on_read, record);
    switch (comm::post(network::of(here).device(), wanted)) {
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
  on_read(record, happened);
  return true;
}

void distant_ways::on_read(void* record, const comm::event& happened) noexcept {
  const std::unique_ptr<reading> r(static_cast<reading*>(record));
  worker* const current = worker::current();
  if (current != nullptr) network::of(*current).end_writing();
  if (current == nullptr || current->owner().stopping()) {
    delete r->offered;
    return;
  }
  r->self->end_read(*current, *r, happened.result != comm::outcome::complete);
}

void distant_ways::end_read(worker& here, const reading& r, bool failed) {
  const std::uint64_t bytes = r.offered->what.bytes;
  const int process = r.offered->from.process;
  if (r.copy != nullptr && !failed)
    fill_laid_out(*r.op, segments({r.copy.get(), std::min<std::size_t>(r.op->bytes, bytes)}));
  finish(here, r.offered, failed);
  if (!failed) return complete_receive(here, *r.op, packed_envelope(r.from), bytes);
  if (survives()) return fail(here, *r.op);
  network::of(here).keep_trying(&try_fail,
                                new failed_read{r.op, process, now_ns() + death_known_ns});
}

// The sender has died, which ends the job and the rank, or it has left the send by an exception.
bool distant_ways::try_fail(worker& here, void* record) {
  auto* const r = static_cast<failed_read*>(record);
  const bool ends = here.owner().stopping() || !network::of(here).device().is_alive(r->process);
  if (!ends && now_ns() < r->until_ns) return false;
  if (!ends) fail(here, *r->op);
  delete r;
  return true;
}

void distant_ways::finish(worker& here, distant_offer* offered, bool failed) {
  const std::unique_ptr<distant_offer> ended(offered);
  post_small(here, ended->from, finished_, ended->what.send, failed ? send_failed : send_received);
}

}  // namespace weft::detail
