#include "breakdown/model.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

using c = components;
constexpr std::array rows{
    component_row{"descriptor_setup", &c::descriptor_setup, "message descriptor set-up"},
    component_row{"descriptor_barrier", &c::descriptor_barrier, "barrier for the descriptor"},
    component_row{"doorbell_barrier", &c::doorbell_barrier, "barrier for the doorbell counter"},
    component_row{"pio_copy", &c::pio_copy, "copy of 64 bytes to the device"},
    component_row{"post_misc", &c::post_misc, "the rest of a low-level post"},
    component_row{"progress", &c::progress, "low-level progress of one completion"},
    component_row{"busy_post", &c::busy_post, "busy post, in the low-level test"},
    component_row{"measurement_update", &c::measurement_update, "the low-level test itself"},
    component_row{"pcie", &c::pcie, "64 bytes over PCIe, one way"},
    component_row{"wire", &c::wire, "the wire, one way"},
    component_row{"network_switch", &c::network_switch, "a switch"},
    component_row{"memory_write", &c::memory_write, "write of the payload to the target's memory"},
    component_row{"memory_write_completion", &c::memory_write_completion,
                  "write of a completion to the initiator's memory"},
    component_row{"mpi_post", &c::mpi_post, "MPI_Isend in the MPI library"},
    component_row{"framework_post", &c::framework_post, "MPI_Isend in the framework below"},
    component_row{"mpi_callback", &c::mpi_callback, "callback of a receive in the MPI library"},
    component_row{"framework_callback", &c::framework_callback,
                  "callback of a receive in the framework"},
    component_row{"mpi_after_progress", &c::mpi_after_progress,
                  "MPI_Wait after the progress that completed its receive"},
    component_row{"send_progress", &c::send_progress, "progress of a send, all levels"},
    component_row{"busy_post_per_send", &c::busy_post_per_send, "busy posts, per send"},
    component_row{"signal_period", &c::signal_period, "posts that one completion tells of", true},
};

// Table 1 and the numbers of sections 5 and 6. The paper gives no write of a completion of 64 bytes: that
// of 8 bytes stands for it, which makes posts_min a lower bound.
constexpr std::string_view published =
    R"(# Breaking Band, ICPP 2019, table 1 and sections 5 and 6: 8 bytes, ThunderX2, ConnectX-4, one switch.
descriptor_setup = 27.78
descriptor_barrier = 17.33
doorbell_barrier = 21.07
pio_copy = 94.25
post_misc = 14.99
progress = 61.63
busy_post = 8.99
measurement_update = 49.69
pcie = 137.49
wire = 274.81
network_switch = 108
memory_write = 240.96
memory_write_completion = 240.96  # not in the paper: that of 8 bytes
mpi_post = 24.37
framework_post = 2.19
mpi_callback = 47.99
framework_callback = 139.78
mpi_after_progress = 36.89
send_progress = 59.82
busy_post_per_send = 3.17
signal_period = 64
)";

