// MPI_Comm_split_type: communicators of the ranks that share a machine, a part of one, or a set of processes. Where a rank is
// follows from the core to which its worker is pinned. Of a rank whose worker is not pinned only the machine is known.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "base/machine_parts.hpp"
#include "mpi/collective/collective.hpp"
#include "mpi/communicator/process_sets.hpp"
#include "mpi/object/operation.hpp"
#include "mpi/object/profiling.hpp"
#include "rank/remote.hpp"

namespace weft::mpi {
namespace {

using namespace detail;

// The names of parts in an MPI_Info are hwloc's, and two more.
constexpr std::pair<std::string_view, part_kind> other_names[] = {
    {"mpi_shared_memory", part_kind::machine}, {"Socket", part_kind::package}};
constexpr std::string_view name_source = "hwloc://";
constexpr const char* type_key = "mpi_hw_resource_type";
constexpr const char* set_key = "mpi_pset_name";

// What ranks are divided by: a kind of part, behind these a set of processes, or nothing; the part that divides them; or what
// no rank may ask for, of which all are told.
constexpr std::size_t first_set = part_kind_count;
constexpr std::size_t by_nothing = first_set + 4;
constexpr std::size_t unguided = by_nothing + 1;
constexpr std::size_t by_both_keys = unguided + 1;
constexpr std::size_t by_set_beyond_job = by_both_keys + 1;
std::size_t by_set(process_set set) {
  return first_set + static_cast<std::size_t>(set);
}

using places = machine_parts::numbers;

// Two ranks of `c` have the same number only if they are of one job, and on the same machine. Each job numbers machines by itself:
// beyond a job the number is that of the first rank of the own job there.
int number_of_machine(const rank_state& r, const communicator_state& c) {
  const job& j = *r.of;
  const auto node_of = [&](int process) {
    return j.node_of_process.empty() ? 0 : j.node_of_process[static_cast<std::size_t>(process)];
  };
  const int own = node_of(j.process);
  if (!reaches_other_jobs(c)) return own;
  const auto is_there = [&](int number) {
    return !is_of_other_job(*r.shared, number) &&
           node_of(j.places[static_cast<std::size_t>(number)].process) == own;
  };
  int first = 0;
  while (!is_there(c.to(first).number)) ++first;  // At the caller's own at last.
  return first;
}

// The number of each part that this rank is in; no_part where its worker is not pinned. Two ranks of `c` have the same number only
// if they are in the same part of the same machine.
places places_of(const rank_state& r, const communicator_state& c) {
  const int node = number_of_machine(r, c);
  places here = parts_of_machine().around(r.home->core());
  constexpr int parts_max = 1 << 16, machines_max = std::numeric_limits<int>::max() / parts_max;
  for (int& number : here)
    if (number != no_part)
      number = node < machines_max && number < parts_max ? node * parts_max + number : no_part;
  here[static_cast<std::size_t>(part_kind::machine)] = node;
  return here;
}

// `most`: the greatest of what ranks ask for.
void check_asked(std::size_t most) {
  if (most == by_both_keys)
    fail(MPI_ERR_INFO, "the info of a rank has both {} and {}: pass one of them", type_key,
         set_key);
  if (most == by_set_beyond_job)
    fail(MPI_ERR_UNSUPPORTED_OPERATION,
         "{} divides no communicator that reaches beyond the job: sets of processes are of one job",
         set_key);
}

// Collective; ranks that want no communicator call it too, with `wanted` false, and do not count. Throws on all ranks where
// they want to be divided by different things, or by what cannot be. Else returns the largest kind of part in which the ranks of
// `c` are not all together, and which every rank knows; by_nothing when there is none.
std::size_t part_that_divides(communicator_object& c, const places& here, std::size_t by,
                              bool wanted) {
  // For each number of `here`, and `by`, the least and the negative of the greatest: one reduction by MPI_MIN finds both.
  std::array<int, 2 * (part_kind_count + 1)> ends, of_all;
  const auto enter = [&](std::size_t p, int number) {
    ends[2 * p] = wanted ? number : std::numeric_limits<int>::max();
    ends[2 * p + 1] = wanted ? -number : std::numeric_limits<int>::max();
  };
  for (std::size_t p = 0; p < part_kind_count; ++p) enter(p, here[p]);
  enter(part_kind_count, static_cast<int>(by));
  const reducer least = make_reducer(MPI_MIN, MPI_INT, *find_predefined(MPI_INT), ends.size());
  reduce(*c.shared, c.own, ends.data(), of_all.data(), least.of(ends.size()), no_root,
         "MPI_Comm_split_type");
  const auto differs = [&](std::size_t p) { return of_all[2 * p] != -of_all[2 * p + 1]; };
  // Where no rank counts, both are the largest number.
  if (of_all[0] == std::numeric_limits<int>::max()) return by_nothing;
  check_asked(static_cast<std::size_t>(-of_all[2 * part_kind_count + 1]));
  if (differs(part_kind_count))
    fail(MPI_ERR_ARG,
         "ranks ask for different splits: pass the same split_type, {} and {} on all that want a "
         "communicator",
         type_key, set_key);
  for (std::size_t p = 0; p < part_kind_count; ++p)
    if (of_all[2 * p] != no_part && differs(p)) return p;
  return by_nothing;
}

// The part that `info` names; by_nothing when it names none that is known.
std::size_t part_by_name(std::string_view name) {
  if (name.starts_with(name_source)) name.remove_prefix(name_source.size());
  for (std::size_t k = 0; k < part_kind_count; ++k)
    if (name == part_kind_names[k]) return k;
  for (const auto& [known, kind] : other_names)
    if (name == known) return static_cast<std::size_t>(kind);
  return by_nothing;
}

// MPI_COMM_TYPE_HW_GUIDED and MPI_COMM_TYPE_RESOURCE_GUIDED, which knows sets of processes, too.
std::size_t by_info(state& me, const communicator_object& c, MPI_Info info, bool sets) {
  if (info == MPI_INFO_NULL) return by_nothing;
  const info_object& i = checked_info(me, info);
  const std::string* const type = i.find(type_key);
  const std::string* const name = sets ? i.find(set_key) : nullptr;
  if (type != nullptr && name != nullptr) return by_both_keys;
  if (type != nullptr) return part_by_name(*type);
  if (name == nullptr) return by_nothing;
  const auto set = find_process_set(*name);
  if (!set) return by_nothing;
  return reaches_other_jobs(*c.shared) ? by_set_beyond_job : by_set(*set);
}

std::string resource_name(std::size_t part) {
  return std::string(name_source).append(part_kind_names[part]);
}

// The color for split_by_color(): the number of this rank's part or set, or MPI_UNDEFINED. `split_type` has been checked.
int color_of(state& me, communicator_object& c, int split_type, MPI_Info info) {
  const places here = places_of(me.rank, *c.shared);
  const std::size_t asked = split_type == MPI_COMM_TYPE_SHARED
                                ? static_cast<std::size_t>(part_kind::machine)
                            : split_type == MPI_COMM_TYPE_HW_UNGUIDED ? unguided
                            : split_type == MPI_UNDEFINED
                                ? by_nothing
                                : by_info(me, c, info, split_type == MPI_COMM_TYPE_RESOURCE_GUIDED);
  const std::size_t divided = part_that_divides(c, here, asked, split_type != MPI_UNDEFINED);
  const std::size_t by = asked == unguided ? divided : asked;
  if (asked == unguided && by != by_nothing && info != MPI_INFO_NULL && info != MPI_INFO_ENV)
    checked_info(me, info).set(type_key, resource_name(by));
  if (by == by_nothing || (by < first_set && here[by] == no_part)) return MPI_UNDEFINED;
  return by < first_set ? here[by] : number_of_set(me, static_cast<process_set>(by - first_set));
}

// Whether the caller runs in one part of the kind alone.
const char* is_restricted(const rank_state& r, std::size_t kind) {
  const bool pinned = parts_of_machine().of_cpu.contains(r.home->core());
  return pinned || parts_of_machine().count(static_cast<part_kind>(kind)) == 1 ? "true" : "false";
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

// Its keys are the kinds of parts that this machine has, by the names that MPI_Comm_split_type takes; the values say whether the
// caller is restricted to one part of the kind.
WEFT_MPI_FUNCTION(int, MPI_Get_hw_resource_info, (MPI_Info * hw_info)) {
  return in_call_at_any_time("MPI_Get_hw_resource_info", [&](state& me) {
    check_not_null(hw_info, "hw_info");
    info_object& made = me.infos.make();
    for (std::size_t k = 0; k < weft::part_kind_count; ++k)
      if (weft::parts_of_machine().count(static_cast<weft::part_kind>(k)) != 0)
        made.set(resource_name(k), is_restricted(me.rank, k));
    *hw_info = handle_of(made);
  });
}
