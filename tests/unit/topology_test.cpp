#include "base/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <thread>

namespace weft {
namespace {

TEST(topology, threads_are_the_cpus_this_process_may_use) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  std::set<int> cpus;
  for (const hardware_thread& thread : machine_topology().threads) {
    EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(thread.cpu), &mask)) << thread.cpu;
    EXPECT_TRUE(cpus.insert(thread.cpu).second) << thread.cpu << " is there twice";
  }
  EXPECT_EQ(static_cast<int>(cpus.size()), CPU_COUNT(&mask));
}

TEST(topology, first_threads_are_on_different_cores) {
  const topology& machine = machine_topology();
  ASSERT_GE(machine.core_count, 1u);
  ASSERT_LE(machine.core_count, machine.threads.size());
  std::set<int> cores;
  for (std::size_t i = 0; i < machine.core_count; ++i) cores.insert(machine.threads[i].core);
  EXPECT_EQ(cores.size(), machine.core_count);
  for (const hardware_thread& thread : machine.threads) EXPECT_TRUE(cores.contains(thread.core));
}

TEST(topology, a_pinned_thread_stays_on_its_cpu) {
  for (const hardware_thread& place : machine_topology().threads) {
    int cpu = -1;
    std::thread([&] {
      if (pin_this_thread(place.cpu)) cpu = sched_getcpu();
    }).join();
    EXPECT_EQ(cpu, place.cpu);
  }
}

TEST(topology, pinning_to_a_cpu_that_does_not_exist_fails) {
  EXPECT_FALSE(pin_this_thread(100'000));
}

TEST(topology, distance_grows_from_core_to_node_to_package) {
  const hardware_thread here{.cpu = 0, .core = 0, .numa_node = 0, .package = 0};
  EXPECT_EQ(distance(here, {.cpu = 4, .core = 0, .numa_node = 0, .package = 0}), 0);
  EXPECT_EQ(distance(here, {.cpu = 1, .core = 1, .numa_node = 0, .package = 0}), 1);
  EXPECT_EQ(distance(here, {.cpu = 2, .core = 2, .numa_node = 1, .package = 0}), 2);
  EXPECT_EQ(distance(here, {.cpu = 3, .core = 3, .numa_node = 2, .package = 1}), 3);
}

}  // namespace
}  // namespace weft
