#include "parcel/lci/lci_variant.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>

#include "base/format.hpp"
#include "base/topology.hpp"
#include "bootstrap/bootstrap.hpp"
#include "remote/port.hpp"
#include "sched/scheduler.hpp"
#include "weft/error.hpp"

namespace weft::detail {

std::unique_ptr<lci_variant> lci_variant::of(std::string_view kind) {
  const auto take = [&kind](std::string_view word) {
    if (!kind.starts_with(word)) return false;
    kind.remove_prefix(word.size());
    return true;
  };
  lci_variant made{};
  if (!take("lci_")) return nullptr;
  if (take("sr_"))
    made.by = header::send;
  else if (take("psr_"))
    made.by = header::put;
  else
    return nullptr;
  if (take("cq_"))
    made.found_by = completion::queue;
  else if (take("sy_"))
    made.found_by = completion::synchronizers;
  else
    return nullptr;
  if (kind == "pin")
    made.driven_by = progress::pinned_thread;
  else if (kind == "mt")
    made.driven_by = progress::all_workers;
  else if (kind == "core")
    made.driven_by = progress::own_core;
  else
    return nullptr;
  return std::make_unique<lci_variant>(made);
}

void lci_variant::set_devices(std::string_view kind, std::string_view count) {
  if (count.empty()) return;
  const auto [end, failure] = std::from_chars(count.data(), count.data() + count.size(), devices);
  if (failure != std::errc() || end != count.data() + count.size() || devices < 1 ||
      devices > lci_devices_max)
    throw error(
        formatted("parcelport {}:{}: behind the colon stands the number of devices, 1 to {}", kind,
                  count, lci_devices_max));
}

// --- Cores ----------------------------------------------------------------------------------------

std::string cores_of_process::text() const {
  std::string all;
  for (const int one : of_workers) all += formatted("{} ", one);
  all += '/';
  for (const int one : allowed) all += formatted(" {}", one);
  return all;
}

cores_of_process cores_of_process::of(std::string_view text) {
  cores_of_process read;
  std::vector<int>* to = &read.of_workers;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    int number = 0;
    if (word == "/")
      to = &read.allowed;
    else if (std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc())
      to->push_back(number);
  }
  return read;
}

std::optional<int> core_beside_workers(std::span<const cores_of_process> node, std::size_t which) {
  // Workers that are not bound leave one over where there are more.
  if (const cores_of_process& own = node[which]; std::ranges::count(own.of_workers, -1) != 0)
    return own.allowed.size() > own.of_workers.size() ? std::optional(-1) : std::nullopt;
  std::set<int> taken;
  for (const cores_of_process& one : node)
    taken.insert(one.of_workers.begin(), one.of_workers.end());
  // The processes before this one choose first.
  for (std::size_t i = 0;; ++i) {
    const auto& allowed = node[i].allowed;
    const auto at = std::ranges::find_if(allowed, [&](int cpu) { return !taken.contains(cpu); });
    if (i == which) return at != allowed.end() ? std::optional(*at) : std::nullopt;
    if (at != allowed.end()) taken.insert(*at);
  }
}

int core_for_progress(scheduler& workers, network& between, lci_variant::progress by,
                      const std::string& name) {
  if (by == lci_variant::progress::all_workers) return -1;
  const int count = workers.worker_count();
  if (by == lci_variant::progress::pinned_thread) return workers.at(count - 1).core();
  cores_of_process own;
  for (int i = 0; i < count; ++i) own.of_workers.push_back(workers.at(i).core());
  for (const hardware_thread& one : machine_topology().threads) own.allowed.push_back(one.cpu);
  bootstrap& job = between.job();
  constexpr std::string_view key = "weft.parcels.cores";
  job.put(key, own.text());
  job.fence();
  std::vector<cores_of_process> node;
  std::size_t which = 0;
  for (int p = 0; p < between.process_count(); ++p) {
    if (job.node_of(p) != job.node_of(between.process())) continue;
    if (p == between.process()) which = node.size();
    node.push_back(cores_of_process::of(job.get(p, key)));
  }
  if (const std::optional<int> found = core_beside_workers(node, which)) return *found;
  throw error(formatted(
      "parcelport {} needs a core beside those of all workers of this host: the {} of this process may use {} cores; "
      "give fewer workers (--workers) or more cores, or take lci_..._pin",
      name, count, own.allowed.size()));
}

}  // namespace weft::detail
