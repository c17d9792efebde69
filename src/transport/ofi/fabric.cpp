#include "transport/ofi/fabric.hpp"

#include <dlfcn.h>

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/kept_dispositions.hpp"
#include "base/library_function.hpp"
#include "weft/error.hpp"

namespace weft {

const fabric_library& libfabric() {
  static fabric_library loaded = [] {  // Tests change it.
    constexpr const char* name = "libfabric.so.1";
    const kept_dispositions kept;
    void* const handle =
        dlopen(name, RTLD_NOW | RTLD_LOCAL);  // Never closed: threads may be in it.
    if (handle == nullptr)
      throw error(
          formatted("the network needs {}, which cannot be loaded ({}): install libfabric "
                    "(Debian: libfabric1), or choose another transport",
                    name, dlerror()));
    fabric_library all{};
    find_function(handle, name, "fi_getinfo", all.getinfo);
    find_function(handle, name, "fi_freeinfo", all.freeinfo);
    find_function(handle, name, "fi_dupinfo", all.dupinfo);
    find_function(handle, name, "fi_fabric", all.fabric);
    find_function(handle, name, "fi_strerror", all.strerror);
    return all;
  }();
  return loaded;
}

namespace {

constexpr std::uint32_t api_version = FI_VERSION(1, 14);

// What weft asks of every provider, and what more where it can be had.
struct extras {
  bool rma = false;
  bool hmem = false;  // Buffers on accelerators; only with rma.
};
fabric_info wishes(extras more) {
  fabric_info hints(libfabric().dupinfo(nullptr));
  if (hints == nullptr) throw error("libfabric has no memory for fi_info");
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  if (more.hmem) {
    hints->caps |= FI_HMEM;
    hints->domain_attr->mr_mode |= FI_MR_HMEM;
  }
  if (more.rma) {
    hints->caps |= FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    // A put is complete when its data are in the peer's memory.
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  }
  return hints;
}

// The order in which providers are preferred, by the first word that their name begins with.
// Providers that are not named here work when forced: they emulate what another one of the list
// does better (sockets, udp;ofi_rxd), or do not leave the host (shm).
constexpr std::array<std::string_view, 9> preference = {"cxi", "efa", "verbs", "psm3",       "psm2",
                                                        "opx", "tcp", "net",   "tcp;ofi_rxm"};

bool is_layered(std::string_view name) {
  return name.find(';') != std::string_view::npos;
}

// "verbs" means "verbs;ofi_rxm" as well, but a provider's own endpoints are preferred to a layer
// above it. Smaller is better; preference.size() is "only when forced".
std::size_t preference_of(std::string_view name) {
  const auto exact = std::ranges::find(preference, name);
  if (exact != preference.end()) return static_cast<std::size_t>(exact - preference.begin());
  if (name.ends_with(";ofi_rxm") && !name.starts_with("net") && !name.starts_with("udp")) {
    const auto first = std::ranges::find(preference, name.substr(0, name.find(';')));
    if (first != preference.end()) return static_cast<std::size_t>(first - preference.begin());
  }
  return preference.size();
}

// "tcp" is what does TCP best: libfabric 1.17 calls it "net", later ones "tcp" itself.
bool is_named(std::string_view name, std::string_view wanted) {
  return name == wanted || (!is_layered(wanted) && name.substr(0, name.find(';')) == wanted) ||
         (wanted == "tcp" && name == "net");
}

// The interface of the default route, which is the one that other hosts are most likely behind.
std::string default_route_interface() {
  std::ifstream routes("/proc/net/route");
  for (std::string line; std::getline(routes, line);) {
    std::istringstream words(line);
    std::string interface, destination;
    if (words >> interface >> destination && destination == "00000000") return interface;
  }
  return {};
}

bool is_link_local(const fi_info& info) {
  if (info.addr_format != FI_SOCKADDR_IN6 || info.src_addr == nullptr) return false;
  const auto& address = static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr;
  return IN6_IS_ADDR_LINKLOCAL(&address);
}

struct candidate {
  const fi_info* info;
  extras has;
  // Smaller is better, field by field.
  std::array<std::size_t, 6> rank;
};

// Whether it is to be taken only after the others: it does not reach other hosts, or it lets them in for
// nothing.
bool is_of_wrong_reach(const fi_info& info, bool stays_on_host) {
  return stays_on_host ? is_tcp(info) && !is_host_local(info) : is_host_local(info);
}

// Every way that libfabric knows, the best first. `found` owns them.
std::vector<candidate> candidates(std::vector<fabric_info>& found, bool with_hmem,
                                  bool stays_on_host) {
  std::vector<candidate> all;
  const std::string route = default_route_interface();
  for (const extras more : {extras{true, true}, extras{true, false}, extras{}}) {
    if (more.hmem && !with_hmem) continue;
    fi_info* list = nullptr;
    const fabric_info hints = wishes(more);
    const kept_dispositions kept;  // It may load its providers only now.
    const int result = libfabric().getinfo(api_version, nullptr, nullptr, 0, hints.get(), &list);
    if (result == -FI_ENODATA) continue;
    check_fabric(result, "fi_getinfo");
    found.emplace_back(list);
    for (const fi_info* info = list; info != nullptr; info = info->next) {
      const bool known = std::ranges::any_of(all, [&](const candidate& other) {
        return provider_name(*other.info) == provider_name(*info) &&
               domain_name(*other.info) == domain_name(*info) &&
               other.info->addr_format == info->addr_format;
      });
      // TCP's link-local addresses need an interface at the other side, which has other names.
      if (known || is_link_local(*info)) continue;
      all.push_back(
          {info,
           more,
           {is_of_wrong_reach(*info, stays_on_host) ? 1u : 0u, preference_of(provider_name(*info)),
            is_layered(provider_name(*info)) ? 1u : 0u, domain_name(*info) == route ? 0u : 1u,
            info->addr_format == FI_SOCKADDR_IN6 ? 1u : 0u, more.rma ? 0u : 1u}});
    }
  }
  std::ranges::stable_sort(all, {}, &candidate::rank);
  return all;
}

}  // namespace

void check_fabric(long result, const char* what, const fi_info* info) {
  if (result >= 0) return;
  throw error(formatted("libfabric's {} failed{}{}: {}", what, info ? " for provider " : "",
                        info ? provider_name(*info) : "",
                        libfabric().strerror(static_cast<int>(-result))));
}

std::string_view provider_name(const fi_info& info) {
  const char* const name = info.fabric_attr ? info.fabric_attr->prov_name : nullptr;
  return name ? name : "";
}

std::string_view domain_name(const fi_info& info) {
  const char* const name = info.domain_attr ? info.domain_attr->name : nullptr;
  return name ? name : "";
}

bool is_host_local(const fi_info& info) {
  if (info.addr_format == FI_SOCKADDR_IN && info.src_addr != nullptr)
    return (ntohl(static_cast<const sockaddr_in*>(info.src_addr)->sin_addr.s_addr) >> 24) == 127;
  if (info.addr_format == FI_SOCKADDR_IN6 && info.src_addr != nullptr) {
    const auto& address = static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address);
  }
  return provider_name(info).starts_with("shm");
}

