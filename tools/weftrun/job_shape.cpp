#include "weftrun/job_shape.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "weft/error.hpp"

namespace weft {

job_shape shape_of(const options& how, const std::vector<int>& cpus) {
  const auto hosts = static_cast<int>(cpus.size());
  const std::int64_t all_cpus = std::accumulate(cpus.begin(), cpus.end(), std::int64_t{0});
  std::int64_t ranks = how.ranks;
  std::int64_t processes = how.processes;
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
  job_shape shape{.ranks = static_cast<int>(ranks), .host_of_process = {}};
  for (std::int64_t process = 0; process < processes; ++process)
    shape.host_of_process.push_back(static_cast<int>(process * hosts / processes));
  if (how.transport.starts_with("shm") && shape.host_of_process.back() > 0)
    throw error("--transport shm reaches one host only; leave it out, or --hosts");
  return shape;
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
