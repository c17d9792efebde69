#include "base/topology.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "base/hwloc_topology.hpp"
#include "base/log.hpp"

namespace weft {

namespace {

// Caches and devices are not asked for: reading them takes most of the time.
constexpr std::array<hwloc_obj_type_t, 2> types{HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE};

bool allowed(hwloc_const_cpuset_t mask, unsigned cpu) {
  return hwloc_bitmap_isset(mask, cpu) != 0;
}

// Threads of each core in hwloc's order, which goes through packages and nodes one by one.
std::vector<hardware_thread> read_threads(hwloc_topology_t machine, hwloc_const_cpuset_t mask) {
  std::vector<hardware_thread> threads;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_PU, unit)) != nullptr) {
    if (!allowed(mask, unit->os_index)) continue;
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_CORE, unit);
    const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_PACKAGE, unit);
    const int node = hwloc_bitmap_first(unit->nodeset);
    threads.push_back({.cpu = static_cast<int>(unit->os_index),
                       .core = static_cast<int>((core ? core : unit)->logical_index),
                       .numa_node = std::max(node, 0),
                       .package = package ? static_cast<int>(package->logical_index) : 0});
  }
  return threads;
}

// First threads of all cores, then second ones, and so on; the order of cores is kept.
topology in_pinning_order(const std::vector<hardware_thread>& threads) {
  std::vector<std::size_t> sibling(threads.size(), 0);
  for (std::size_t i = 1; i < threads.size(); ++i)
    if (threads[i].core == threads[i - 1].core) sibling[i] = sibling[i - 1] + 1;
  topology result;
  for (std::size_t depth = 0; result.threads.size() < threads.size(); ++depth)
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (sibling[i] == depth) result.threads.push_back(threads[i]);
  result.core_count = static_cast<std::size_t>(std::ranges::count(sibling, std::size_t{0}));
  return result;
}

topology read_topology() {
  std::vector<hardware_thread> threads;
  if (const topology_handle machine = load_topology(types)) {
    const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> mask(hwloc_bitmap_alloc(),
                                                                             &hwloc_bitmap_free);
    if (mask && hwloc_get_cpubind(machine.get(), mask.get(), HWLOC_CPUBIND_THREAD) == 0)
      threads = read_threads(machine.get(), mask.get());
  }
  if (threads.empty()) {
    log_line("cannot read the machine's topology: {}; taking CPUs as they are numbered",
             std::strerror(errno));
    const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    for (int cpu = 0; cpu < count; ++cpu)
      threads.push_back({.cpu = cpu, .core = cpu, .numa_node = 0, .package = 0});
  }
  return in_pinning_order(threads);
}

}  // namespace

const topology& machine_topology() {
  static const topology machine = read_topology();
  return machine;
}

std::vector<int> topology::numa_nodes() const {
  std::vector<int> nodes;
  for (const hardware_thread& thread : threads)
    if (std::ranges::find(nodes, thread.numa_node) == nodes.end())
      nodes.push_back(thread.numa_node);
  return nodes;
}

int distance(const hardware_thread& a, const hardware_thread& b) noexcept {
  if (a.core == b.core) return 0;
  if (a.numa_node == b.numa_node) return 1;
  return a.package == b.package ? 2 : 3;
}

bool pin_this_thread(int cpu) noexcept {
  // Sized at run time: the fixed cpu_set_t ends at 1,024 CPUs.
  cpu_set_t* const mask = CPU_ALLOC(static_cast<std::size_t>(cpu) + 1);
  if (mask == nullptr) return false;
  const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(size, mask);
  CPU_SET_S(static_cast<std::size_t>(cpu), size, mask);
  const bool bound = sched_setaffinity(0, size, mask) == 0;
  CPU_FREE(mask);
  return bound;
}

}  // namespace weft
