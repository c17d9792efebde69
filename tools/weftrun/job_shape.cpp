#include "weftrun/job_shape.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/topology.hpp"
#include "weft/error.hpp"

namespace weft {

host_cores cores_of_this_host() {
  const topology& machine = machine_topology();
  return {.threads = static_cast<int>(machine.threads.size()),
          .numa_nodes = static_cast<int>(machine.numa_nodes().size())};
}

namespace {

// A process for each NUMA node, those of one host together.
std::vector<int> hosts_of_numa_nodes(const std::vector<host_cores>& hosts) {
  std::vector<int> host_of_process;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    if (hosts[host].numa_nodes == 0)
      throw error(
          "--processes numa: how many NUMA nodes the hosts of a batch job have is not known "
          "before it starts; give their number, --processes N");
    host_of_process.insert(host_of_process.end(), static_cast<std::size_t>(hosts[host].numa_nodes),
                           static_cast<int>(host));
  }
  return host_of_process;
}

}  // namespace

job_shape shape_of(const options& how, const std::vector<host_cores>& all_hosts) {
  const auto hosts = static_cast<int>(all_hosts.size());
  std::int64_t all_cpus = 0;
  for (const host_cores& host : all_hosts) all_cpus += host.threads;
  std::vector<int> numa_hosts;
  if (how.processes == process_per_numa_node) numa_hosts = hosts_of_numa_nodes(all_hosts);
  std::int64_t ranks = how.ranks;
  std::int64_t processes =
      numa_hosts.empty() ? how.processes : static_cast<std::int64_t>(numa_hosts.size());
  const std::int64_t at_most = how.ranks_per_process;
  // One rank per worker, unless the number is given.
  if (ranks == 0 && processes > 0)
    ranks = at_most > 0 ? processes * at_most
                        : std::max(processes, how.workers > 0 ? processes * how.workers : all_cpus);
  if (ranks == 0)
    ranks = how.workers > 0 && at_most == 0 ? std::int64_t{hosts} * how.workers
                                            : std::max<std::int64_t>(hosts, all_cpus);
  if (processes == 0)
    processes = at_most > 0 ? std::max<std::int64_t>((ranks + at_most - 1) / at_most, 1)
                            : std::min<std::int64_t>(hosts, ranks);
  if (ranks > ranks_max) throw error(formatted("{} ranks: the limit is {}", ranks, ranks_max));
  if (processes > processes_max)
    throw error(formatted("{} processes: the limit is {}", processes, processes_max));
  if (processes > ranks)
    throw error(formatted("{} processes for {} ranks; give at least one rank to each process",
                          processes, ranks));
  if (processes > 1 && how.schedule)
    throw error(
        "a schedule is repeatable in one process only; leave out processes, or the schedule");
  job_shape shape{.ranks = static_cast<int>(ranks), .host_of_process = std::move(numa_hosts)};
  for (auto process = static_cast<std::int64_t>(shape.host_of_process.size()); process < processes;
       ++process)
    shape.host_of_process.push_back(static_cast<int>(process * hosts / processes));
  if (how.transport.starts_with("shm") && shape.host_of_process.back() > 0)
    throw error("--transport shm reaches one host only; leave it out, or --hosts");
  return shape;
}

int ranks_of_each_process(int ranks, int hosts, int at_most) {
  const auto rounded_up = [](int all, int each) { return all / each + (all % each != 0 ? 1 : 0); };
  const int of_host = rounded_up(ranks, std::max(hosts, 1));
  if (of_host <= at_most) return 0;
  return rounded_up(of_host, rounded_up(of_host, std::max(at_most, 1)));
}

std::vector<std::string> host_names(const options& how) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < how.hosts.size();) {
    const std::size_t end = std::min(how.hosts.find(',', begin), how.hosts.size());
    names.push_back(how.hosts.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace weft
