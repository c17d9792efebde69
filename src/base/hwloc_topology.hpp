// The machine as hwloc reads it. For this module alone: nobody else includes <hwloc.h>.
#pragma once
#include <hwloc.h>

#include <memory>
#include <span>

namespace weft {

struct topology_deleter {
  void operator()(hwloc_topology_t machine) const noexcept { hwloc_topology_destroy(machine); }
};
using topology_handle = std::unique_ptr<hwloc_topology, topology_deleter>;

// With parts of these types, and CPUs and NUMA nodes, which are always there; null when hwloc cannot read the machine. Each type costs
// time, caches and devices the most.
inline topology_handle load_topology(std::span<const hwloc_obj_type_t> types) {
  hwloc_topology_t machine = nullptr;
  if (hwloc_topology_init(&machine) != 0) return nullptr;
  topology_handle owner(machine);
  hwloc_topology_set_all_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const hwloc_obj_type_t type : types)
    hwloc_topology_set_type_filter(machine, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(machine) != 0) return nullptr;
  return owner;
}

}  // namespace weft
