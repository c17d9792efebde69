// Peers that fail. Providers tell of a broken connection only to who sends, and some not even then:
// they connect again, for ever. So a peer that is silent is looked after now and then: whether its
// process is there, when it runs on this host; by a note otherwise, when the kernel gets no answer to
// it by its connections, and when the provider takes no note any more, by trying whether its address
// still accepts connections.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/process_life.hpp"
#include "transport/ofi/connections.hpp"
#include "transport/ofi/endpoint.hpp"

namespace weft {

namespace {

// What a connection attempt says of who should listen.
enum class listener : std::uint8_t { unknown, there, gone };

listener verdict(int error) {
  if (error == 0) return listener::there;
  const bool is_gone = error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH ||
                       error == EHOSTDOWN || error == ETIMEDOUT;
  return is_gone ? listener::gone : listener::unknown;
}

}  // namespace

void ofi_transport::fail(std::uint32_t peer, std::string why) noexcept {
  peer_state& state = peers_[peer];
  if (state.has_failed) return;
  state.has_failed = true;
  state.probe = file_descriptor();
  failures_.push_back({peer, std::move(why)});
}

void ofi_transport::fail_all(long refusal) noexcept {
  unposted_.clear();
  const std::string why = formatted("libfabric takes no receive buffers any more here: {}",
                                    libfabric().strerror(static_cast<int>(-refusal)));
  for (std::uint32_t peer = 0; peer < peers_.size(); ++peer)
    if (peer != self_ && reaches(peer)) fail(peer, why);
}

void ofi_transport::mark_failed(std::uint32_t peer, const char* why) noexcept {
  {
    const std::lock_guard lock(marking_);
    marks_.emplace_back(peer, why);
    is_marked_.store(true, std::memory_order_relaxed);
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t size = ::write(alarm_.get(), &one, sizeof one);
}

void ofi_transport::take_marks() noexcept {
  const std::lock_guard lock(marking_);
  is_marked_.store(false, std::memory_order_relaxed);
  for (auto& [peer, why] : marks_) {
    if (peers_[peer].is_told) continue;
    peers_[peer].has_failed = true;
    const auto known = std::ranges::find(failures_, peer, &failure::peer);
    if (known == failures_.end())
      failures_.push_back({peer, std::move(why), true});
    else
      known->is_marked = true;
  }
  marks_.clear();
}

// What came from a peer before it died may still be in a socket: its end is told once some polls
// have found nothing more.
int ofi_transport::tell_failures(arrivals& to, bool found_something) noexcept {
  int told = 0;
  // A callback may find the next failure.
  for (std::size_t i = 0; i < failures_.size();) {
    failure& each = failures_[i];
    if (found_something) each.empty_polls = 0;
    if (++each.empty_polls < ofi_empty_polls_min) {
      ++i;
      continue;
    }
    const failure one = std::move(each);
    failures_.erase(failures_.begin() + static_cast<std::ptrdiff_t>(i));
    fail_operations_to(one.peer, to);
    if (peers_[one.peer].has_left && !one.is_marked) continue;
    peers_[one.peer].is_told = true;
    to.peer_failed(one.peer, one.why.c_str());
    ++told;
  }
  return told;
}

// libfabric may keep them for as long as it hopes for a connection; nobody shall wait for that.
void ofi_transport::fail_operations_to(std::uint32_t peer, arrivals& to) noexcept {
  for (operation_pool* const pool : {&*packets_, &*large_packets_, &*remotes_})
    for (operation& each : pool->all())
      if (each.is_under_way && each.peer == peer && each.context != nullptr)
        to.completed(std::exchange(each.context, nullptr), true);
}

void ofi_transport::watch() noexcept {
  watched_at_ = ticks();
  looks_without_buffer_ = has_no_buffer_posted() ? looks_without_buffer_ + 1 : 0;
  if (looks_without_buffer_ > ofi_deaf_looks_max) return fail_all(-FI_EAGAIN);
  keep_room_for_descriptors();
  if (++looks_ % ofi_silent_looks == 0 && is_tcp(*info_)) look_for_strangers();
  const std::size_t count = std::min(known_.size(), ofi_watched_max);
  for (std::size_t i = 0; i < count; ++i) watch(known_[watched_to_++ % known_.size()]);
}

// Providers need a descriptor for each connection, and try again, silently and for ever, while the process gets none. So when
// the program has taken all, the limit is raised, as far as it may be.
void ofi_transport::keep_room_for_descriptors() noexcept {
  const int one = ::fcntl(alarm_.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (one >= 0) ::close(one);
  if (one >= 0 || errno != EMFILE) return;
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min(limit.rlim_max, before + ofi_descriptors_added);
  const bool is_raised = limit.rlim_cur > before && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
  static std::atomic<bool> has_told{false};  // Once in a process.
  if (has_told.exchange(true, std::memory_order_relaxed)) return;
  log_line(
      "this process has opened all of the {} files that it may, and its network needs some: {}",
      before,
      is_raised ? formatted("the limit is {} now", limit.rlim_cur)
                : std::string("until some are closed it can connect to nobody; raise ulimit -Hn"));
}

// A message whose rest does not come keeps its buffer, and whoever finds the port may begin one over each of
// as many connections as it likes. No more than one is begun over each: with a buffer for every connection
// that is not a peer's, beside the usual ones, there is always one left.
void ofi_transport::look_for_strangers() noexcept {
  std::vector<std::span<const std::byte>> peers;
  for (const std::uint32_t peer : known_)
    if (peers_[peer].received != 0 && !peers_[peer].has_left && !peers_[peer].has_failed)
      peers.emplace_back(peer_addresses_[peer].bytes);
  const connection_count found = count_connections(peer_addresses_[self_].bytes, peers);
  const std::size_t expected = peers.size() - std::min(peers.size(), found.outgoing);
  const std::size_t strangers = found.incoming - std::min(found.incoming, expected);
  const std::size_t wanted = std::min(ofi_receive_buffers + strangers, buffers_max_);
  while (buffer_count_ < wanted) make_more_buffers();
}

void ofi_transport::make_more_buffers() noexcept {
  try {
    auto& more = *more_buffers_.emplace_back(std::make_unique<operation_pool>(
        operation_kind::receive, ofi_receive_buffers, buffers_->packet_bytes(),
        traits_.needs_registration ? domain_.get() : nullptr, keys_));
    unposted_.reserve(buffer_count_ + ofi_receive_buffers);
    while (operation* const buffer = more.take()) {
      if (give_to_provider(*buffer) != 0) {
        buffers_max_ = buffer_count_;  // It has as many as it can use.
        return;
      }
      ++buffer_count_;
    }
  } catch (const std::exception&) {
    buffers_max_ = buffer_count_;  // There is no memory for more.
  }
}

void ofi_transport::watch(std::uint32_t peer) noexcept {
  peer_state& state = peers_[peer];
  if (peer == self_ || state.has_failed || state.has_left) return;
  if (is_sealed()) follow_up(peer);
  const bool was_heard = std::exchange(state.was_heard, false);
  const bool was_sent_to = std::exchange(state.was_sent_to, false);
  const bool was_refused = std::exchange(state.was_refused, false);
  if (was_heard) {
    state.refusals = state.silent_looks = 0;
    return;
  }
  const process_place& place = peer_addresses_[peer].place;
  const bool is_near = place.host == place_.host && place.processes == place_.processes;
  // A process of this host is dead exactly when it has ended, however busy it was; but networks of a host may be apart.
  if (is_near && place.process != place_.process && process_has_ended(place.process, place.start))
    fail(peer, "its process has ended");
  const bool is_of_this_network = is_near && place.network == place_.network;
  if (is_of_this_network && !is_sealed()) return;
  state.silent_looks = static_cast<std::uint8_t>(state.silent_looks + 1);
  if (is_of_this_network) {
    // Someone in between may hold back the peer's messages. A note tells the peer how many have arrived (take_note()).
    if (!was_sent_to && !was_refused && state.silent_looks % ofi_silent_looks == 0)
      send_note(peer, note::are_you_there);
    return;
  }
  if (state.silent_looks % ofi_silent_looks == 0 && is_unanswered(peer_addresses_[peer].bytes))
    return fail(peer, "its host does not answer");
  // The provider may accept a message and only queue it until a connection exists; so a peer that never answered is probed.
  if (state.received == 0 && !state.was_reached && state.silent_looks % ofi_silent_looks == 0)
    probe(peer);
  if (state.has_failed) return;
  const bool takes = was_sent_to || (!was_refused && send_note(peer, note::are_you_there));
  if (takes) {
    state.refusals = 0;
    if (state.received != 0) state.probe = file_descriptor();
  } else if (state.refusals < ofi_refusals_max) {
    ++state.refusals;
  } else {
    probe(peer);
  }
}

// A sealed message that was changed or held back on the way is missed when another one comes. So notes follow the last
// one, whatever comes from the peer meanwhile.
void ofi_transport::follow_up(std::uint32_t peer) noexcept {
  peer_state& state = peers_[peer];
  if (state.confirmed >= state.marked) {
    state.marked = state.sent;
    state.looks_since_mark = 0;
  } else if (state.looks_since_mark < ofi_unconfirmed_looks_max) {
    ++state.looks_since_mark;
  }
  if (!state.was_sent_to && state.notes_due != 0 && send_note(peer, note::are_you_there))
    --state.notes_due;
}

// Looks at the attempt under way, or begins one. A peer that computes and lets nobody in for a
// while is not dead: only an answer that nobody listens counts.
void ofi_transport::probe(std::uint32_t peer) noexcept {
  peer_state& state = peers_[peer];
  const ofi_address& address = peer_addresses_[peer];
  if (!is_tcp(*info_) || (address.format != FI_SOCKADDR_IN && address.format != FI_SOCKADDR_IN6))
    return;
  int error = 0;
  if (state.probe.get() < 0) {
    sockaddr_storage target = {};
    if (address.bytes.size() > sizeof target) return;
    std::memcpy(&target, address.bytes.data(), address.bytes.size());
    state.probe =
        file_descriptor(::socket(target.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (state.probe.get() < 0) return;
    const auto size = static_cast<socklen_t>(address.bytes.size());
    if (::connect(state.probe.get(), reinterpret_cast<const sockaddr*>(&target), size) != 0)
      error = errno;
    if (error == EINPROGRESS) return;
  } else {
    pollfd writable{state.probe.get(), POLLOUT, 0};
    if (::poll(&writable, 1, 0) != 1) {
      // The kernel itself gives up after two minutes only.
      if (is_unanswered(state.probe.get())) fail(peer, "its host does not answer");
      return;
    }
    socklen_t size = sizeof error;
    if (::getsockopt(state.probe.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return;
  }
  state.probe = file_descriptor();
  switch (verdict(error)) {
    case listener::gone:
      fail(peer, formatted("nobody listens at its address: {}", std::strerror(error)));
      break;
    case listener::there:
      state.was_reached = true;
      state.refusals = 0;
      break;
    case listener::unknown:
      break;
  }
}

void ofi_transport::watch_peer(std::uint32_t peer) noexcept {
  if (peer != self_ && reaches(peer)) know(peers_[peer]);
}

// Tells everybody who would otherwise miss this endpoint, for at most a second.
bool ofi_transport::shut_down() noexcept {
  class silence final : public arrivals {
   public:
    void delivered(std::uint32_t, const wire_header&,
                   std::span<const std::byte>) noexcept override {}
    void completed(void*, bool) noexcept override {}
    void written(std::uint64_t) noexcept override {}
    void peer_failed(std::uint32_t, const char*) noexcept override {}
    void refused(std::uint32_t, const char*) noexcept override {}
  } nobody;
  const std::uint64_t now = now_ns();
  if (leaves_until_ns_ == 0) leaves_until_ns_ = now + farewell_ns;
  // To send to a peer that is known does not change the list.
  std::erase_if(known_, [this](std::uint32_t peer) {
    return peer == self_ || peers_[peer].has_failed || peers_[peer].has_left ||
           send_note(peer, farewell_);
  });
  poll(nobody, 16);
  const bool is_busy = packets_->taken() + large_packets_->taken() + remotes_->taken() != 0;
  return (known_.empty() && !is_busy) || now >= leaves_until_ns_;
}

ofi_transport::~ofi_transport() {
  while (!shut_down()) {
  }
}

}  // namespace weft
