// What one endpoint tells the others before they can reach it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft {

// Where a process runs, as far as other processes need to know. Numbers are those of the kernel's
// namespaces, and a digest of what names this boot of this machine.
struct process_place {
  std::uint64_t host = 0;
  std::uint64_t network = 0;
  std::uint64_t processes = 0;  // Of the namespace that `process` belongs to.
  std::uint64_t start = 0;      // When the process began, to know it from a later one.
  std::int32_t process = 0;

  bool operator==(const process_place&) const = default;
};

[[nodiscard]] process_place this_process();

// Whether a process of this host, in the same process namespace as the caller, has ended. Takes
// some microseconds. A process that nobody has waited for yet has ended as well.
[[nodiscard]] bool has_ended(const process_place& process) noexcept;

struct ofi_address {
  std::string provider;
  std::uint32_t format = 0;
  bool is_host_local = false;
  process_place place;
  std::uint64_t key = 0;         // Every message to this endpoint begins with it.
  std::vector<std::byte> bytes;  // libfabric's own address.

  [[nodiscard]] std::vector<std::byte> packed() const;
  // Nothing when the bytes are not such an address.
  [[nodiscard]] static std::optional<ofi_address> unpacked(std::span<const std::byte> bytes);
};

}  // namespace weft
