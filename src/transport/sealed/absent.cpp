// Compiled instead of this directory's other files when OpenSSL was not found.
#include "transport/sealed/sealed.hpp"
#include "weft/error.hpp"

namespace weft {

struct sealed_channel::ciphers {};
struct key_pair::pair {};

sealed_channel::sealed_channel(std::unique_ptr<ciphers> with) : with_(std::move(with)) {}
sealed_channel::~sealed_channel() = default;

bool sealed_channel::seal(std::uint64_t, std::span<std::byte>, std::byte*) noexcept {
  return false;
}

bool sealed_channel::open(std::uint64_t, std::span<std::byte>, const std::byte*) noexcept {
  return false;
}

key_pair::key_pair() {
  throw error(
      "messages over this network are to be authenticated, and this weft was built without OpenSSL; install libssl-dev "
      "and build it again, or let everybody who reaches the network read and change them: --secure off");
}
key_pair::~key_pair() = default;

std::unique_ptr<sealed_channel> key_pair::channel_with(const public_key&, std::uint32_t,
                                                       std::uint32_t, protection) const {
  return nullptr;
}

}  // namespace weft