bool is_tcp(const fi_info& info) {
  const std::string_view name = provider_name(info);
  return name.starts_with("tcp") || name.starts_with("net") || name.starts_with("sockets");
}

bool isolates_users(const fi_info& info) {
  const std::string_view name = provider_name(info);
  const std::string_view first = name.substr(0, name.find(';'));
  constexpr std::array<std::string_view, 7> isolating = {"cxi",  "efa", "verbs", "psm3",
                                                         "psm2", "opx", "shm"};
  return std::ranges::find(isolating, first) != isolating.end();
}

bool has_own_tcp(const fi_info& info) {
  return provider_name(info) == "net" || provider_name(info) == "tcp";
}

fabric_info choose_fabric(const ofi_options& options) {
  std::vector<fabric_info> found;
  const std::vector<candidate> all =
      candidates(found, options.with_accelerators, options.stays_on_host);
  std::string known;
  for (const candidate& each : all) {
    const std::string_view name = provider_name(*each.info);
    const std::string_view domain = domain_name(*each.info);
    const bool fits_provider = options.provider.empty() ? each.rank[1] < preference.size()
                                                        : is_named(name, options.provider);
    if (fits_provider && (options.domain.empty() || options.domain == domain))
      return fabric_info(libfabric().dupinfo(each.info));
    const std::string text = formatted("{}@{}", name, domain);
    if (known.find(text) == std::string::npos) known += (known.empty() ? "" : ", ") + text;
  }
  throw error(
      formatted("no libfabric provider {}{}{} with ordered reliable messages works here; {}",
                options.provider.empty() ? "that reaches others" : options.provider,
                options.domain.empty() ? "" : " on ", options.domain,
                known.empty() ? "there is none at all" : "there are " + known));
}

std::vector<ofi_provider> ofi_providers() {
  std::vector<fabric_info> found;
  std::vector<ofi_provider> providers;
  for (const candidate& each : candidates(found, true, false)) {
    ofi_provider row{.name = std::string(provider_name(*each.info)),
                     .domain = std::string(domain_name(*each.info)),
                     .reaches_other_hosts = !is_host_local(*each.info),
                     .chosen_unless_forced = each.rank[1] < preference.size(),
                     .has_rma = each.has.rma,
                     .has_hmem = each.has.hmem,
                     .isolates_users = isolates_users(*each.info)};
    const bool listed = std::ranges::any_of(providers, [&](const ofi_provider& other) {
      return other.name == row.name && other.domain == row.domain;
    });
    if (!listed) providers.push_back(std::move(row));
  }
  return providers;
}

}  // namespace weft
