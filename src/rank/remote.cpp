// Short messages to and from ranks of other processes, and the checks of those that arrive.
#include <algorithm>
#include <memory>

#include "rank/messages.hpp"
#include "rank/remote_wire.hpp"

namespace weft::detail {

void fail(operation& op) noexcept {
  op.failed = true;
  op.result = {.bytes = failed_bytes};
}
void fail(worker& here, operation& op) noexcept {
  fail(op);
  complete(here, op);
}

// --- Sending -------------------------------------------------------------------------------------

remote_messaging::remote_messaging(messaging& shared, face_handlers& handlers)
    : shared_(shared),
      job_(shared.in_job),
      between_(*handlers.between()),
      sends_(between_.ports().size()),
      known_sources_(between_.ports().size()),
      congested_(std::make_unique<std::atomic<bool>[]>(job_.places.size())),
      told_congested_(job_.places.size()) {
  eager_bytes_max_ = job_.how.eager_max_bytes * remote_eager_factor;
  for (int p = 0; p < between_.process_count(); ++p)
    eager_bytes_max_ = std::min(eager_bytes_max_, between_.core().device(0).eager_bytes_max(p));
  // All processes add them in this order, so that the numbers are the same.
  const auto handler = [&](comm::completion::function called) {
    return handlers.add(called, this);
  };
  eager_ = handler(&call_handler<remote_messaging, &remote_messaging::on_eager>);
  rts_ = handler(&call_handler<remote_messaging, &remote_messaging::on_rts>);
  finished_ = handler(&call_handler<remote_messaging, &remote_messaging::on_finished>);
  congestion_ = handler(&call_handler<remote_messaging, &remote_messaging::on_congestion>);
  withdraw_ = handler(&call_handler<remote_messaging, &remote_messaging::on_withdraw>);
  finished_asked_ = handler(&call_handler<remote_messaging, &remote_messaging::on_finished_asked>);
  finished_told_ = handler(&call_handler<remote_messaging, &remote_messaging::on_finished_told>);
}

comm::am remote_messaging::message(const peer& to, const envelope& from, comm::handler_id handler,
                                   comm::const_buffers data) const noexcept {
  comm::am made;
  made.to = address_of(to.number);
  made.handler = handler;
  made.data = data;
  made.tag = two(from.context, static_cast<std::uint32_t>(from.tag));
  made.head = {two(static_cast<std::uint32_t>(from.source), static_cast<std::uint32_t>(to.number)),
               0};
  return made;
}

bool remote_messaging::goes_eager(const peer& to, std::size_t bytes,
                                  send_mode mode) const noexcept {
  // Relaxed: advice, as within a process.
  return mode != send_mode::synchronous && bytes <= eager_bytes_max_ &&
         !congested_[static_cast<std::size_t>(to.number)].load(std::memory_order_relaxed);
}

bool remote_messaging::reads_in_place(int rank) const noexcept {
  return between_.core().device(0).transport_to(address_of(rank).process) == "shm";
}

bool remote_messaging::send_now(rank_state& me, const peer& to, const envelope& from,
                                std::span<const std::byte> data, send_mode mode) {
  if (!goes_eager(to, data.size(), mode)) return false;
  worker& here = *me.home;
  port& p = network::of(here);
  const comm::am wanted = message(to, from, eager_, data);
  p.count_sent(wanted.to.process);
  const auto post = [&] { return comm::post(p.device(), wanted); };
  const auto describe = [&]() -> wait_description {
    return {"send (no room)", from.context, to.number, from.tag, data.size()};
  };
  if (post_in_wait(here, post, describe) == status::failed) throw_dead(me, to);
  return true;
}

bool remote_messaging::send_now(rank_state& me, const peer& to, const envelope& from,
                                const segments& data, send_mode mode) {
  if (!goes_eager(to, data.size(), mode)) return false;
  const auto row = std::make_unique_for_overwrite<std::byte[]>(data.size());
  copy_out(row.get(), data);
  return send_now(me, to, from, byte_view(row.get(), data.size()), mode);
}

bool send_remote(rank_state& me, const peer& to, packed_envelope from, byte_view data,
                 send_mode mode) {
  return me.shared->ways->send_now(me, to, from.unpacked(), data, mode);
}
bool send_remote(rank_state& me, const peer& to, packed_envelope from, const segments& data,
                 send_mode mode) {
  return me.shared->ways->send_now(me, to, from.unpacked(), data, mode);
}

void remote_messaging::post_small(worker& here, comm::address to, comm::handler_id handler,
                                  std::uint64_t first, std::uint32_t user) noexcept {
  port& p = network::of(here);
  p.count_sent(to.process);
  comm::am made;
  made.to = to;
  made.handler = handler;
  made.head = {first, 0};
  made.user = user;
  made.allow.retry = false;
  (void)comm::post(p.device(), made);  // A dead process needs no answer.
}

void remote_messaging::post_to(worker& here, int rank, std::uint32_t context,
                               comm::handler_id handler, std::span<const std::byte> data,
                               std::uint64_t word) noexcept {
  port& p = network::of(here);
  comm::am made;
  made.to = address_of(rank);
  made.handler = handler;
  made.data = data;
  made.tag = context;
  made.head = {static_cast<std::uint64_t>(rank), word};
  p.count_sent(made.to.process);
  made.allow.retry = false;
  (void)comm::post(p.device(), made);  // A dead process need not know.
}

// --- Arrivals ------------------------------------------------------------------------------------

origin remote_messaging::find_origin(known_sources& known, worker& here, const rank_state& to,
                                     const envelope& from, const comm::event& happened) {
  const auto c = find_communicator(to, base_context(from.context));
  if (c == nullptr) return origin::unknown;
  if (c->process_of(from.source) != happened.process) {
    refuse(here, happened, foreign_source);
    return origin::forged;
  }
  known.know(*c);
  return origin::right;
}

void remote_messaging::on_eager(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  const envelope from = envelope_of(happened);
  const byte_view data(happened.data, happened.size);
  const origin source = origin_of(here, *to, from, happened);
  if (source == origin::right) [[likely]]
    deliver(here, *to, packed_envelope(from), data);
  else if (source == origin::unknown)
    deliver_early(here, *to, from, data, {}, early_sender_of(happened));
  if (to->congested.load(std::memory_order_relaxed)) [[unlikely]]
    tell_congested(*to, happened);
}

// --- Congestion ----------------------------------------------------------------------------------

// A sender to a congested rank is told so once; from then on it sends rendezvous requests.
void remote_messaging::tell_congested(rank_state& r, const comm::event& happened) {
  auto& told = told_congested_[static_cast<std::size_t>(r.number)];
  const comm::address sender{happened.process, happened.device};
  for (const comm::address& one : told)
    if (one.process == sender.process && one.device == sender.device) return;
  told.push_back(sender);
  post_small(*r.home, sender, congestion_, static_cast<std::uint64_t>(r.number), 1);
}

void remote_messaging::tell_relaxed(rank_state& r) {
  // The list is taken first: a post that finds no room handles messages, and the rank may be congested again meanwhile.
  for (const comm::address& one :
       std::exchange(told_congested_[static_cast<std::size_t>(r.number)], {}))
    post_small(*r.home, one, congestion_, static_cast<std::uint64_t>(r.number), 0);
}

void remote_messaging::on_congestion(worker& here, const comm::event& happened) {
  if (!is_of(happened.head[0], happened)) [[unlikely]]
    return refuse(here, happened, "it tells of the congestion of another one's rank");
  congested_[happened.head[0]].store(happened.user != 0, std::memory_order_relaxed);
}

}  // namespace weft::detail
