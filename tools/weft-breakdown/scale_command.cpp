// weft-breakdown scale: the time of a recorded pattern, or of a collective, on machines that are not here.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "breakdown/extrapolation.hpp"
#include "breakdown/machine.hpp"
#include "breakdown/measured.hpp"
#include "breakdown/pattern.hpp"
#include "breakdown/simulation.hpp"
#include "weft-breakdown/commands.hpp"
#include "weft-breakdown/simgrid_network.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using namespace breakdown;

constexpr int scaled_ranks_max = 1 << 17;  // What fits into memory.

struct prediction_row {
  machine on;
  std::string network;
  simulated result;
  double took_seconds = 0;
  std::optional<double> measured_ns;
};

// What a child that predicts tells: SimGrid has one time for each process.
struct answer {
  bool failed = false;
  simulated result;
  char why[512] = {};
};

// Runs `predict` in a process of its own.
template <class Predict>
simulated apart(const Predict& predict) {
  int ends[2];
  if (::pipe(ends) != 0) throw error(formatted("scale needs a pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw error(formatted("scale cannot start a process: {}", std::strerror(errno)));
  if (child == 0) {
    ::close(ends[0]);
    answer told;
    try {
      told.result = predict();
    } catch (const std::exception& failure) {
      told.failed = true;
      std::snprintf(told.why, sizeof told.why, "%s", failure.what());
    }
    const bool wrote = ::write(ends[1], &told, sizeof told) == static_cast<ssize_t>(sizeof told);
    std::_Exit(wrote ? 0 : 1);
  }
  ::close(ends[1]);
  answer told;
  const ssize_t got = ::read(ends[0], &told, sizeof told);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (got != static_cast<ssize_t>(sizeof told))
    throw error(formatted("the simulation ended early, {}: fewer ranks need less memory",
                          WIFSIGNALED(status) ? formatted("by signal {}", WTERMSIG(status))
                                              : formatted("with status {}", WEXITSTATUS(status))));
  if (told.failed) throw error(told.why);
  return told.result;
}

std::vector<message_cost> costs_of(const scale_request& request) {
  std::vector<message_cost> costs;
  for (const std::string& file : request.messages)
    costs.push_back(cost_of(read_measured(text_of_file(file), file)));
  if (costs.empty()) {
    if (request.ranks_per_node > 1 || !request.measured.empty())
      throw error(
          "scale has several ranks on a node and does not know what their messages cost: name a file of "
          "weft-breakdown measure --out FILE by --message FILE");
    costs.emplace_back();
  }
  std::ranges::sort(costs, {}, &message_cost::bytes);
  return costs;
}

pattern pattern_named(const std::string& name, const scale_request& request) {
  if (!name.ends_with(event_file::suffix) && name.find('/') == name.npos &&
      name.find('.') == name.npos)
    return pattern_of_collective(name, request.bytes, request.repeat);
  return pattern_of(read_event_log(name, false));
}

class predictor {
 public:
  explicit predictor(const scale_request& request)
      : request_(request),
        costs_(costs_of(request)),
        pattern_(pattern_named(request.pattern, request)) {
    const network_cost published = published_network();
    cost_ = published;
    if (request.latency_ns > 0) cost_.latency_ns = request.latency_ns;
    if (request.bytes_per_ns > 0) cost_.bytes_per_ns = request.bytes_per_ns;
  }

  [[nodiscard]] const pattern& of() const noexcept { return pattern_; }

  prediction_row predict(int nodes, int ranks_per_node, int workers_per_node) const {
    prediction_row row;
    machine& m = row.on;
    m.nodes = nodes;
    m.ranks_per_node = ranks_per_node;
    m.workers_per_node =
        workers_per_node == 0 ? ranks_per_node : std::min(workers_per_node, ranks_per_node);
    m.costs = costs_;
    m.network_post = cost_.post_ns;
    m.network_deliver = cost_.deliver_ns;
    if (std::int64_t{nodes} * ranks_per_node > scaled_ranks_max)
      throw error(formatted("{} nodes with {} ranks are {}: up to {} ranks are simulated", nodes,
                            ranks_per_node, std::int64_t{nodes} * ranks_per_node,
                            scaled_ranks_max));
    const topology net{request_.topology, cost_.latency_ns, cost_.bytes_per_ns};
    const bool is_ideal = nodes == 1 || request_.topology == "ideal";
    row.network = nodes == 1 ? "one node" : is_ideal ? "ideal network" : described(net, nodes);
    const std::uint64_t begun = now_ns();
    row.result = apart([&] {
      const extrapolation how(pattern_, m.ranks());
      simulation_request what;
      if (request_.is_strong) {
        what.computation = static_cast<double>(pattern_.ranks()) / m.ranks();
        // The surface of a part shrinks less than the part.
        what.message_bytes =
            std::pow(what.computation, (how.dimensions() - 1.0) / std::max(how.dimensions(), 1));
      }
      if (::isatty(STDERR_FILENO) != 0) what.progress = [&](int ended) { show(m, ended); };
      if (request_.by_actors) return simulate_with_actors(pattern_, how, m, net);
      const auto network = is_ideal ? make_plain_network(cost_.latency_ns, cost_.bytes_per_ns)
                                    : make_simgrid_network(net, nodes);
      return simulate(pattern_, how, m, *network, what);
    });
    row.took_seconds = static_cast<double>(now_ns() - begun) * 1e-9;
    return row;
  }

 private:
  static void show(const machine& m, int ended) {
    constexpr int width = 40;
    const int full = static_cast<int>(std::int64_t{width} * ended / m.ranks());
    std::fprintf(stderr, "\r  %7d ranks [%-*s] %3d %%%s", m.ranks(), width,
                 std::string(static_cast<std::size_t>(full), '#').c_str(),
                 static_cast<int>(std::int64_t{100} * ended / m.ranks()),
                 ended == m.ranks() ? "\r\033[K" : "");
  }

  const scale_request& request_;
  std::vector<message_cost> costs_;
  pattern pattern_;
  network_cost cost_{};
};

double computing_percent(const prediction_row& row) {
  const double all = row.result.ns * row.on.nodes * row.on.workers_per_node;
  return all > 0 ? 100 * row.result.computing / all : 0;
}
double error_percent(const prediction_row& row) {
  return *row.measured_ns > 0 ? 100 * (row.result.ns - *row.measured_ns) / *row.measured_ns : 0;
}

std::string as_csv(const std::string& name, const std::vector<prediction_row>& rows) {
  std::string text =
      "pattern,nodes,ranks_per_node,workers_per_node,ranks,network,seconds,computing_percent,messages,"
      "between_nodes,without_partner,measured_seconds,error_percent,simulated_in_seconds\n";
  for (const prediction_row& r : rows)
    text += formatted("{},{},{},{},{},{},{:.9g},{:.2f},{},{},{},{},{},{:.3f}\n", name, r.on.nodes,
                      r.on.ranks_per_node, r.on.workers_per_node, r.on.ranks(), r.network,
                      r.result.ns * 1e-9, computing_percent(r), r.result.messages,
                      r.result.between_nodes, r.result.without_partner,
                      r.measured_ns ? formatted("{:.9g}", *r.measured_ns * 1e-9) : "",
                      r.measured_ns ? formatted("{:.2f}", error_percent(r)) : "", r.took_seconds);
  return text;
}

std::string duration(double ns) {
  return ns < 1e3   ? formatted("{:.1f} ns", ns)
         : ns < 1e6 ? formatted("{:.3f} us", ns * 1e-3)
         : ns < 1e9 ? formatted("{:.3f} ms", ns * 1e-6)
                    : formatted("{:.3f} s", ns * 1e-9);
}

std::string as_text(const std::string& name, const std::vector<prediction_row>& rows) {
  std::string text = formatted(
      "{}, predicted\n{:>8} {:>8} {:>8} {:>12} {:>10} {:>12} {:>12} {:>8}  network\n", name,
      "nodes", "ranks", "workers", "time", "computing", "messages", "measured", "error");
  for (const prediction_row& r : rows)
    text += formatted("{:>8} {:>8} {:>8} {:>12} {:>9.1f}% {:>12} {:>12} {:>8}  {}\n", r.on.nodes,
                      r.on.ranks(), r.on.nodes * r.on.workers_per_node, duration(r.result.ns),
                      computing_percent(r), r.result.messages,
                      r.measured_ns ? duration(*r.measured_ns) : "",
                      r.measured_ns ? formatted("{:+.1f}%", error_percent(r)) : "", r.network);
  for (const prediction_row& r : rows)
    if (r.result.without_partner != 0)
      text += formatted(
          "  with {} ranks {} waits are for messages that nobody sends, and were passed over: the recorded "
          "ranks do not all do the same\n",
          r.on.ranks(), r.result.without_partner);
  return text;
}

}  // namespace

void predict_scale(const scale_request& request) {
  const predictor by(request);
  std::vector<prediction_row> rows;
  for (const std::string& file : request.measured) {
    const pattern real = pattern_of(read_event_log(file, false));
    if (real.ranks() < by.of().ranks()) continue;
    rows.push_back(by.predict(1, real.ranks(), real.workers));
    rows.back().measured_ns = real.recorded_ns;
  }
  for (const int nodes : request.nodes)
    if (request.measured.empty() || nodes > 1)
      rows.push_back(by.predict(nodes, request.ranks_per_node, request.workers_per_node));
  const std::string csv = as_csv(by.of().program, rows);
  std::fputs((request.csv ? csv : as_text(by.of().program, rows)).c_str(), stdout);
  if (!request.png.empty()) plot("scale", csv, request.png);
}

}  // namespace weft
