// The parts of this machine by kind, caches among them: which part of each kind a CPU is in.
#pragma once
#include <array>
#include <cstddef>
#include <map>

namespace weft {

// From the largest to the smallest.
enum class part_kind : std::size_t {
  machine,
  package,
  die,
  numa_node,
  l5_cache,
  l4_cache,
  l3_cache,
  l2_cache,
  l1_cache,
  core,
  hardware_thread,
};
inline constexpr std::size_t part_kind_count = 11;
// hwloc's names of the kinds.
inline constexpr std::array<const char*, part_kind_count> part_kind_names{
    "Machine", "Package", "Die",     "NUMANode", "L5Cache", "L4Cache",
    "L3Cache", "L2Cache", "L1Cache", "Core",     "PU"};

inline constexpr int no_part = -1;  // The machine has no part of the kind.

struct machine_parts {
  using numbers = std::array<int, part_kind_count>;
  // By the kernel's number of the CPU. The number of a part is hwloc's logical index, of a NUMA node and a CPU the kernel's.
  std::map<int, numbers> of_cpu;

  // All `no_part` but the machine for a CPU that is not known.
  [[nodiscard]] numbers around(int cpu) const;
  // How many parts of a kind there are.
  [[nodiscard]] std::size_t count(part_kind kind) const;
};

// Read once, by the first caller, from hwloc. Any thread may call it.
const machine_parts& parts_of_machine();
// Reads them anew; for tests. Empty where hwloc fails.
[[nodiscard]] machine_parts read_machine_parts();

}  // namespace weft
