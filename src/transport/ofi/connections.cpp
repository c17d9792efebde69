#include "transport/ofi/connections.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>

#include "base/limits.hpp"

namespace weft {

namespace {

bool is_same_host(const sockaddr_storage& one, const sockaddr_storage& other) noexcept {
  if (one.ss_family != other.ss_family) return false;
  if (one.ss_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(one).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(other).sin_addr.s_addr;
  return one.ss_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(one).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(other).sin6_addr,
                     sizeof(in6_addr)) == 0;
}

}  // namespace

bool is_unanswered(int socket) noexcept {
  tcp_info known = {};
  socklen_t size = sizeof known;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &known, &size) != 0) return false;
  const int limit =
      known.tcpi_state == TCP_SYN_SENT ? ofi_connects_unanswered_max : ofi_repeats_unanswered_max;
  return known.tcpi_retransmits >= limit;
}

namespace {

struct connection {
  int descriptor;
  sockaddr_storage own;
  sockaddr_storage peer;
};

// Calls `is_it` for each until that is true.
template <class Test>
bool any_connection(const Test& is_it) noexcept {
  try {
    std::error_code unreadable;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", unreadable)) {
      connection one{std::atoi(entry.path().filename().c_str()), {}, {}};
      socklen_t size = sizeof one.peer;
      if (::getpeername(one.descriptor, reinterpret_cast<sockaddr*>(&one.peer), &size) != 0)
        continue;
      size = sizeof one.own;
      if (::getsockname(one.descriptor, reinterpret_cast<sockaddr*>(&one.own), &size) == 0 &&
          is_it(one))
        return true;
    }
  } catch (const std::exception&) {
    // Without memory nothing can be said.
  }
  return false;
}

bool copied(std::span<const std::byte> from, sockaddr_storage& to) noexcept {
  if (from.size() > sizeof to) return false;
  std::memcpy(&to, from.data(), from.size());
  return true;
}

bool is_same_place(const sockaddr_storage& one, const sockaddr_storage& other) noexcept {
  // The port has the same place in both families.
  return is_same_host(one, other) && reinterpret_cast<const sockaddr_in&>(one).sin_port ==
                                         reinterpret_cast<const sockaddr_in&>(other).sin_port;
}

}  // namespace

bool is_unanswered(std::span<const std::byte> address) noexcept {
  sockaddr_storage wanted = {};
  return copied(address, wanted) && any_connection([&](const connection& one) {
           return is_same_host(one.peer, wanted) && is_unanswered(one.descriptor);
         });
}

connection_count count_connections(std::span<const std::byte> own,
                                   std::span<const std::span<const std::byte>> peers) noexcept {
  connection_count found;
  sockaddr_storage listens = {};
  if (!copied(own, listens)) return found;
  (void)any_connection([&](const connection& one) {
    const auto leads_to = [&](std::span<const std::byte> address) {
      sockaddr_storage peer = {};
      return copied(address, peer) && is_same_place(one.peer, peer);
    };
    if (is_same_place(one.own, listens))
      ++found.incoming;
    else if (std::ranges::any_of(peers, leads_to))
      ++found.outgoing;
    return false;
  });
  return found;
}

}  // namespace weft
