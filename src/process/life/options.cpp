#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "base/topology.hpp"
#include "process/life/program.hpp"

namespace weft::process {
namespace {

// There must be a limit where the system sets none, and address space for all ranks of a process with the gaps between.
constexpr std::size_t unlimited_stack_bytes = std::size_t{1} << 30;
constexpr std::size_t address_space_of_stacks = std::size_t{1} << 45;

bool promises_no_more_than_there_is() {
  int mode = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> mode;
  return mode == 2;
}

// What ulimit -s says, so that a program finds the stack that it has elsewhere; it is committed page by page.
std::size_t stack_of_system(std::size_t ranks_of_process) {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const std::size_t wanted =
      is_limited ? std::clamp<std::size_t>(limit.rlim_cur, stack_bytes_min, stack_bytes_max)
                 : unlimited_stack_bytes;
  rlimit space{};
  std::size_t room = address_space_of_stacks;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    room = std::min<std::size_t>(room, space.rlim_cur / 2);
  std::size_t most = room / 2 / std::max<std::size_t>(ranks_of_process, 1);
  if (promises_no_more_than_there_is()) most = std::min(most, program_stack_bytes_max);
  if (wanted <= most) return wanted;
  const std::size_t less = std::max(most / 4096 * 4096, stack_bytes_min);
  if (is_limited)
    log_line(
        "stacks of ranks have {} KiB, not the {} of ulimit -s: there is no address space for more; start fewer "
        "ranks in a process, or say --stack",
        less / 1024, wanted / 1024);
  return less;
}

bool is_default(const resolved_options& resolved, std::string_view name) {
  const setting* const row = find_setting(name);
  return resolved.sources[static_cast<std::size_t>(row - settings().data())] ==
         setting_source::default_value;
}

// As many processes as a launcher of others says that it has started, of which each is to have a rank; 1 where none has.
int processes_of_launcher() {
  const char* counts[] = {nullptr, nullptr};
  if (::secure_getenv("PMI_FD") != nullptr)
    counts[0] = ::secure_getenv("PMI_SIZE");
  else if (::secure_getenv("PMIX_NAMESPACE") != nullptr && ::secure_getenv("PMIX_RANK") != nullptr)
    counts[0] = ::secure_getenv("OMPI_COMM_WORLD_SIZE"),
    counts[1] = ::secure_getenv("SLURM_STEP_NUM_TASKS");
  for (const char* const count : counts)
    if (count != nullptr && std::atoi(count) > 0) return std::atoi(count);
  return 1;
}

}  // namespace

resolved_options program_options(int& argc, char** argv) {
  resolved_options resolved = resolve_options(argc, argv);
  // weftrun names the number when its user does not.
  if (is_default(resolved, "ranks") && ::secure_getenv("WEFT_JOB") == nullptr)
    resolved.values.ranks = processes_of_launcher();
  if (is_default(resolved, "stack")) {
    const options& how = resolved.values;
    const int ranks = how.ranks == 0 ? static_cast<int>(machine_topology().threads.size())
                                     : how.ranks / std::max(1, how.processes);
    resolved.values.stack_bytes = stack_of_system(static_cast<std::size_t>(std::max(1, ranks)));
  }
  return resolved;
}

}  // namespace weft::process
