// Messages over libfabric: any provider that has reliable endpoints without connections (RDM) and
// keeps messages in order. Nothing of libfabric's own headers is seen from here, so that weft
// builds without it; then there are no providers, and making an endpoint says why.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.hpp"

namespace weft {

// Which provider, over which of its domains (for tcp: the network interface). Empty: the best one
// that reaches other hosts; a provider's name may be shortened to its first word ("verbs").
struct ofi_options {
  std::string provider;
  std::string domain;
  bool with_accelerators = false;  // Their memory is to be registered, where a provider can.
  // All processes are on this host: addresses that others cannot reach are preferred, and nobody but this
  // host's users finds the port.
  bool stays_on_host = false;
  // Absent: messages are authenticated where the provider lets other users of the network in, and left alone where it
  // does not.
  std::optional<protection> protects = {};
};

// "", "PROVIDER" or "PROVIDER@DOMAIN".
[[nodiscard]] ofi_options parse_ofi_options(std::string_view text);

// Each endpoint has a fabric, a domain and queues of its own: threads that use different ones never
// meet in a lock. Throws weft::error when no such provider works here.
[[nodiscard]] std::unique_ptr<transport> make_ofi_transport(const ofi_options& options);

// For people: what could be used here, the best first.
struct ofi_provider {
  std::string name;
  std::string domain;
  bool reaches_other_hosts = false;
  bool chosen_unless_forced = false;  // False for those that work but that weft never prefers.
  bool has_rma = false;
  bool has_hmem = false;  // Moves data of accelerators itself.
  bool isolates_users = false;
};
[[nodiscard]] std::vector<ofi_provider> ofi_providers();

}  // namespace weft
