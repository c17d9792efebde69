#include "bootstrap/launcher.hpp"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/format.hpp"

namespace weft {

namespace {

// A variable that says how many processes a launcher started.
struct process_counter {
  const char* variable;
  std::string_view launcher;
  std::string_view remedy;
};

constexpr std::string_view use_pmix = "use its PMIx (srun --mpi=pmix), or weftrun";
constexpr std::string_view use_others = "start it by weftrun, mpirun with PMIx, or hydra's mpiexec";

// Not SLURM_NTASKS: a batch script that starts one program has it too; a step has what is here.
constexpr process_counter counters[] = {
    {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun",
     "this launcher offers no PMIx to it; use weftrun"},
    {"SLURM_STEP_NUM_TASKS", "srun", use_pmix},
    {"PMI_SIZE", "a PMI launcher", use_others},
    {"MV2_COMM_WORLD_SIZE", "MVAPICH's launcher", use_others},
    {"PALS_LOCAL_SIZE", "PALS", use_others},
    {"FLUX_JOB_SIZE", "flux", use_others},
    {"JSM_NAMESPACE_SIZE", "jsrun", use_others},
    {"MPI_LOCALNRANKS", "an MPI launcher", use_others},
};

// Variables of launchers that number their processes but do not count them.
constexpr process_counter numbers[] = {
    {"PMI_RANK", "a PMI launcher", use_others},
    {"PALS_RANKID", "PALS", use_others},
    {"ALPS_APP_PE", "aprun", use_others},
};

std::optional<int> number_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view word = text;
  int value = 0;
  const auto [stop, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || stop != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

launcher_found find_launcher(const std::function<const char*(const char*)>& variable) {
  if (variable("WEFT_JOB") != nullptr) return {launcher::weftrun};
  if (variable("PMI_FD") != nullptr) return {launcher::pmi1};
  if (variable("PMIX_NAMESPACE") != nullptr && variable("PMIX_RANK") != nullptr)
    return {launcher::pmix};
  // What a rank of weft's has in its environment is of its own job, not of a launcher of this process.
  if (variable("WEFT_RANK") != nullptr) return {};
  for (const process_counter& row : counters)
    if (const auto count = number_in(variable(row.variable)); count && *count > 1)
      return {launcher::unknown,
              formatted("{} started {} processes ({}={}), but weft cannot find out how they reach "
                        "each other, and will not run as {} jobs of one: {}",
                        row.launcher, *count, row.variable, *count, *count, row.remedy)};
  for (const process_counter& row : numbers)
    if (const auto number = number_in(variable(row.variable)); number && *number > 0)
      return {
          launcher::unknown,
          formatted("{} started this process as number {} ({}={}), but weft cannot find out how "
                    "it reaches the others, and will not run as a job of its own: {}",
                    row.launcher, *number, row.variable, *number, row.remedy)};
  return {};
}

}  // namespace weft
