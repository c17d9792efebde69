#include "base/machine_parts.hpp"

#include <set>

#include "base/hwloc_topology.hpp"

namespace weft {

namespace {

// By part_kind. NUMA nodes are not above CPUs in hwloc's tree; they are looked up by their set.
constexpr std::array<hwloc_obj_type_t, part_kind_count> types{
    HWLOC_OBJ_MACHINE, HWLOC_OBJ_PACKAGE, HWLOC_OBJ_DIE,     HWLOC_OBJ_NUMANODE,
    HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE,
    HWLOC_OBJ_L1CACHE, HWLOC_OBJ_CORE,    HWLOC_OBJ_PU};

int part_around(hwloc_topology_t machine, hwloc_obj_t unit, hwloc_obj_type_t type) {
  if (type == HWLOC_OBJ_PU) return static_cast<int>(unit->os_index);
  if (type == HWLOC_OBJ_NUMANODE) return hwloc_bitmap_first(unit->nodeset);  // -1: none.
  const hwloc_obj_t part = hwloc_get_ancestor_obj_by_type(machine, type, unit);
  return part == nullptr ? no_part : static_cast<int>(part->logical_index);
}

}  // namespace

machine_parts::numbers machine_parts::around(int cpu) const {
  if (const auto at = of_cpu.find(cpu); at != of_cpu.end()) return at->second;
  numbers unknown;
  unknown.fill(no_part);
  unknown[static_cast<std::size_t>(part_kind::machine)] = 0;
  return unknown;
}

std::size_t machine_parts::count(part_kind kind) const {
  std::set<int> seen;
  for (const auto& [cpu, parts] : of_cpu)
    if (const int part = parts[static_cast<std::size_t>(kind)]; part != no_part) seen.insert(part);
  return seen.size();
}

machine_parts read_machine_parts() {
  machine_parts parts;
  const topology_handle machine = load_topology(types);
  if (machine == nullptr) return parts;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(machine.get(), HWLOC_OBJ_PU, unit)) != nullptr) {
    machine_parts::numbers& around = parts.of_cpu[static_cast<int>(unit->os_index)];
    for (std::size_t k = 0; k < part_kind_count; ++k)
      around[k] = part_around(machine.get(), unit, types[k]);
  }
  return parts;
}

const machine_parts& parts_of_machine() {
  static const machine_parts parts = read_machine_parts();
  return parts;
}

}  // namespace weft
