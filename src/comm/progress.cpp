// What progress() does: polls the transports, delivers what comes, moves on what waits for room.
#include <algorithm>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "comm/device.hpp"
#include "comm/runtime_state.hpp"

namespace weft::comm {

// --- From the transports ---

void local_device::channel::delivered(std::uint32_t peer, const wire_header& header,
                                      std::span<const std::byte> payload) noexcept {
  owner.deliver(peer, header, payload);
}

void local_device::channel::completed(void* context, bool failed) noexcept {
  owner.transport_completed(context, failed);
}

void local_device::channel::written(std::uint64_t word) noexcept {
  owner.on_written(*this, word);
}

void local_device::channel::peer_failed(std::uint32_t peer, const char* why) noexcept {
  owner.peer_failed(*this, peer, why);
}

void local_device::channel::refused(std::uint32_t peer, const char* why) noexcept {
  if (peer < owner.peers_.size()) owner.refuse(owner.peers_[peer], why);
}

void local_device::deliver(std::uint32_t peer, const wire_header& header,
                           std::span<const std::byte> payload) noexcept {
  if (peer >= peers_.size()) [[unlikely]] {
    ++statistics_.refused;
    return;
  }
  peer_state& from = peers_[peer];
  if (static_cast<message_kind>(header.kind) == message_kind::gathered) [[unlikely]]
    return deliver_gathered(from, payload);
  deliver_one(from, header, payload);
}

void local_device::deliver_one(peer_state& from, const wire_header& header,
                               std::span<const std::byte> payload) noexcept {
  ++statistics_.received;
  // Behind a message that waits for room at its receiver, all others wait.
  const bool may_be_handled =
      pumping_ ? order_.may_be_handled(false, thread_for(header)) : deferred_.empty();
  if (!may_be_handled || !handle(from, header, payload)) [[unlikely]]
    defer(from, header, payload);
}

[[gnu::noinline]] needed_thread local_device::thread_for(const wire_header& header) const noexcept {
  if (static_cast<message_kind>(header.kind) == message_kind::get_request)
    return (header.flags & unwritten_flag) != 0 ? needed_thread::any
                                                : needed_thread::any_while_none_waits;
  return is_pumped(header) ? needed_thread::any : needed_thread::owner;
}

bool local_device::handle(peer_state& from, const wire_header& header,
                          std::span<const std::byte> payload) noexcept {
  switch (static_cast<message_kind>(header.kind)) {
    case message_kind::am:
      return on_am(from, header, payload);
    case message_kind::eager:
      return on_eager(from, header, payload);
    case message_kind::am_announce:
      return on_am_announce(from, header, payload);
    case message_kind::send_announce:
      return on_send_announce(from, header, payload);
    case message_kind::ready:
      on_ready(from, header, payload);
      return true;
    case message_kind::data:
      on_data(from, header, payload);
      return true;
    case message_kind::finished:
      on_finished(from, header);
      return true;
    case message_kind::put_data:
      return on_put_data(from, header, payload);
    case message_kind::notify:
      return on_notify(from, header, payload);
    case message_kind::get_request:
      on_get_request(from, header, payload);
      return true;
    case message_kind::atomic_request:
      on_atomic_request(from, header, payload);
      return true;
    case message_kind::atomic_reply:
      on_atomic_reply(from, header);
      return true;
    case message_kind::gathered:  // In one that is gathered.
    case message_kind::none:
      break;
  }
  refuse(from, "a message of unknown kind");
  return true;
}

[[gnu::noinline]] void local_device::defer(peer_state& from, const wire_header& header,
                                           std::span<const std::byte> payload) noexcept {
  place* const kept = packets_.take_copy(payload);
  if (kept == nullptr) {
    refuse(from, "there is no memory to keep it");
    return;
  }
  kept->peer = from.number;
  kept->header = header;
  deferred_.push(kept);
  order_.note_waiting(thread_for(header));
}

void local_device::transport_completed(void* context, bool failed) noexcept {
  auto& what = *static_cast<operation*>(context);
  --what.outstanding;
  if (failed) what.result = outcome::failed;
  if (what.outstanding != 0 || what.listed) return;
  if (what.moved == what.size || what.result != outcome::complete) end(what);
}

// --- A peer died ---

// Told by a transport. What the route of this peer had of it has been delivered; it may wait here.
void local_device::peer_failed(const channel& by, std::uint32_t peer, const char* why) noexcept {
  if (peer >= peers_.size()) return;
  const peer_state& dead = peers_[peer];
  if (dead.route == &by && !dead.failed) dying_.push_back(peer);
  // Processes die as a whole: all endpoints of this one have failed.
  shared_.mark_failed(dead.who.process, why);
  if (!pumping_) notice_failures();
}

// Tells the transports what others know; they answer by peer_failed().
void local_device::notice_failures() noexcept {
  const std::uint64_t epoch = shared_.failures.value();
  if (epoch == failures_seen_) return;
  failures_seen_ = epoch;
  for (peer_state& each : peers_) {
    if (each.number == self_ || each.who.process < 0 || !shared_.has_failed(each.who.process) ||
        each.told)
      continue;
    each.told = true;
    const std::string why = shared_.why_failed(each.who.process);
    if (is_of_other_job(each.who.process)) {
      if (each.route != nullptr) each.route->to->mark_failed(each.way, why.c_str());
    } else {
      for (auto& by : channels_)
        if (!by->is_joined && by->to->reaches(each.number))
          by->to->mark_failed(each.number, why.c_str());
    }
    if (each.route == nullptr || !each.route->to->reaches(each.way)) lose(each);
  }
  // This device has no way to them, and nothing of theirs.
  for (int p = shared_.process_count; p < shared_.known_processes(); ++p)
    if (shared_.has_failed(p) &&
        std::ranges::none_of(peers_, [&](const peer_state& each) { return each.who.process == p; }))
      lost_[static_cast<std::size_t>(p)].store(true, std::memory_order_relaxed);
}

// Once no message of them waits for room here.
[[gnu::noinline]] void local_device::conclude_failures() noexcept {
  if (!deferred_.empty()) return;
  for (const std::uint32_t peer : std::exchange(dying_, {})) lose(peers_[peer]);
}

void local_device::lose(peer_state& dead) noexcept {
  if (std::exchange(dead.failed, true)) return;
  for (place* each = backlog_.take_all().first(); each != nullptr;) {
    place* const kept = each;
    each = each->behind;
    if (kept->peer == dead.number) {
      packets_.give_back(kept);
      --backlog_count_;
    } else {
      backlog_.push(kept);
    }
  }
  if (place* const lost = std::exchange(dead.gathered, nullptr); lost != nullptr)
    packets_.give_back(lost);
  dead.kept = 0;
  for (operation* each = announced_.take_all().first(); each != nullptr;) {
    operation* const what = each;
    each = each->behind;
    if (what->peer != dead.number) announced_.push(what);
  }
  dead.announced = 0;
  operations_.each([&](operation& each) {
    if (each.peer != dead.number || each.at == phase::matching || each.finished_elsewhere) return;
    each.result = outcome::failed;
    if (each.outstanding == 0 && !each.listed) finish(each);
  });
  const int process = dead.who.process;
  const auto is_usable = [&](const peer_state& p) { return p.who.process == process && !p.failed; };
  if (std::ranges::any_of(peers_, is_usable)) return;
  lost_[static_cast<std::size_t>(process)].store(true, std::memory_order_relaxed);
  fail_receives(engine_, process);
  for (std::uint16_t i = 1; match_table* const engine = shared_.engine(i); ++i)
    fail_receives(*engine, process);
  shared_.tell_of_failure(process);
}

// --- Progress ---

bool local_device::has_work() const noexcept {
  return !moving_.empty() || !ended_.empty() || !backlog_.empty() || !deferred_.empty() ||
         !gathering_.empty() || !dying_.empty() || handed_.has_any() ||
         shared_.failures.hint() != failures_seen_ || (arrival_has_ended_ && !announced_.empty());
}

// What was put off.
[[gnu::noinline]] int local_device::catch_up() noexcept {
  int happened = 0;
  // First: what has ended before a death is complete.
  for (operation* each = ended_.take_all().first(); each != nullptr; ++happened) {
    operation& what = *each;
    each = each->behind;
    what.listed = false;
    finish(what);
  }
  notice_failures();
  happened += take_handed();
  if (arrival_has_ended_) happened += begin_announced();
  happened += send_backlog();
  happened += send_all_gathered();
  for (operation* each = moving_.take_all().first(); each != nullptr;) {
    operation& what = *each;
    each = each->behind;
    what.listed = false;
    const std::uint64_t moved = what.moved;
    move_on(what);
    happened += what.moved != moved;
  }
  while (place* const kept = deferred_.first()) {
    if (!handle(peers_[kept->peer], kept->header, kept->bytes())) break;
    deferred_.pop();
    order_.note_handled(thread_for(kept->header));
    packets_.give_back(kept);
    ++happened;
  }
  return happened;
}

// What was kept for want of room.
int local_device::send_backlog() noexcept {
  int happened = 0;
  ++pass_;
  for (place* each = backlog_.take_all().first(); each != nullptr;) {
    place* const kept = each;
    each = each->behind;
    peer_state& to = peers_[kept->peer];
    const std::span<const std::byte> parts[1] = {kept->bytes()};
    if (to.full_in_pass == pass_ ||
        to.route->to->send(to.way, kept->header, parts, nullptr) == status::retry) {
      to.full_in_pass = pass_;
      backlog_.push(kept);
      continue;
    }
    ++happened;
    ++statistics_.sent;
    --to.kept;
    --backlog_count_;
    packets_.give_back(kept);
  }
  return happened;
}

int local_device::poll_channels() noexcept {
  // While messages wait here for those who should take them, the transports hold theirs.
  if (!deferred_.empty() || packets_.buffer_bytes() > shared_.options.waiting_bytes_max)
      [[unlikely]]
    return 0;
  int happened = channels_[0]->to->poll(*channels_[0], messages_delivered_max);
  for (std::size_t i = 1; i < channels_.size(); ++i) {
    channel& network = *channels_[i];
    if (network.skips != 0) {
      --network.skips;
      continue;
    }
    const int came = network.to->poll(network, messages_delivered_max);
    network.idle_polls = came != 0 ? 0 : std::min(network.idle_polls + 1, 4 * network_skips_max);
    network.skips = network.idle_polls / 4;
    happened += came;
  }
  return happened;
}

int local_device::make_progress() noexcept {
  // When another thread holds the device, it makes the progress.
  if (lock_ != nullptr && !device_guard::enter_again(*lock_) && !try_enter_in_turn(*lock_))
      [[unlikely]]
    return 0;
  int happened = 0;
  if (!in_handler()) {
    in_progress_ = true;
    if (has_work()) [[unlikely]]
      happened = catch_up();
    happened += poll_channels();
    if (!dying_.empty()) [[unlikely]]
      conclude_failures();
    in_progress_ = false;
  }
  if (lock_ != nullptr) lock_->leave(happened != 0);
  return happened;
}

// pump() leaves at most deferred_messages_max messages to progress(); beyond that it does not poll the transports.
int local_device::pump_transports() noexcept {
  if (lock_ == nullptr || !lock_->try_enter(this_thread_mark())) return 0;
  int happened = 0;
  if (!armed_ && !in_handler()) {
    pumping_ = true;
    if (!backlog_.empty()) happened += send_backlog();
    happened += send_all_gathered();
    for (operation* each = moving_.take_all().first(); each != nullptr;) {
      operation& what = *each;
      each = each->behind;
      what.listed = false;
      move_on(what);
    }
    for (auto& by : channels_)
      if (order_.waiting() < deferred_messages_max &&
          packets_.buffer_bytes() <= shared_.options.waiting_bytes_max)
        happened += by->to->poll(*by, messages_delivered_max);
    pumping_ = false;
  }
  lock_->leave();
  return happened;
}

}  // namespace weft::comm
