// MPI_Comm_split_type: communicators of the ranks that share a machine, or a part of one. Where a rank is follows from the
// core to which its worker is pinned. Of a rank whose worker is not pinned only the machine is known.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "base/topology.hpp"
#include "mpi/collective/collective.hpp"
#include "mpi/object/operation.hpp"
#include "mpi/object/profiling.hpp"

namespace weft::mpi {
namespace {

using namespace detail;

// The parts of a machine, from the largest to the smallest. Each lies in one part of the kind before it.
enum part_of_machine : std::size_t {
  machine,
  package,
  numa_node,
  core,
  hardware_thread_part,
  part_count
};
using places = std::array<int, part_count>;

constexpr int unknown = -1;

// Names of the parts in an MPI_Info. The first name of a part is hwloc's; put_name() returns that one.
constexpr std::pair<std::string_view, part_of_machine> names_of_parts[] = {
    {"Machine", machine}, {"Package", package},         {"NUMANode", numa_node},
    {"Core", core},       {"PU", hardware_thread_part}, {"mpi_shared_memory", machine},
    {"Socket", package}};
constexpr std::string_view name_source = "hwloc://";
constexpr const char* type_key = "mpi_hw_resource_type";

// The number of each part that this rank is in; `unknown` where its worker is not pinned. Two ranks have the same number
// only if they are in the same part of the same machine.
places places_of(const rank_state& r) {
  const job& j = *r.of;
  const int node =
      j.node_of_process.empty() ? 0 : j.node_of_process[static_cast<std::size_t>(j.process)];
  places here;
  here.fill(unknown);
  here[machine] = node;
  constexpr int parts_max = 1 << 16, machines_max = std::numeric_limits<int>::max() / parts_max;
  for (const hardware_thread& t : machine_topology().threads)
    if (t.cpu == r.home->core() && node < machines_max && t.cpu < parts_max && t.core < parts_max) {
      const auto on_machine = [&](int number) { return node * parts_max + number; };
      here[package] = on_machine(t.package);
      here[numa_node] = on_machine(t.numa_node);
      here[core] = on_machine(t.core);
      here[hardware_thread_part] = on_machine(t.cpu);
    }
  return here;
}

// The largest kind of part in which the ranks of `c` are not all together, and which every rank knows; `part_count` when
// there is none. A collective: ranks that want no communicator call it too, with `wanted` false, and do not count.
std::size_t part_that_divides(communicator_object& c, const places& here, bool wanted) {
  // For each kind of part the least number and the negative of the greatest: one reduction by MPI_MIN finds both.
  std::array<int, 2 * part_count> ends, of_all;
  for (std::size_t p = 0; p < part_count; ++p) {
    ends[2 * p] = wanted ? here[p] : std::numeric_limits<int>::max();
    ends[2 * p + 1] = wanted ? -here[p] : std::numeric_limits<int>::max();
  }
  const reducer least = make_reducer(MPI_MIN, MPI_INT, *find_predefined(MPI_INT), ends.size());
  reduce(*c.shared, c.own, ends.data(), of_all.data(), least.of(ends.size()), no_root,
         "MPI_Comm_split_type");
  for (std::size_t p = 0; p < part_count; ++p)
    if (of_all[2 * p] != unknown && of_all[2 * p] != -of_all[2 * p + 1]) return p;
  return part_count;
}

// The part that `info` names under mpi_hw_resource_type; `part_count` when it names none that is known.
std::size_t part_by_name(state& me, MPI_Info info) {
  if (info == MPI_INFO_NULL) return part_count;
  const std::string* const value = checked_info(me, info).find(type_key);
  if (value == nullptr) return part_count;
  std::string_view name = *value;
  if (name.starts_with(name_source)) name.remove_prefix(name_source.size());
  for (const auto& [known, part] : names_of_parts)
    if (name == known) return part;
  return part_count;
}

// MPI_COMM_TYPE_HW_UNGUIDED: writes the part that weft has chosen into the program's info.
void put_name(state& me, MPI_Info info, std::size_t part) {
  for (const auto& [name, named] : names_of_parts)
    if (part == named)
      return checked_info(me, info).set(type_key, std::string(name_source).append(name));
}

// The color for split_by_color(): the number of this rank's part, or MPI_UNDEFINED. `split_type` has been checked.
int color_of(state& me, communicator_object& c, int split_type, MPI_Info info) {
  const places here = places_of(me.rank);
  const std::size_t divided = part_that_divides(c, here, split_type != MPI_UNDEFINED);
  std::size_t part = part_count;
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
      part = machine;
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      part = divided;
      if (info != MPI_INFO_NULL && info != MPI_INFO_ENV) put_name(me, info, part);
      break;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      part = part_by_name(me, info);
      break;
    default:
      break;
  }
  return part == part_count || here[part] == unknown ? static_cast<int>(MPI_UNDEFINED) : here[part];
}

void check_split_type(int split_type) {
  constexpr int known[] = {MPI_UNDEFINED, MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_UNGUIDED,
                           MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED};
  if (std::find(std::begin(known), std::end(known), split_type) == std::end(known))
    fail(MPI_ERR_ARG, "split_type {} is none of the standard's", split_type);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Comm_split_type,
                  (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Comm_split_type", comm,
      [&](state& me) {
        check_not_null(newcomm, "newcomm");
        communicator_object& c = checked_communicator(me, comm);
        check_hints(me, info);
        check_split_type(split_type);
        const int color = color_of(me, c, split_type, info);
        *newcomm = split_by_color(me, c, color, key, "MPI_Comm_split_type");
      },
      comm, split_type, key, info);
}
