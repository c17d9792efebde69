// The hardware threads this process may use, in the order in which workers are pinned to them.
#pragma once
#include <cstddef>
#include <vector>

namespace weft {

struct hardware_thread {
  int cpu;        // The kernel's number, as in sched_setaffinity.
  int core;       // Threads of one core have the same number here.
  int numa_node;  // The kernel's number.
  int package;
};

struct topology {
  // The first thread of every core, neighbours first, then the second threads in the same order:
  // worker i belongs on threads[i], and siblings share a core only when all cores are in use.
  std::vector<hardware_thread> threads;
  std::size_t core_count = 0;
  // The NUMA nodes that these threads belong to, in their order.
  [[nodiscard]] std::vector<int> numa_nodes() const;
};

// Read once, by the first caller, from hwloc and that thread's CPU mask: later callers may already
// be pinned to one core.
const topology& machine_topology();

// How far apart two threads are: 0 same core, 1 same NUMA node, 2 same package, 3 further.
int distance(const hardware_thread& a, const hardware_thread& b) noexcept;

// Binds the calling thread to one CPU. Returns false where the system forbids it.
[[nodiscard]] bool pin_this_thread(int cpu) noexcept;

}  // namespace weft