std::string_view trimmed(std::string_view text) noexcept {
  const auto is_space = [](char at) { return at == ' ' || at == '\t' || at == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// What a file says, fit for a line of an error.
std::string quoted(std::string_view text) {
  std::string shown;
  for (const char at : text.substr(0, 40)) shown += at >= ' ' && at < 127 ? at : '?';
  return "'" + shown + (text.size() > 40 ? "...'" : "'");
}

constexpr double ns_max = 1e9;

}  // namespace

std::span<const component_row> component_rows() noexcept {
  return rows;
}

std::string_view published_text() noexcept {
  return published;
}

const components& published_components() {
  static const components all = read_components(published, "the published table");
  return all;
}

components read_components(std::string_view text, std::string_view file) {
  components all;
  std::array<bool, rows.size()> seen{};
  int line = 0;
  const auto fail = [&](const std::string& what) {
    throw error(formatted("{}, line {}: {}", file, line, what));
  };
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    row = trimmed(row.substr(0, row.find('#')));
    if (row.empty()) continue;
    const std::size_t equals = row.find('=');
    if (equals == row.npos) fail(formatted("{} is not of the form name = value", quoted(row)));
    const std::string_view name = trimmed(row.substr(0, equals));
    const std::string_view value = trimmed(row.substr(equals + 1));
    const auto known = std::ranges::find(rows, name, &component_row::name);
    if (known == rows.end()) {
      std::string allowed;
      for (const component_row& one : rows)
        allowed += (allowed.empty() ? "" : ", ") + std::string(one.name);
      fail(formatted("no component is called {}; there are: {}", quoted(name), allowed));
    }
    if (std::exchange(seen[static_cast<std::size_t>(known - rows.begin())], true))
      fail(formatted("{} is given twice", name));
    double number = 0;
    const auto [stop, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
    const double least = known->is_count ? 1 : 0;
    if (failure != std::errc{} || stop != value.data() + value.size() || !std::isfinite(number) ||
        number < least || number > ns_max)
      fail(formatted("{} is {}; allowed are {} to {}{}", name, quoted(value), least, ns_max,
                     known->is_count ? "" : " ns"));
    all.*(known->value) = number;
  }
  check_components(all, file);
  return all;
}

void check_components(const components& all, std::string_view file) {
  const prediction p = predict(all);
  if (p.high_send_progress < 0)
    throw error(formatted(
        "{}: send_progress is {} ns, less than the {:.2f} ns of it that the low level takes (progress "
        "/ signal_period): allowed are values from there on",
        file, all.send_progress, p.low_send_progress));
}

prediction predict(const components& all) {
  prediction p{};
  p.low_post = all.descriptor_setup + all.descriptor_barrier + all.doorbell_barrier + all.pio_copy +
               all.post_misc;
  p.low_misc = all.busy_post + all.measurement_update;
  p.low_injection = p.low_post + all.progress + p.low_misc;
  p.network = all.wire + all.network_switch;
  p.low_latency = p.low_post + 2 * all.pcie + p.network + all.memory_write + all.progress;
  p.high_post = all.mpi_post + all.framework_post;
  p.post = p.high_post + p.low_post;
  p.low_send_progress = all.send_progress > 0 ? all.progress / all.signal_period : 0;
  p.high_send_progress = all.send_progress - p.low_send_progress;
  p.high_receive_progress = all.framework_callback + all.mpi_callback + all.mpi_after_progress;
  p.injection = p.post + all.send_progress + all.busy_post_per_send;
  p.latency = p.high_post + p.low_latency + p.high_receive_progress;
  p.generate_completion = 2 * (all.pcie + p.network) + all.memory_write_completion;
  p.posts_min = p.low_post > 0 ? std::ceil(p.generate_completion / p.low_post)
                               : std::numeric_limits<double>::infinity();
  return p;
}

namespace {
// Sections 4.2, 4.3 and 5. Of the low-level latency the paper takes half of a measurement update off what its test tells.
constexpr std::array observations{
    observation{"injection overhead, low level", "7", &prediction::low_injection, 282.33,
                "mean between two messages at the device"},
    observation{"latency, low level", "10", &prediction::low_latency, 1190.25,
                "half of a round trip, less half of a measurement update"},
    observation{"injection overhead", "12", &prediction::injection, 263.91,
                "inverse of a message rate"},
    observation{"latency", "13", &prediction::latency, 1336, "half of a round trip of MPI"},
};
}  // namespace

std::span<const observation> published_observations() noexcept {
  return observations;
}

double error_percent(double modelled, double observed) noexcept {
  return observed > 0 ? 100 * (modelled - observed) / observed : 0;
}

double injection_in_windows(const components& all, int window) {
  const prediction p = predict(all);
  // The last post of a window is followed by nothing that hides its completion, the first by the others.
  const double hidden = (window - 1) * p.post;
  const double stall = std::max(0.0, p.generate_completion - hidden);
  return p.injection + stall / window;
}

double bar::total() const noexcept {
  double sum = 0;
  for (const part& one : parts) sum += one.ns;
  return sum;
}

std::vector<bar> figures_of(const components& all) {
  const prediction p = predict(all);
  const double io = 2 * all.pcie + all.memory_write;
  const double cpu = p.latency - io - p.network;
  const double initiator_cpu = p.post;
  const double target_cpu = all.progress + p.high_receive_progress;
  const double target_io = all.pcie + all.memory_write;
  return {
      {"4",
       "low-level post",
       {{"descriptor set-up", all.descriptor_setup},
        {"descriptor barrier", all.descriptor_barrier},
        {"doorbell barrier", all.doorbell_barrier},
        {"PIO copy", all.pio_copy},
        {"misc", all.post_misc}}},
      {"7", "modelled injection overhead", {{"low level", p.low_injection}}},
      {"8",
       "injection overhead, low level",
       {{"post", p.low_post}, {"progress", all.progress}, {"misc", p.low_misc}}},
      {"10",
       "latency, low level",
       {{"post", p.low_post},
        {"initiator PCIe", all.pcie},
        {"wire", all.wire},
        {"switch", all.network_switch},
        {"target PCIe", all.pcie},
        {"memory write", all.memory_write},
        {"progress", all.progress}}},
      {"11", "MPI_Isend", {{"MPI", all.mpi_post}, {"framework", all.framework_post}}},
      {"12",
       "injection overhead",
       {{"post", p.post}, {"send progress", all.send_progress}, {"misc", all.busy_post_per_send}}},
      {"13",
       "latency",
       {{"high-level post", p.high_post},
        {"low-level post", p.low_post},
        {"initiator PCIe", all.pcie},
        {"wire", all.wire},
        {"switch", all.network_switch},
        {"target PCIe", all.pcie},
        {"memory write", all.memory_write},
        {"low-level progress", all.progress},
        {"high-level progress", p.high_receive_progress}}},
      {"14", "initiation", {{"high level", p.high_post}, {"low level", p.low_post}}},
      {"14",
       "send progress",
       {{"high level", p.high_send_progress}, {"low level", p.low_send_progress}}},
      {"14",
       "receive progress",
       {{"high level", p.high_receive_progress}, {"low level", all.progress}}},
      {"15", "latency", {{"CPU", cpu}, {"I/O", io}, {"network", p.network}}},
      {"15",
       "CPU",
       {{"high level", p.high_post + p.high_receive_progress},
        {"low level", p.low_post + all.progress}}},
      {"15", "I/O", {{"PCIe", 2 * all.pcie}, {"memory write", all.memory_write}}},
      {"15", "network", {{"wire", all.wire}, {"switch", all.network_switch}}},
      {"16",
       "on node",
       {{"initiator", initiator_cpu + all.pcie}, {"target", target_cpu + target_io}}},
      {"16", "initiator", {{"CPU", initiator_cpu}, {"I/O", all.pcie}}},
      {"16", "target", {{"CPU", target_cpu}, {"I/O", target_io}}},
      {"16", "target I/O", {{"memory write", all.memory_write}, {"PCIe", all.pcie}}},
  };
}

std::vector<improvement> improvements_of(const components& all) {
  const prediction p = predict(all);
  const double high_injection = p.high_post + p.high_send_progress;
  const double low_injection = p.low_post + p.low_send_progress;
  const double io = 2 * all.pcie + all.memory_write;
  return {
      {"high level", "a, b", high_injection, p.high_post + p.high_receive_progress},
      {"high-level post", "a, b", p.high_post, p.high_post},
      {"high-level progress", "a, b", p.high_send_progress, p.high_receive_progress},
      {"low level", "a, b", low_injection, p.low_post + all.progress},
      {"low-level post", "a, b", p.low_post, p.low_post},
      {"low-level progress", "a, b", p.low_send_progress, all.progress},
      {"PIO", "a, b", all.pio_copy, all.pio_copy},
      {"integrated NIC", "c", 0, io},
      {"PCIe", "c", 0, 2 * all.pcie},
      {"memory write", "c", 0, all.memory_write},
      {"wire", "d", 0, all.wire},
      {"switch", "d", 0, all.network_switch},
  };
}

double gain_percent(double part_ns, double sum_ns, double reduction) noexcept {
  return sum_ns > 0 ? 100 * reduction * part_ns / sum_ns : 0;
}

}  // namespace weft::breakdown
