// What one endpoint tells the others before they can reach it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/sealed/sealed.hpp"

namespace weft {

// Where a process runs, as far as other processes need to know. Numbers are those of the kernel's
// namespaces, and a digest of what names this boot of this machine.
struct process_place {
  std::uint64_t host = 0;
  std::uint64_t network = 0;
  std::uint64_t processes = 0;  // Of the namespace that `process` belongs to.
  std::uint64_t start = 0;  // When the process began, to know it from a later one; 0: not known.
  std::int32_t process = 0;

  bool operator==(const process_place&) const = default;
};

[[nodiscard]] process_place this_process();

struct ofi_address {
  std::string provider;
  std::uint32_t format = 0;
  bool is_host_local = false;
  process_place place;
  // Every message to this endpoint begins with it, unless messages are sealed.
  std::uint64_t key = 0;
  public_key sealing{};          // For the seals of messages; zeros where there are none.
  std::vector<std::byte> bytes;  // libfabric's own address.

  [[nodiscard]] std::vector<std::byte> packed() const;
  // Nothing when the bytes are not such an address.
  [[nodiscard]] static std::optional<ofi_address> unpacked(std::span<const std::byte> bytes);
};

}  // namespace weft
