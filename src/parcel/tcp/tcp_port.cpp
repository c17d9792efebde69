#include "parcel/tcp/tcp_port.hpp"

#if __has_include(<boost/asio/ip/tcp.hpp>)

#include <algorithm>
#include <cstring>
#include <utility>

#include "parcel/tcp/tcp_connections.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// What may wait to be written to one process before senders wait.
constexpr std::size_t unsent_bytes_max = 4 * 1024 * 1024;
constexpr int taken_in_a_pass = 32;

std::unique_ptr<parcelport> make(const parcelport_name& name, const parcelport_site& site) {
  if (!name.detail.empty())
    throw error(formatted("parcelport tcp:{}: nothing stands behind a colon", name.detail));
  return std::make_unique<tcp_port>(site);
}

}  // namespace

const parcelport_maker tcp_parcelport{[](std::string_view kind) noexcept { return kind == "tcp"; },
                                      &make};

// --- What the layer calls -------------------------------------------------------------------------

tcp_port::tcp_port(const parcelport_site& site)
    : receiver_(site.receiver), between_(site.between), workers_(site.workers) {
  network_ = std::make_unique<reader_and_writer>(*this);
  for (int p = 0; p < between_.process_count(); ++p)
    peers_.push_back(p == between_.process() ? nullptr
                                             : std::make_unique<peer>(p, network_->context()));
  try {
    network_->meet_all();
  } catch (...) {
    network_->stop();
    peers_.clear();  // Before what their sockets belong to.
    throw;
  }
  let_workers_look(site, *this);
}

// The workers have ended.
tcp_port::~tcp_port() {
  network_->say_end();
  network_->stop();
  for (const auto& one : peers_) {
    if (one == nullptr) continue;
    for (unsent& left : one->queue)
      if (left.kept != nullptr) left.kept->free(*left.kept);
    for (auto& [word, of] : one->gatherings)
      if (of.then != nullptr) of.then->abandon(*of.then);
  }
  for (happening& left : happened_) {
    if (left.kept != nullptr) left.kept->free(*left.kept);
    if (left.then != nullptr) left.then->abandon(*left.then);
  }
  peers_.clear();  // Before what their sockets belong to.
}

bool tcp_port::send(worker& here, outgoing_parcel& what) {
  const struct until_left {
    kept_values*& kept;
    ~until_left() {
      if (kept != nullptr) kept->free(*kept);
    }
  } freed{what.kept};
  peer& to = *peers_[static_cast<std::size_t>(what.process)];
  const auto has_room = [&to] {
    return to.unsent_bytes.load(std::memory_order_relaxed) < unsent_bytes_max ||
           to.is_closed.load(std::memory_order_relaxed);
  };
  if (!has_room()) [[unlikely]] {
    const worker_device::awake until_there_is_room(network::of(here));
    here.wait_until(has_room, waits_at(waits_for_room, what.process));
  }
  if (to.is_closed.load(std::memory_order_relaxed)) [[unlikely]]
    return false;
  remote::uncounted_messages(here).leave_for(what.process);
  if (!what.chunks.empty()) [[unlikely]] {
    // Relaxed: a number that no other parcel to there has is all that is wanted.
    const std::uint64_t word = to.next_word.fetch_add(1, std::memory_order_relaxed);
    std::memcpy(what.bytes.data() + what.bytes.size() - transmission_bytes(what.chunks.size()),
                &word, sizeof word);
    remote::uncounted_messages(here).leave_for(what.process, what.chunks.size());
  }
  write(to, what.bytes, &what);
  return true;
}

void tcp_port::send_at_once(worker& here, int process, int,
                            std::span<const std::byte> bytes) noexcept {
  peer& to = *peers_[static_cast<std::size_t>(process)];
  if (to.is_closed.load(std::memory_order_relaxed)) return;  // The dead need none.
  remote::uncounted_messages(here).leave_for(process);
  write(to, bytes, nullptr);
}

