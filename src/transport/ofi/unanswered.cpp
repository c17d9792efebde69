#include "transport/ofi/unanswered.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

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

bool is_unanswered(int socket) noexcept {
  tcp_info known = {};
  socklen_t size = sizeof known;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &known, &size) != 0) return false;
  const int limit =
      known.tcpi_state == TCP_SYN_SENT ? ofi_connects_unanswered_max : ofi_repeats_unanswered_max;
  return known.tcpi_retransmits >= limit;
}

}  // namespace

bool is_unanswered(std::span<const std::byte> address) noexcept {
  sockaddr_storage wanted = {};
  if (address.size() > sizeof wanted) return false;
  std::memcpy(&wanted, address.data(), address.size());
  // The sockets are libfabric's own: they are found among all descriptors of the process.
  try {
    std::error_code unreadable;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", unreadable)) {
      const int descriptor = std::atoi(entry.path().filename().c_str());
      sockaddr_storage peer = {};
      socklen_t size = sizeof peer;
      if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
          is_same_host(peer, wanted) && is_unanswered(descriptor))
        return true;
    }
  } catch (const std::exception&) {
    // Without memory nothing can be said.
  }
  return false;
}

}  // namespace weft
