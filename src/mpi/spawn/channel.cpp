#include "mpi/spawn/channel.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

#include "bootstrap/single/single.hpp"
#include "mpi/object/errors.hpp"

namespace weft::mpi {
namespace {

constexpr std::string_view scheme = "weft";
constexpr int look_ms = 50;
// A caller that says nothing keeps the port for so long.
constexpr int hello_looks_max = 40;
constexpr std::uint64_t text_bytes_max = std::uint64_t{1} << 28;
constexpr char accepted = 'a';

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

void send_all(int fd, std::string_view bytes, const stop_question& stop) {
  while (!bytes.empty()) {
    (void)wait_until_ready(fd, POLLOUT, stop);
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) fail_gone();
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// False: the other side has gone, or says nothing.
bool receive_all(int fd, char* into, std::size_t size, const stop_question& stop,
                 int looks_max = -1) {
  while (size != 0) {
    if (!wait_until_ready(fd, POLLIN, stop, looks_max)) return false;
    const ssize_t came = ::recv(fd, into, size, MSG_DONTWAIT);
    if (came < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (came <= 0) return false;
    into += came;
    size -= static_cast<std::size_t>(came);
  }
  return true;
}

// "weft:host:port:secret"
struct port_parts {
  std::string host;
  std::uint16_t port = 0;
  std::string secret;
};

port_parts parts_of(const std::string& name) {
  std::array<std::string_view, 4> parts;
  std::string_view rest = name;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t end = i + 1 == parts.size() ? rest.size() : rest.find(':');
    if (end == rest.npos) break;
    parts[i] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  port_parts found{std::string(parts[1]), 0, std::string(parts[3])};
  const auto [stop, failure] =
      std::from_chars(parts[2].data(), parts[2].data() + parts[2].size(), found.port);
  if (parts[0] != scheme || failure != std::errc() || found.port == 0 || found.secret.empty())
    fail(MPI_ERR_PORT, "\"{}\" is no name of a port: take what MPI_Open_port has given", name);
  return found;
}

// That of the host; of this one the loopback's.
sockaddr_in address_of(const port_parts& port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (port.host == host_name()) return to;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(port.host.c_str(), nullptr, &hints, &found); failed != 0)
    fail(MPI_ERR_PORT, "the port is of host {}, which has no address here: {}", port.host,
         ::gai_strerror(failed));
  to.sin_addr = reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr;
  ::freeaddrinfo(found);
  return to;
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
  send_all(to_.number(), {reinterpret_cast<const char*>(&size), sizeof size}, stop);
  std::uint64_t other = 0;
  if (!receive_all(to_.number(), reinterpret_cast<char*>(&other), sizeof other, stop)) fail_gone();
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

listening_port::listening_port(bool beyond_host)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      secret_(make_job_id()) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(beyond_host ? INADDR_ANY : INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  if (listener_.number() < 0 || ::bind(listener_.number(), address, sizeof here) != 0 ||
      ::listen(listener_.number(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.number(), address, &size) != 0)
    fail(MPI_ERR_PORT, "no port can be opened: {}", std::strerror(errno));
  name_ = formatted("{}:{}:{}:{}", scheme, host_name(), ntohs(here.sin_port), secret_);
}

leader_channel listening_port::accept(const stop_question& stop) const {
  for (;;) {
    (void)wait_until_ready(listener_.number(), POLLIN, stop);
    // Another rank that accepts at this port may have been faster: then there is none.
    descriptor caller(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (caller.number() < 0) {
      if (errno == EINTR || errno == ECONNABORTED || errno == EAGAIN) continue;
      fail(MPI_ERR_PORT, "no connection can be taken: {}", std::strerror(errno));
    }
    std::string said(secret_.size(), '\0');
    if (!receive_all(caller.number(), said.data(), said.size(), stop, hello_looks_max) ||
        said != secret_)
      continue;  // A stranger.
    const int one = 1;
    (void)::setsockopt(caller.number(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    send_all(caller.number(), {&accepted, 1}, stop);
    return leader_channel(std::move(caller));
  }
}

leader_channel connect_to_port(const std::string& name, const stop_question& stop) {
  const port_parts port = parts_of(name);
  const sockaddr_in to = address_of(port);
  descriptor caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int connected = -1;
  do connected = ::connect(caller.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
  while (connected != 0 && errno == EINTR);
  if (connected != 0)
    fail(MPI_ERR_PORT,
         "nobody listens at port {} of host {} ({}): it was closed, or its job has ended",
         port.port, port.host, std::strerror(errno));
  const int one = 1;
  (void)::setsockopt(caller.number(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  send_all(caller.number(), port.secret, stop);
  char answer = 0;
  if (!receive_all(caller.number(), &answer, 1, stop) || answer != accepted)
    fail(MPI_ERR_PORT, "port {} of host {} was closed before it accepted", port.port, port.host);
  return leader_channel(std::move(caller));
}

}  // namespace weft::mpi