void tcp_port::receive(worker& here, int process, std::uint64_t word,
                       std::span<const std::span<std::byte>> places, chunked_task& then) {
  peer& from = *peers_[static_cast<std::size_t>(process)];
  const char* why = nullptr;
  bool is_complete = false, goes_on = false;
  {
    const std::lock_guard hold(from.in_lock);
    const auto at = from.gatherings.find(word);
    const auto fits = [&](const gathering& of) {
      return std::ranges::equal(of.sizes, places, {}, {},
                                [](const auto& place) { return place.size(); });
    };
    if (from.is_broken) {
      why = "";
    } else if (at == from.gatherings.end() || at->second.then != nullptr) {
      why = "its chunks are those of no message";
    } else if (!fits(at->second)) {
      why = "its chunks are not as long as it says";
    } else {
      gathering& of = at->second;
      of.places.assign(places.begin(), places.end());
      for (std::size_t i = 0; i < of.done; ++i) {
        std::memcpy(places[i].data(), of.early[i].get(), places[i].size());
        from.unclaimed_bytes -= places[i].size();
        of.early[i].reset();
      }
      is_complete = of.done == places.size();
      if (is_complete) {
        from.gatherings.erase(at);
      } else {
        of.then = &then;
        here.owner().expect_network_work();  // Before the thread can see it.
      }
      // This may be what it waits for, or there is room for that now.
      goes_on = std::exchange(from.waits_for_place, false);
    }
  }
  if (why != nullptr) {
    if (*why != '\0') {
      refuse(here, {process, 0}, why);
      // The sender has counted them, and the job is to end.
      remote::uncounted_messages(here).have_come_from(process, places.size());
    }
    return then.abandon(then);
  }
  if (goes_on) network_->ask_to_go_on(from);
  if (!is_complete) return;
  remote::uncounted_messages(here).have_come_from(process, places.size());
  end_chunks(then, true);
}

void tcp_port::refuse(worker& here, const message_origin& from, const char* why) noexcept {
  remote::refuse(here, comm::address{from.process, 0}, why);
}

bool tcp_port::end_operations_with_dead(worker& here) noexcept {
  for (const auto& one : peers_)
    if (one != nullptr && !one->is_closed.load(std::memory_order_relaxed) &&
        !remote::port::of(here).is_alive(one->process) &&
        !one->is_to_close.exchange(true, std::memory_order_relaxed))
      network_->ask_to_close(*one);
  return false;
}

bool tcp_port::has_delivered_all_of_dead(int process) noexcept {
  return peers_[static_cast<std::size_t>(process)]->has_ended.load(std::memory_order_relaxed);
}

// --- What workers do in their passes --------------------------------------------------------------

void tcp_port::tell(happening&& what) {
  {
    const std::lock_guard hold(lock_);
    happened_.push_back(std::move(what));
    // Relaxed: a hint, which whoever goes to sleep sees by the fences of its parking.
    waiting_.store(happened_.size(), std::memory_order_relaxed);
  }
  for (int i = 0; i < workers_.worker_count(); ++i)
    if (worker& one = workers_.at(i); one.is_parked()) return one.notify();
  workers_.at(0).notify();  // One that is about to sleep.
}

bool tcp_port::has_any() const noexcept {
  return waiting_.load(std::memory_order_relaxed) != 0;
}

bool tcp_port::look(worker& here) noexcept {
  if (!has_any()) [[likely]]
    return false;
  bool any = false;
  for (int left = taken_in_a_pass; left > 0; --left) {
    happening what;
    {
      const std::lock_guard hold(lock_);
      if (happened_.empty()) break;
      what = std::move(happened_.front());
      happened_.pop_front();
      waiting_.store(happened_.size(), std::memory_order_relaxed);
    }
    act_on(here, what);
    any = true;
  }
  return any;
}

void tcp_port::act_on(worker& here, happening& what) noexcept {
  if (what.kept != nullptr) what.kept->free(*what.kept);
  if (what.refused != nullptr) refuse(here, {what.process, 0}, what.refused);
  if (what.ends) {
    // Relaxed: whoever misses it is woken and looks again.
    peers_[static_cast<std::size_t>(what.process)]->has_ended.store(true,
                                                                    std::memory_order_relaxed);
    for (int i = 0; i < workers_.worker_count(); ++i) workers_.at(i).notify();
  }
  if (what.then != nullptr) {
    remote::uncounted_messages(here).have_come_from(what.process, what.chunks);
    end_chunks(*what.then, what.is_complete);
    here.owner().end_network_work();
  }
  std::span<const std::byte> left(what.messages.get(), what.bytes);
  while (!left.empty()) {
    tcp_frame frame;
    std::memcpy(&frame, left.data(), sizeof frame);
    left = left.subspan(sizeof frame);
    if (frame.mark != tcp_mark::message) continue;
    // First, or this process could say that it has ended with this message, which is yet to become work.
    parcel_receiver::expect_work(here);
    remote::uncounted_messages(here).have_come_from(what.process);
    receiver_.deliver(here, {what.process, 0}, left.first(frame.bytes));
    left = left.subspan(frame.bytes);
  }
}

}  // namespace weft::detail

#else  // There is no Boost.Asio, and so no port.

namespace weft::detail {

const parcelport_maker tcp_parcelport{[](std::string_view) noexcept { return false; }, nullptr};

}  // namespace weft::detail

#endif
