// weft-info: what weft sees of the machine, and each setting with its value and where that came
// from. Takes the same --weft-* words as any weft program, so `weftrun -n 4 weft-info` and
// `weft-info --weft-ranks 4` show what a program started that way would get.
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/settings.hpp"
#include "base/topology.hpp"
#include "transport/mpi/mpi.hpp"
#include "transport/ofi/ofi.hpp"
#include "weft/accelerator.hpp"
#include "weft/error.hpp"

namespace {

template <class... Values>
void print(fmt::format_string<Values...> pattern, const Values&... values) {
  std::fputs((weft::formatted(pattern, values...) + '\n').c_str(), stdout);
}

std::string first_line_of(const char* path, const std::string& otherwise) {
  std::string line;
  std::ifstream file(path);
  return std::getline(file, line) ? line : otherwise;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

bool has_expedited_membarrier() {
  const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

bool may_use_realtime_priority() {
  rlimit limit;
  return ::geteuid() == 0 || (::getrlimit(RLIMIT_RTPRIO, &limit) == 0 && limit.rlim_cur > 0);
}

// Of whose memory buffers may be.
std::string accelerator_name() {
  try {
    return std::string(weft::make_cuda_accelerator()->name());
  } catch (const weft::error& why) {
    return weft::formatted("none: {}", why.what());
  }
}

void print_machine() {
  const weft::topology& machine = weft::machine_topology();
  std::set<int> nodes;
  std::string order;
  for (const weft::hardware_thread& thread : machine.threads) {
    nodes.insert(thread.numa_node);
    order += weft::formatted("{}{}", order.empty() ? "" : " ", thread.cpu);
  }
  print("machine");
  print("  processor         {}", processor_name());
  print("  cores             {}", machine.core_count);
  print("  hardware threads  {}", machine.threads.size());
  print("  NUMA nodes        {}", nodes.size());
  print("  workers on CPUs   {}", order);
  print("  load              {}", first_line_of("/proc/loadavg", "unknown"));
  print("  clock             {:.3f} ns per tick", weft::ns_per_tick());
  print("  wake-up           {}", has_expedited_membarrier()
                                      ? "membarrier: senders need no fence"
                                      : "fences: membarrier is not available");
  print("  accelerator       {}", accelerator_name());
  print("  real-time         {}", may_use_realtime_priority() ? "allowed" : "not allowed");
  print("  mappings at most  {}", first_line_of("/proc/sys/vm/max_map_count", "unknown"));
}

std::string source_name(weft::setting_source source, const weft::setting& row) {
  switch (source) {
    case weft::setting_source::environment:
      return row.environment_name();
    case weft::setting_source::command_line:
      return weft::formatted("--weft-{}", row.name);
    case weft::setting_source::default_value:
      break;
  }
  return "default";
}

// What --transport may name here.
void print_transports() {
  print("\ntransports");
  print("  {:<26} between the processes of a host", "shm");
  const auto providers = weft::ofi_providers();
  if (providers.empty()) print("  {:<26} libfabric has no provider here, or is missing", "ofi");
  for (const weft::ofi_provider& each : providers)
    print("  {:<26} {}{}{}", weft::formatted("ofi:{}@{}", each.name, each.domain),
          each.reaches_other_hosts ? "between hosts" : "on this host only",
          !each.isolates_users ? ", messages sealed"
          : each.has_hmem      ? ", puts and gets, of accelerators too"
          : each.has_rma       ? ", puts and gets"
                               : "",
          each.chosen_unless_forced ? "" : "; only when named");
  for (const std::string& each : weft::mpi_plugins())
    print("  {:<26} under the launcher of this MPI", weft::formatted("mpi:{}", each));
}

void print_settings(const weft::resolved_options& resolved) {
  print("\nsettings");
  print("  {:<18} {:<10} {:<22} {}", "name", "value", "from", "meaning");
  const auto rows = weft::settings();
  for (std::size_t i = 0; i < rows.size(); ++i)
    print("  {:<18} {:<10} {:<22} {}", rows[i].name, rows[i].text(resolved.values),
          source_name(resolved.sources[i], rows[i]), rows[i].help);
  for (const std::string& remark : weft::remarks_on_environment()) print("  {}", remark);
}

void explain(const std::string& name, const weft::resolved_options& resolved) {
  const weft::setting* const row = weft::find_setting(name);
  if (row == nullptr)
    throw weft::error(weft::formatted("there is no setting {}{}; weft-info lists them all", name,
                                      weft::suggestion_for(name, "")));
  const auto index = static_cast<std::size_t>(row - weft::settings().data());
  print("{}: {}", row->name, row->help);
  print("  value     {} (from: {})", row->text(resolved.values),
        source_name(resolved.sources[index], *row));
  print("  default   {}", row->text(weft::options{}));
  print("  allowed   {}", row->allowed);
  print("  variable  {}", row->environment_name());
  print("  words     --weft-{} of a program, --{} of weftrun", row->name, row->name);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const weft::resolved_options resolved = weft::resolve_options(argc, argv);
    CLI::App app(
        "Prints the machine as weft sees it, every setting, and where its value came from.",
        "weft-info");
    app.set_version_flag("--version", "weft " WEFT_VERSION);
    app.footer(
        "Examples:\n"
        "  weft-info                   what a program started here would get\n"
        "  weftrun -n 4 weft-info      what weftrun hands on\n"
        "  weft-info stack trace       all about these two settings");
    std::vector<std::string> names;
    app.add_option("NAME", names, "settings to explain; none: print everything");
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& shown) {
      return app.exit(shown);
    } catch (const CLI::ParseError& failure) {
      throw weft::error(weft::formatted("{}; weft-info --help says more", failure.what()));
    }
    for (const std::string& name : names) explain(name, resolved);
    if (!names.empty()) return 0;
    print("weft " WEFT_VERSION "\n");
    print_machine();
    print_transports();
    print_settings(resolved);
  } catch (const weft::error& failure) {
    std::fprintf(stderr, "weft-info: %s\n", failure.what());
    return 2;
  }
}
