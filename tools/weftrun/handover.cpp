#include "weftrun/handover.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>

#include "base/format.hpp"
#include "base/settings.hpp"
#include "transport/mpi/mpi.hpp"
#include "weft/error.hpp"
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

// A parcelport over an MPI needs the launcher of that MPI, which is whose plug-in there is.
std::vector<std::string> words_of_mpi(std::string_view which, int processes,
                                      const std::vector<std::string>& exported) {
  const std::vector<std::string> there = mpi_plugins();
  const auto has = [&](std::string_view name) {
    return std::ranges::find(there, name) != there.end();
  };
  if (which.empty()) which = has("mpich") ? "mpich" : "openmpi";
  if (!has(which))
    throw error(formatted(
        "--parcelport mpi:{} needs weft's plug-in for that MPI, which is not there: weft is built with those that it "
        "finds (mpicxx.{})",
        which, which));
  if (which == "mpich") return {"mpiexec.mpich", "-n", formatted("{}", processes)};
  std::vector<std::string> words{
      "mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", formatted("{}", processes)};
  if (::geteuid() == 0) words.insert(words.begin() + 1, "--allow-run-as-root");
  for (const std::string& name : exported) words.insert(words.end(), {"-x", name});
  return words;
}

}  // namespace

std::optional<handover> hand_over_to_mpi(const options& how,
                                         const std::vector<std::string>& command,
                                         const std::function<const char*(const char*)>& variable,
                                         const std::vector<std::string>& exported) {
  const std::string port = parcelport_setting();
  if (!port.starts_with("mpi") || how.processes == 1 || is_started_itself(variable))
    return std::nullopt;
  if (!how.hosts.empty())
    throw error(formatted(
        "--parcelport {} on other hosts: start the job with the launcher of that MPI, and WEFT_PARCELPORT={}",
        port, port));
  const job_shape shape = shape_of(how, {cores_of_this_host()});
  if (shape.processes() == 1) return std::nullopt;
  handover result;
  result.assignments = {"WEFT_RANKS", formatted("{}", shape.ranks), "WEFT_PROCESSES",
                        formatted("{}", shape.processes())};
  std::vector<std::string> names = exported;
  for (std::size_t i = 0; i < result.assignments.size(); i += 2)
    if (std::ranges::find(names, result.assignments[i]) == names.end())
      names.push_back(result.assignments[i]);
  const std::size_t colon = port.find(':');
  result.command = words_of_mpi(
      colon == std::string::npos ? std::string_view() : std::string_view(port).substr(colon + 1),
      shape.processes(), names);
  result.command.insert(result.command.end(), command.begin(), command.end());
  return result;
}

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
