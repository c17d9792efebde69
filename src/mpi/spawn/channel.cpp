#include "mpi/spawn/channel.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/clock.hpp"
#include "bootstrap/single/single.hpp"
#include "mpi/object/errors.hpp"

namespace weft::mpi {
namespace {

constexpr std::string_view scheme = "weft";
constexpr int look_ms = 50;
// So many looks for an answer of a host.
constexpr int connect_looks_max = 100;
// The addresses of its host that a port names.
constexpr std::size_t addresses_max = 8;
constexpr std::uint64_t text_bytes_max = std::uint64_t{1} << 28;
constexpr char accepted = 'a';
// A host that no longer answers is given up after 30 s.
constexpr int asked_after_s = 10;
constexpr int asked_again_s = 5;
constexpr int asked_max = 4;

[[noreturn]] void fail_stopped() {
  fail(MPI_ERR_OTHER, "the job ends");
}

// False: after so many looks nothing has happened.
bool wait_until_ready(int fd, short events, const stop_question& stop, int looks_max = -1) {
  for (int looks = 0; looks_max < 0 || looks < looks_max; ++looks) {
    pollfd look{fd, events, 0};
    const int count = ::poll(&look, 1, look_ms);
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) fail(MPI_ERR_OTHER, "poll: {}", std::strerror(errno));
    if (stop()) fail_stopped();
  }
  return false;
}

[[noreturn]] void fail_gone() {
  fail(MPI_ERR_PORT, "the other side has gone before both were joined");
}

// False: the other side has gone.
bool send_all(int fd, std::string_view bytes, const stop_question& stop) {
  while (!bytes.empty()) {
    (void)wait_until_ready(fd, POLLOUT, stop);
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Likewise.
bool receive_all(int fd, char* into, std::size_t size, const stop_question& stop) {
  while (size != 0) {
    (void)wait_until_ready(fd, POLLIN, stop);
    const ssize_t came = ::recv(fd, into, size, MSG_DONTWAIT);
    if (came < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (came <= 0) return false;
    into += came;
    size -= static_cast<std::size_t>(came);
  }
  return true;
}

// Messages go at once, and the kernel asks a host that is silent whether it is there. Connections that a port takes are as the port.
void prepare(const descriptor& made) {
  const auto set = [&](int level, int name, int value) {
    (void)::setsockopt(made.number(), level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, asked_after_s);
  set(IPPROTO_TCP, TCP_KEEPINTVL, asked_again_s);
  set(IPPROTO_TCP, TCP_KEEPCNT, asked_max);
}

// Takes as long wherever they differ: how long it takes tells nobody what is right.
bool are_equal(std::string_view said, std::string_view secret) {
  unsigned differs = said.size() != secret.size();
  for (std::size_t i = 0; i < std::min(said.size(), secret.size()); ++i)
    differs |= static_cast<unsigned char>(said[i]) ^ static_cast<unsigned char>(secret[i]);
  return differs == 0;
}

// "weft:host:port:secret:network:address,address". Without an address it takes connections of its own network alone.
struct port_parts {
  std::string host;
  std::uint16_t port = 0;
  std::string secret;
  std::string network;
  std::vector<in_addr> addresses;
};

port_parts parts_of(const std::string& name) {
  std::array<std::string_view, 6> parts;
  std::string_view rest = name;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t end = i + 1 == parts.size() ? rest.size() : rest.find(':');
    if (end == rest.npos) break;
    parts[i] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  port_parts found{std::string(parts[1]), 0, std::string(parts[3]), std::string(parts[4]), {}};
  const auto [stop, failure] =
      std::from_chars(parts[2].data(), parts[2].data() + parts[2].size(), found.port);
  bool is_right = parts[0] == scheme && failure == std::errc() && found.port != 0 &&
                  !found.secret.empty() && !found.network.empty();
  for (std::string_view list = parts[5]; is_right && !list.empty();) {
    const std::string one(list.substr(0, list.find(',')));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    is_right = found.addresses.size() < addresses_max &&
               ::inet_pton(AF_INET, one.c_str(), &found.addresses.emplace_back()) == 1;
  }
  if (!is_right)
    fail(MPI_ERR_PORT, "\"{}\" is no name of a port: take what MPI_Open_port has given", name);
  return found;
}

// The same in all processes that reach each other by the loopback, and in no others.
std::string network_of_this_process() {
  std::string boot = "unknown";
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat about {};
  const bool is_known = ::stat("/proc/self/ns/net", &about) == 0;
  return formatted("{}.{}", boot, is_known ? about.st_ino : 0);
}

// Of all interfaces but the loopback.
std::vector<in_addr> own_addresses() {
  std::vector<in_addr> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next)
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET &&
        (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0)
      all.push_back(reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr);
  ::freeifaddrs(first);
  return all;
}

bool is_in(const std::vector<in_addr>& all, const in_addr& one) {
  return std::ranges::any_of(all, [&](const in_addr& each) { return each.s_addr == one.s_addr; });
}

// Where to try, in this order.
std::vector<in_addr> addresses_of(const port_parts& port) {
  if (port.network == network_of_this_process())
    return port.addresses.empty() ? std::vector{in_addr{htonl(INADDR_LOOPBACK)}} : port.addresses;
  if (port.addresses.empty())
    fail(
        MPI_ERR_PORT,
        "port {} takes connections of its own host {} alone: start its job with --transport ofi (WEFT_TRANSPORT), or open "
        "it with the info key ip_address",
        port.port, port.host);
  std::vector<in_addr> all;
  const std::vector<in_addr> own = own_addresses();
  for (const in_addr& one : port.addresses)
    if (!is_in(own, one)) all.push_back(one);
  addrinfo hints{};
  hints.ai_family = AF_INET;
  addrinfo* found = nullptr;
  if (port.host != host_name() && ::getaddrinfo(port.host.c_str(), nullptr, &hints, &found) == 0) {
    const in_addr& named = reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr;
    if (!is_in(all, named) && !is_in(own, named)) all.push_back(named);
    ::freeaddrinfo(found);
  }
  return all;
}

void add_reason(std::string& why, const in_addr& host, const char* reason) {
  std::array<char, INET_ADDRSTRLEN> text{};
  (void)::inet_ntop(AF_INET, &host, text.data(), text.size());
  why += formatted("{}{}: {}", why.empty() ? "" : "; ", text.data(), reason);
}

// No descriptor: `why` says why not.
descriptor connected_to(const in_addr& host, std::uint16_t port, const stop_question& stop,
                        std::string& why) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr = host;
  descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  prepare(made);
  int error = 0;
  if (::connect(made.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    error = errno;
  if (error == EINPROGRESS || error == EINTR) {
    socklen_t size = sizeof error;
    if (!wait_until_ready(made.number(), POLLOUT, stop, connect_looks_max))
      error = ETIMEDOUT;
    else if (::getsockopt(made.number(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = errno;
  }
  if (error == 0) return made;
  add_reason(why, host, std::strerror(error));
  return descriptor();
}

}  // namespace

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
descriptor::~descriptor() {
  if (number_ >= 0) ::close(number_);
}
int descriptor::release() noexcept {
  return std::exchange(number_, -1);
}

std::string leader_channel::tell_and_hear(std::string_view text, const stop_question& stop) const {
  std::uint64_t size = text.size();
  // Short texts fit into the sockets' buffers; of long ones the two sides may not both send first.
  std::uint64_t other = 0;
  if (!send_all(to_.number(), {reinterpret_cast<const char*>(&size), sizeof size}, stop) ||
      !receive_all(to_.number(), reinterpret_cast<char*>(&other), sizeof other, stop))
    fail_gone();
  if (other > text_bytes_max)
    fail(MPI_ERR_OTHER, "the other side says {} bytes of its ranks: at most {} are right", other,
         text_bytes_max);
  std::string theirs(other, '\0');
  std::size_t sent = 0, received = 0;
  while (sent < text.size() || received < theirs.size()) {
    const bool sends = sent < text.size();
    (void)wait_until_ready(
        to_.number(),
        static_cast<short>((sends ? POLLOUT : 0) | (received < theirs.size() ? POLLIN : 0)), stop);
    if (sends) {
      const ssize_t went =
          ::send(to_.number(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (went < 0 && errno != EAGAIN && errno != EINTR) fail_gone();
      if (went > 0) sent += static_cast<std::size_t>(went);
    }
    if (received < theirs.size()) {
      const ssize_t came =
          ::recv(to_.number(), theirs.data() + received, theirs.size() - received, MSG_DONTWAIT);
      if (came == 0 || (came < 0 && errno != EAGAIN && errno != EINTR)) fail_gone();
      if (came > 0) received += static_cast<std::size_t>(came);
    }
  }
  return theirs;
}

listening_port::listening_port(const port_place& at)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      secret_(make_job_id()) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(at.number);
  here.sin_addr.s_addr = htonl(at.beyond_host ? INADDR_ANY : INADDR_LOOPBACK);
  if (!at.address.empty() && ::inet_pton(AF_INET, at.address.c_str(), &here.sin_addr) != 1)
    fail(MPI_ERR_INFO_VALUE, "the info key ip_address has \"{}\", which is no address as 10.0.0.1",
         at.address);
  std::vector<in_addr> addresses;
  if (here.sin_addr.s_addr == htonl(INADDR_ANY))
    addresses = own_addresses();
  else if (here.sin_addr.s_addr != htonl(INADDR_LOOPBACK))
    addresses = {here.sin_addr};
  if (addresses.size() > addresses_max) addresses.resize(addresses_max);
  socklen_t size = sizeof here;
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  if (listener_.number() < 0 || ::bind(listener_.number(), address, sizeof here) != 0 ||
      ::listen(listener_.number(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.number(), address, &size) != 0) {
    const int error = errno;
    fail(MPI_ERR_PORT, "no port can be opened{}{}{}: {}", at.address.empty() ? "" : " at ",
         at.address, at.number == 0 ? "" : formatted(", number {}", at.number),
         std::strerror(error));
  }
  prepare(listener_);
  name_ = formatted("{}:{}:{}:{}:{}:", scheme, host_name(), ntohs(here.sin_port), secret_,
                    network_of_this_process());
  for (const in_addr& one : addresses) {
    std::array<char, INET_ADDRSTRLEN> text{};
    (void)::inet_ntop(AF_INET, &one, text.data(), text.size());
    name_ += formatted("{}{}", &one == &addresses.front() ? "" : ",", text.data());
  }
}

leader_channel listening_port::accept(const stop_question& stop) {
  for (;;) {
    {
      const std::lock_guard hold(taking_);
      if (descriptor known = take_known(); known.number() >= 0)
        return leader_channel(std::move(known));
      look();
    }
    if (stop()) fail_stopped();
  }
}

// One that has said the secret and is still there; it has been told.
descriptor listening_port::take_known() {
  for (auto one = callers_.begin(); one != callers_.end();) {
    if (!one->is_known) {
      ++one;
      continue;
    }
    descriptor found = std::move(one->connected);
    one = callers_.erase(one);
    char more = 0;
    const ssize_t came = ::recv(found.number(), &more, 1, MSG_PEEK | MSG_DONTWAIT);
    const bool is_there = came > 0 || (came < 0 && errno == EAGAIN);
    if (is_there && ::send(found.number(), &accepted, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
      return found;
  }
  return descriptor();
}

// The one that goes when another comes: the oldest of those that have not said the secret, if it had the time to. callers_.end():
// there is none.
std::vector<listening_port::caller>::iterator listening_port::replaceable() {
  const auto stranger =
      std::ranges::find_if(callers_, [](const caller& one) { return !one.is_known; });
  const bool had_time =
      stranger != callers_.end() && now_ns() >= stranger->until_ns - hello_ns_max + kept_ns_min;
  return had_time ? stranger : callers_.end();
}

// Returns when something has come, or after a while.
void listening_port::look() {
  const auto is_full = [&] {
    return callers_.size() >= callers_max && replaceable() == callers_.end();
  };
  std::array<pollfd, callers_max + 1> looks{};
  // While there is no room the rest waits outside.
  looks[0] = {is_full() ? -1 : listener_.number(), POLLIN, 0};
  std::size_t count = 1;
  for (const caller& one : callers_) looks[count++] = {one.connected.number(), POLLIN, 0};
  if (::poll(looks.data(), count, look_ms) < 0 && errno != EINTR)
    fail(MPI_ERR_PORT, "poll: {}", std::strerror(errno));
  hear();
  if (looks[0].revents == 0) return;
  while (!is_full()) {
    descriptor next(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (next.number() < 0) {
      if (errno == EAGAIN) break;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      fail(MPI_ERR_PORT, "no connection can be taken: {}", std::strerror(errno));
    }
    if (callers_.size() >= callers_max) callers_.erase(replaceable());
    callers_.push_back({std::move(next), {}, now_ns() + hello_ns_max});
    hear();
  }
}

// Those that have said something else, or too little for too long, go. What they have said is looked at once they have said all:
// nobody learns how much of it is right.
void listening_port::hear() {
  const std::uint64_t now = now_ns();
  std::erase_if(callers_, [&](caller& one) {
    while (!one.is_known) {
      std::array<char, 64> part;
      const std::size_t size = std::min(part.size(), secret_.size() - one.said.size());
      const ssize_t came = ::recv(one.connected.number(), part.data(), size, MSG_DONTWAIT);
      if (came < 0 && errno == EINTR) continue;
      if (came < 0 && errno == EAGAIN) return now >= one.until_ns;
      if (came <= 0) return true;
      one.said.append(part.data(), static_cast<std::size_t>(came));
      if (one.said.size() < secret_.size()) continue;
      one.is_known = are_equal(one.said, secret_);
      if (!one.is_known) return true;
    }
    return false;
  });
}

leader_channel connect_to_port(const std::string& name, const stop_question& stop) {
  const port_parts port = parts_of(name);
  std::string why;
  bool was_closed = false;
  for (const in_addr& to : addresses_of(port)) {
    descriptor caller = connected_to(to, port.port, stop, why);
    if (caller.number() < 0) continue;
    char answer = 0;
    if (send_all(caller.number(), port.secret, stop) &&
        receive_all(caller.number(), &answer, 1, stop) && answer == accepted)
      return leader_channel(std::move(caller));
    // Somebody else may have that number at this address.
    was_closed = true;
    add_reason(why, to, "the connection was closed");
  }
  if (was_closed)
    fail(MPI_ERR_PORT,
         "port {} of host {} was closed before it accepted, or this caller was too slow ({})",
         port.port, port.host, why);
  fail(
      MPI_ERR_PORT,
      "nobody listens at port {} of host {} ({}): it was closed, its job has ended, or no network leads there",
      port.port, port.host, why.empty() ? "no address of it is known here" : why);
}

bool leads_beyond_host(const std::string& name) noexcept {
  return std::ranges::count(name, ':') == 5 && !name.ends_with(':');
}

bool leads_beyond_host(int connected) noexcept {
  sockaddr_storage own{}, other{};
  socklen_t own_size = sizeof own, other_size = sizeof other;
  if (::getsockname(connected, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      ::getpeername(connected, reinterpret_cast<sockaddr*>(&other), &other_size) != 0)
    return false;
  // Both ends of a connection within a host have the same address.
  if (own.ss_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr !=
           reinterpret_cast<const sockaddr_in&>(other).sin_addr.s_addr;
  return own.ss_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(own).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(other).sin6_addr,
                     sizeof(in6_addr)) != 0;
}

}  // namespace weft::mpi
