#include "weftrun/handover.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/format.hpp"
#include "weftrun/job_shape.hpp"

namespace weft {

namespace {

using variables = std::function<const char*(const char*)>;

int number_in(const variables& variable, const char* name) {
  const char* const text = variable(name);
  return text == nullptr ? 0 : std::atoi(text);
}

// One of several that another launcher started.
bool is_started_itself(const variables& variable) {
  return variable("WEFT_JOB") != nullptr || variable("PMIX_RANK") != nullptr ||
         variable("PMI_FD") != nullptr || number_in(variable, "SLURM_STEP_NUM_TASKS") > 1;
}

// The names of PBS_NODEFILE, one for each place, counted.
std::map<std::string, int> places_in(const char* path) {
  std::map<std::string, int> places;
  std::ifstream file(path);
  for (std::string name; std::getline(file, name);)
    if (!name.empty()) ++places[name];
  return places;
}

std::vector<std::string> srun_words(const options& how, int nodes, int processes, int cpus) {
  std::vector<std::string> words{
      "srun", "--mpi=pmix", formatted("--nodes={}", std::min(nodes, processes)),
      formatted("--ntasks={}", processes), formatted("--cpus-per-task={}", std::max(1, cpus))};
  words.push_back(how.on_failure == "error" ? "--kill-on-bad-exit=0" : "--kill-on-bad-exit=1");
  if (!how.pin) words.push_back("--cpu-bind=none");
  return words;
}

std::vector<std::string> mpirun_words(const options& how, const std::string& hosts, int processes,
                                      int per_host, const std::vector<std::string>& exported) {
  std::vector<std::string> words{
      "mpirun", "-n",       formatted("{}", processes),        "--hostfile",
      hosts,    "--map-by", formatted("ppr:{}:node", per_host)};
  // Its own binding is to one core for each process, whatever the number of workers.
  words.insert(words.end(), {"--bind-to", "none"});
  if (how.on_failure == "error") words.insert(words.end(), {"--enable-recovery"});
  for (const std::string& name : exported) words.insert(words.end(), {"-x", name});
  return words;
}

}  // namespace

std::optional<handover> hand_over(const options& how, const std::vector<std::string>& command,
                                  const variables& variable,
                                  const std::vector<std::string>& exported) {
  if (!how.hosts.empty() || how.processes == 1 || is_started_itself(variable)) return std::nullopt;
  handover result;
  int nodes = 0;
  int cpus = 0;
  const char* const node_file = variable("PBS_NODEFILE");
  if (variable("SLURM_JOB_ID") != nullptr) {
    nodes = number_in(variable, "SLURM_JOB_NUM_NODES");
    cpus = number_in(variable, "SLURM_CPUS_ON_NODE");
  } else if (node_file != nullptr) {
    const auto places = places_in(node_file);
    nodes = static_cast<int>(places.size());
    for (const auto& [name, count] : places) cpus = std::max(cpus, count);
    cpus = std::max(cpus, number_in(variable, "NCPUS"));
  }
  if (nodes < 2) return std::nullopt;
  const job_shape shape = shape_of(how, std::vector<host_cores>(static_cast<std::size_t>(nodes),
                                                                {.threads = std::max(1, cpus)}));
  const int per_node = (shape.processes() + nodes - 1) / nodes;
  result.assignments = {"WEFT_RANKS", formatted("{}", shape.ranks), "WEFT_PROCESSES",
                        formatted("{}", shape.processes())};
  std::vector<std::string> names = exported;
  for (std::size_t i = 0; i < result.assignments.size(); i += 2)
    if (std::ranges::find(names, result.assignments[i]) == names.end())
      names.push_back(result.assignments[i]);
  result.command = variable("SLURM_JOB_ID") != nullptr
                       ? srun_words(how, nodes, shape.processes(), cpus / per_node)
                       : mpirun_words(how, node_file, shape.processes(), per_node, names);
  result.command.insert(result.command.end(), command.begin(), command.end());
  return result;
}

}  // namespace weft
