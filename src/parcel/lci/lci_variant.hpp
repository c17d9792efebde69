// The names of the variants of a parcelport over shared devices (lci_shared_port.hpp), and on which core the thread of one
// runs that makes progress.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {
class network;
class scheduler;
}  // namespace weft

namespace weft::detail {

inline constexpr int lci_devices_max = 64;

struct lci_variant {
  enum class header { send, put };
  enum class completion { queue, synchronizers };
  enum class progress { pinned_thread, all_workers, own_core };
  header by;
  completion found_by;
  progress driven_by;
  int devices = 1;
  // Null for what is no variant's name.
  [[nodiscard]] static std::unique_ptr<lci_variant> of(std::string_view kind);
  // What stands behind the colon of such a name. Throws weft::error in one line where it is no number of devices.
  void set_devices(std::string_view kind, std::string_view count);
};

// The CPUs of one process of a host.
struct cores_of_process {
  std::vector<int> of_workers;  // -1: not bound.
  std::vector<int> allowed;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static cores_of_process of(std::string_view text);
};
// The CPU for a thread of process `which` of those of a host that each have one such thread; -1: any; nothing: there is none
// that no worker has.
[[nodiscard]] std::optional<int> core_beside_workers(std::span<const cores_of_process> node,
                                                     std::size_t which);

// That of the calling process; -1: any. Called in all processes of the job. Throws weft::error where there is none.
[[nodiscard]] int core_for_progress(scheduler& workers, network& between, lci_variant::progress by,
                                    const std::string& name);

}  // namespace weft::detail
