// Parts of machines that hwloc makes up, and communicators by them. The second half has a machine of two packages with a core
// each, which every machine of two CPUs can be taken for.
#include "base/machine_parts.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "job.hpp"
#include "mpi/mpi.h"

namespace weft {
namespace {

// Set while static objects are made: a machine is read once.
const bool is_made_up = [] {
  ::setenv("HWLOC_SYNTHETIC", "pack:2 l3:1 core:1 pu:1", 1);
  ::setenv("HWLOC_THISSYSTEM", "1", 1);
  return true;
}();

machine_parts parts_of(const char* machine) {
  const std::string before = std::getenv("HWLOC_SYNTHETIC");
  ::setenv("HWLOC_SYNTHETIC", machine, 1);
  machine_parts parts = read_machine_parts();
  ::setenv("HWLOC_SYNTHETIC", before.c_str(), 1);
  return parts;
}

int part(const machine_parts& parts, int cpu, part_kind kind) {
  return parts.around(cpu)[static_cast<std::size_t>(kind)];
}

TEST(machine_parts, parts_are_numbered_by_kind) {
  const machine_parts parts = parts_of("pack:2 numa:2 l3:1 l2:2 core:1 pu:2");
  EXPECT_EQ(parts.of_cpu.size(), 16U);
  EXPECT_EQ(parts.count(part_kind::machine), 1U);
  EXPECT_EQ(parts.count(part_kind::package), 2U);
  EXPECT_EQ(parts.count(part_kind::numa_node), 4U);
  EXPECT_EQ(parts.count(part_kind::l3_cache), 4U);
  EXPECT_EQ(parts.count(part_kind::l2_cache), 8U);
  EXPECT_EQ(parts.count(part_kind::core), 8U);
  EXPECT_EQ(parts.count(part_kind::hardware_thread), 16U);
  EXPECT_EQ(parts.count(part_kind::l5_cache), 0U);
  EXPECT_EQ(part(parts, 0, part_kind::package), 0);
  EXPECT_EQ(part(parts, 9, part_kind::package), 1);
  EXPECT_EQ(part(parts, 9, part_kind::numa_node), 2);
  EXPECT_EQ(part(parts, 9, part_kind::l2_cache), 4);
  EXPECT_EQ(part(parts, 9, part_kind::hardware_thread), 9);
  EXPECT_EQ(part(parts, 9, part_kind::l5_cache), no_part);
}

TEST(machine_parts, of_an_unknown_cpu_only_the_machine_is_known) {
  const machine_parts parts = parts_of("pack:1 core:2 pu:1");
  EXPECT_EQ(part(parts, 100, part_kind::machine), 0);
  EXPECT_EQ(part(parts, 100, part_kind::core), no_part);
  EXPECT_EQ(part(parts, -1, part_kind::package), no_part);
}

int size_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return 0;
  int size = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_free(&comm);
  return size;
}

// How many ranks are together when the world is divided.
int together(int type, const char* key, const char* value) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &part);
  MPI_Info_free(&info);
  return size_of(part);
}

// Four ranks on two workers, a core each.
void in_four_ranks(const std::function<void()>& body) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU is no machine of two";
  options how = job_of(4, 2);
  how.pin = true;
  run(how, [&](communicator&) {
    MPI_Init(nullptr, nullptr);
    body();
    MPI_Finalize();
  });
}

TEST(machine_parts, ranks_are_divided_by_the_parts_that_are_named) {
  in_four_ranks([] {
    const auto by = [](const char* name) {
      return together(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", name);
    };
    EXPECT_EQ(by("hwloc://Machine"), 4);
    EXPECT_EQ(by("hwloc://Package"), 2);
    EXPECT_EQ(by("Socket"), 2);
    EXPECT_EQ(by("hwloc://L3Cache"), 2);
    EXPECT_EQ(by("hwloc://Core"), 2);
    EXPECT_EQ(by("hwloc://L5Cache"), 0);  // There is none.
    EXPECT_EQ(by("hwloc://Cupboard"), 0);
    EXPECT_EQ(together(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", "hwloc://Package"),
              2);
  });
}

TEST(machine_parts, ranks_are_divided_by_the_sets_that_are_named) {
  in_four_ranks([] {
    const auto by = [](const char* name) {
      return together(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", name);
    };
    EXPECT_EQ(by("mpi://WORLD"), 4);
    EXPECT_EQ(by("mpi://world"), 4);
    EXPECT_EQ(by("mpi://SELF"), 1);
    EXPECT_EQ(by("weft://process"), 4);
    EXPECT_EQ(by("weft://node"), 4);
    EXPECT_EQ(by("mpi://NOBODY"), 0);
    // A guide to hardware knows no sets.
    EXPECT_EQ(together(MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://WORLD"), 0);
  });
}

TEST(machine_parts, the_largest_part_that_divides_is_told) {
  in_four_ranks([] {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part);
    char name[64] = "";
    int length = sizeof name, is_there = 0;
    MPI_Info_get_string(info, "mpi_hw_resource_type", &length, name, &is_there);
    EXPECT_STREQ(name, "hwloc://Package");
    MPI_Info_free(&info);
    MPI_Comm none = MPI_COMM_NULL;
    MPI_Comm_split_type(part, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &none);
    EXPECT_EQ(none, MPI_COMM_NULL);  // Both share all that there is.
    EXPECT_EQ(size_of(part), 2);
  });
}

TEST(machine_parts, splits_that_differ_are_told) {
  in_four_ranks([] {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = 0, error_class = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", rank == 2 ? "Core" : "Package");
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Error_class(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part),
                    &error_class);
    EXPECT_EQ(error_class, MPI_ERR_ARG);
    // Who wants no communicator may be beside any.
    MPI_Comm_split_type(MPI_COMM_WORLD,
                        rank == 2 ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_HW_GUIDED}, 0,
                        rank == 2 ? MPI_INFO_NULL : info, &part);
    EXPECT_EQ(part == MPI_COMM_NULL, rank == 2);
    if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
    // Two keys are too many, also on one rank, beside one that wants nothing.
    if (rank == 1) MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD");
    MPI_Error_class(
        MPI_Comm_split_type(MPI_COMM_WORLD,
                            rank == 2 ? int{MPI_UNDEFINED} : int{MPI_COMM_TYPE_RESOURCE_GUIDED}, 0,
                            info, &part),
        &error_class);
    EXPECT_EQ(error_class, MPI_ERR_INFO);
    MPI_Info_free(&info);
  });
}

TEST(machine_parts, resources_and_who_is_bound_to_one_are_told) {
  in_four_ranks([] {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Get_hw_resource_info(&info);
    std::map<std::string, std::string> told;
    int count = 0;
    MPI_Info_get_nkeys(info, &count);
    for (int i = 0; i < count; ++i) {
      char key[MPI_MAX_INFO_KEY] = "", value[16] = "";
      int length = sizeof value, is_there = 0;
      MPI_Info_get_nthkey(info, i, key);
      MPI_Info_get_string(info, key, &length, value, &is_there);
      told[key] = value;
    }
    MPI_Info_free(&info);
    EXPECT_EQ(told, (std::map<std::string, std::string>{{"hwloc://Machine", "true"},
                                                        {"hwloc://Package", "true"},
                                                        {"hwloc://NUMANode", "true"},
                                                        {"hwloc://L3Cache", "true"},
                                                        {"hwloc://Core", "true"},
                                                        {"hwloc://PU", "true"}}));
  });
}

}  // namespace
}  // namespace weft
