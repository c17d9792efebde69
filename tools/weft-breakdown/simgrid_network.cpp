#include "weft-breakdown/simgrid_network.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "weft/error.hpp"

#ifdef WEFT_HAS_SIMGRID
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#pragma GCC diagnostic pop
#endif

namespace weft {
namespace {

int divisor(int of, int most) {
  for (int d = std::min(of, most); d > 1; --d)
    if (of % d == 0) return d;
  return 1;
}

// Nodes of a switch, and switches.
std::array<int, 2> fat_tree_of(int nodes) {
  const int below = divisor(nodes, 32);
  return {below, nodes / below};
}
// Groups, chassis, routers, nodes.
std::array<int, 4> dragonfly_of(int nodes) {
  const int each = divisor(nodes, 8);
  const int routers = divisor(nodes / each, 8);
  const int chassis = divisor(nodes / each / routers, 4);
  return {nodes / each / routers / chassis, chassis, routers, each};
}

}  // namespace

std::string described(const topology& t, int nodes) {
  if (t.kind == "fat-tree") {
    const auto [below, switches] = fat_tree_of(nodes);
    return formatted("fat-tree of {} switches with {} nodes", switches, below);
  }
  const auto [groups, chassis, routers, each] = dragonfly_of(nodes);
  return formatted("dragonfly of {} groups of {} x {} routers with {} nodes", groups, chassis,
                   routers, each);
}

#ifndef WEFT_HAS_SIMGRID

bool has_simgrid() noexcept {
  return false;
}
std::unique_ptr<breakdown::network> make_simgrid_network(const topology& t, int) {
  throw error(
      formatted("--topology {} needs SimGrid, without which this weft was built: install "
                "libsimgrid-dev and build again, or say --topology ideal",
                t.kind));
}
breakdown::simulated simulate_with_actors(const breakdown::pattern&,
                                          const breakdown::extrapolation&,
                                          const breakdown::machine&, const topology& t) {
  (void)make_simgrid_network(t, 1);
  return {};
}

#else

bool has_simgrid() noexcept {
  return true;
}

namespace {

namespace s4u = simgrid::s4u;
using namespace breakdown;

constexpr double seconds_of_ns = 1e-9;

// Nodes, and what lies between them.
class platform {
 public:
  platform(const topology& t, int nodes) {
    // A message takes the latency of its links and its share of their bandwidth, and nothing else.
    static std::vector<std::string> words{"weft-breakdown",
                                          "--log=root.thres:critical",
                                          "--cfg=network/model:CM02",
                                          "--cfg=network/crosstraffic:0",
                                          "--cfg=network/latency-factor:1",
                                          "--cfg=network/bandwidth-factor:1",
                                          "--cfg=network/TCP-gamma:0",
                                          "--cfg=network/weight-S:0",
                                          "--cfg=surf/precision:1e-12",
                                          "--cfg=contexts/stack-size:128"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int argc = static_cast<int>(words.size());
    engine_ = std::make_unique<s4u::Engine>(&argc, argv.data());
    const s4u::ClusterCallbacks each{
        [this](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
          s4u::Host* const host = zone->create_host(formatted("node-{}", id), 1e9);
          hosts_.push_back(host);
          return std::make_pair(host->get_netpoint(),
                                static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
        },
        {},
        {}};
    const auto number = [](int i) { return static_cast<unsigned>(i); };
    const double bandwidth = t.bytes_per_ns * 1e9;
    s4u::NetZone* const root = engine_->get_netzone_root();
    s4u::NetZone* zone = nullptr;
    if (t.kind == "fat-tree") {
      const auto [below, switches] = fat_tree_of(nodes);
      // As many links above a switch as below it.
      zone = s4u::create_fatTree_zone(
          "nodes", root, {2, {number(below), number(switches)}, {1, number(below)}, {1, 1}}, each,
          bandwidth, t.latency_ns / 2 * seconds_of_ns, s4u::Link::SharingPolicy::SPLITDUPLEX);
    } else {
      const auto [groups, chassis, routers, many] = dragonfly_of(nodes);
      zone = s4u::create_dragonfly_zone(
          "nodes", root,
          {{number(groups), 1}, {number(chassis), 1}, {number(routers), 1}, number(many)}, each,
          bandwidth, t.latency_ns / 2 * seconds_of_ns, s4u::Link::SharingPolicy::SPLITDUPLEX);
    }
    zone->seal();
  }

  [[nodiscard]] s4u::Host* node(int i) const { return hosts_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] s4u::Engine& engine() const noexcept { return *engine_; }

 private:
  std::unique_ptr<s4u::Engine> engine_;
  std::vector<s4u::Host*> hosts_;
};

class simgrid_network final : public network {
 public:
  simgrid_network(const topology& t, int nodes) : platform_(t, nodes), of_(t) {
    s4u::Activity::on_completion_cb([this](const s4u::Activity& a) { ended(a); });
  }

  [[nodiscard]] double now_ns() const override { return s4u::Engine::get_clock() / seconds_of_ns; }

  void at(double ns, const happening& h) override {
    simgrid::kernel::timer::Timer::set(std::max(ns * seconds_of_ns, s4u::Engine::get_clock()),
                                       [this, h] { (*handle_)(h); });
  }
  void send(int from_node, int to_node, std::uint64_t bytes, const happening& h) override {
    if (const double on_link = static_cast<double>(bytes) / of_.bytes_per_ns;
        on_link <= crowds_nothing_ns)
      return at(now_ns() + latency_ns(from_node, to_node) + on_link, h);
    s4u::CommPtr message =
        s4u::Comm::sendto_init(platform_.node(from_node), platform_.node(to_node));
    message->set_payload_size(std::max<std::uint64_t>(bytes, 1));
    const s4u::Activity* const key = message.get();
    under_way_.emplace(key, std::make_pair(message, h));
    message->start();
  }
  void run(const std::function<void(const happening&)>& handle) override {
    handle_ = &handle;
    platform_.engine().run();
  }

 private:
  // A message that a link has sent in such a time does not crowd it: a processor takes ten times as long to post the next one
  // ("Breaking Band"). It takes the latency of its way. What SimGrid needs for messages that share links grows with the square
  // of their number.
  static constexpr double crowds_nothing_ns = 20;

  [[nodiscard]] double latency_ns(int from_node, int to_node) {
    way_.clear();
    double seconds = 0;
    platform_.node(from_node)->route_to(platform_.node(to_node), way_, &seconds);
    return seconds / seconds_of_ns;
  }
  void ended(const s4u::Activity& a) {
    const auto found = under_way_.find(&a);
    if (found == under_way_.end()) return;
    const happening h = found->second.second;
    // It still runs itself.
    over_.push_back(std::move(found->second.first));
    under_way_.erase(found);
    at(now_ns(), h);
    if (over_.size() > 4096) over_.erase(over_.begin(), over_.end() - 16);
  }

  platform platform_;
  const topology of_;
  std::vector<s4u::Link*> way_;
  const std::function<void(const happening&)>* handle_ = nullptr;
  std::unordered_map<const s4u::Activity*, std::pair<s4u::CommPtr, happening> > under_way_;
  std::vector<s4u::CommPtr> over_;
};

// --- An actor for each rank ----------------------------------------------------------------------

class actors {
 public:
  actors(const pattern& p, const extrapolation& how, const machine& m, const topology& t)
      : p_(p),
        how_(how),
        m_(m),
        platform_(t, m.nodes),
        wakes_(static_cast<std::size_t>(m.ranks())) {
    if (m.workers_per_node != m.ranks_per_node)
      throw error("--actors has a worker for each rank: leave --workers-per-node out");
    for (const communicator_of_pattern& c : p.communicators)
      if (static_cast<int>(c.ranks.size()) != p.ranks())
        throw error("--actors knows collectives of all ranks only");
    for (const meeting_of_pattern& one : p.meetings)
      if (one.how != collective_relation::all)
        throw error(formatted("--actors knows collectives of all for all only, and {} has a root",
                              one.name));
    for (auto& wake : wakes_) wake = s4u::Semaphore::create(0);
  }

  simulated run() {
    for (int r = 0; r < m_.ranks(); ++r)
      s4u::Actor::create(formatted("rank-{}", r), platform_.node(r / m_.ranks_per_node),
                         [this, r] { rank(r); });
    platform_.engine().run();
    return result_;
  }

 private:
  using key = std::tuple<int, int, std::uint32_t>;

  void spend(double& debt) {
    if (debt > 0) s4u::this_actor::sleep_for(std::exchange(debt, 0) * seconds_of_ns);
  }
  [[nodiscard]] s4u::Semaphore& wake_of(int r) { return *wakes_[static_cast<std::size_t>(r)]; }

  template <class What>
  void note(std::map<key, What>& all, const key& name, What what) {
    all[name] = std::move(what);
    if (const auto found = waits_.find({&all, name}); found != waits_.end()) {
      wake_of(found->second).release();
      waits_.erase(found);
    }
  }
  template <class What>
  What await(std::map<key, What>& all, const key& name, int r) {
    if (!all.contains(name)) {
      waits_[{&all, name}] = r;
      wake_of(r).acquire();
    }
    What what = std::move(all.at(name));
    all.erase(name);
    return what;
  }
  void await_near(std::map<key, double>& all, const key& name, int r) {
    const double when = await(all, name, r);
    if (when > s4u::Engine::get_clock()) s4u::this_actor::sleep_until(when);
  }
  void send_far(const key& name, int from_node, int to_node, std::uint64_t bytes) {
    note(flying_, name,
         s4u::Comm::sendto_async(platform_.node(from_node), platform_.node(to_node),
                                 std::max<std::uint64_t>(bytes, 1)));
  }

  void rank(int r) {
    double debt = 0;
    const int node = r / m_.ranks_per_node;
    for (const step& s : p_.of_rank[static_cast<std::size_t>(how_.recorded(r))]) {
      const bool is_meeting =
          s.kind == step_kind::collective || s.kind == step_kind::come || s.kind == step_kind::met;
      const int other = is_meeting ? -1 : how_.peer(r, s.peer);
      const bool is_near = other >= 0 && other / m_.ranks_per_node == node;
      const message_cost cost = m_.cost(static_cast<double>(s.bytes));
      switch (s.kind) {
        case step_kind::compute:
          debt += s.ns;
          break;
        case step_kind::in_call:
          if (s.is_stolen) debt += s.ns;
          break;
        case step_kind::sleep:
          debt += s.ns;
          break;
        case step_kind::send:
          if (other < 0) break;
          if (is_near) {
            note(arrived_, {r, other, s.number},
                 s4u::Engine::get_clock() + (debt + cost.flight) * seconds_of_ns);
            debt += cost.post;
          } else {
            spend(debt);
            send_far({r, other, s.number}, node, other / m_.ranks_per_node, s.bytes);
            debt += m_.network_post;
          }
          ++result_.messages;
          break;
        case step_kind::post:
          if (other < 0) break;
          spend(debt);
          note(posted_, {other, r, s.number}, s4u::Engine::get_clock());
          break;
        case step_kind::receive:
          if (other < 0) break;
          spend(debt);
          if (is_near) {
            await_near(arrived_, {other, r, s.number}, r);
            debt += cost.deliver;
          } else {
            await(flying_, {other, r, s.number}, r)->wait();
            debt += m_.network_deliver;
          }
          break;
        case step_kind::found:
        case step_kind::caused:
        case step_kind::come:
        case step_kind::met:
          break;
        case step_kind::taken:
          if (other < 0) break;
          spend(debt);
          await_near(posted_, {r, other, s.number}, r);
          break;
        case step_kind::collective:
          spend(debt);
          meet(r, node, s);
          break;
      }
    }
    spend(debt);
    result_.ns = std::max(result_.ns, s4u::Engine::get_clock() / seconds_of_ns);
  }

  // The last to come speaks for its node.
  void meet(int r, int node, const step& s) {
    const meeting_of_pattern& kind = p_.meetings[static_cast<std::size_t>(s.peer)];
    std::vector<int>& here = meetings_[{s.peer, node}];
    here.push_back(r);
    if (static_cast<int>(here.size()) < m_.ranks_per_node) return wake_of(r).acquire();
    const double meeting = meeting_ns(m_, m_.ranks_per_node, s.bytes) * seconds_of_ns;
    s4u::this_actor::sleep_for(meeting);
    for (int k = 0; k < rounds_between(m_.nodes); ++k) {
      const int to = (node + (1 << k)) % m_.nodes;
      const std::uint64_t bytes =
          bytes_of_round(kind.name, kind.bytes, m_.ranks_per_node, m_.nodes, k);
      const auto round = static_cast<std::uint32_t>(k);
      send_far({-1 - s.peer, to, round}, node, to, bytes);
      await(flying_, {-1 - s.peer, node, round}, r)->wait();
      s4u::this_actor::sleep_for((m_.network_post + m_.network_deliver) * seconds_of_ns);
    }
    s4u::this_actor::sleep_for(meeting_ns(m_, m_.ranks_per_node, kind.bytes) * seconds_of_ns);
    for (const int other : here)
      if (other != r) wake_of(other).release();
    meetings_.erase({s.peer, node});
  }

  const pattern& p_;
  const extrapolation& how_;
  const machine& m_;
  platform platform_;
  std::vector<s4u::SemaphorePtr> wakes_;
  std::map<key, double> arrived_, posted_;
  std::map<key, s4u::CommPtr> flying_;
  std::map<std::pair<const void*, key>, int> waits_;
  std::map<std::pair<int, int>, std::vector<int> > meetings_;
  simulated result_;
};

}  // namespace

std::unique_ptr<breakdown::network> make_simgrid_network(const topology& t, int nodes) {
  return std::make_unique<simgrid_network>(t, nodes);
}

breakdown::simulated simulate_with_actors(const pattern& p, const extrapolation& how,
                                          const machine& m, const topology& t) {
  return actors(p, how, m, t).run();
}

#endif

}  // namespace weft
