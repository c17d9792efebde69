#include "breakdown/simulation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

using std::size_t;
constexpr size_t at(std::int64_t i) noexcept {
  return static_cast<size_t>(i);
}

// A message, or the receive of one.
struct name_of_message {
  std::int32_t from, to;
  std::uint32_t number;
  bool operator==(const name_of_message&) const = default;
};
struct hash_of_name {
  size_t operator()(const name_of_message& m) const noexcept {
    const std::uint64_t a = std::uint64_t{static_cast<std::uint32_t>(m.from)} << 32 | m.number;
    return (a * 0x9e37'79b9'7f4a'7c15) ^ (static_cast<std::uint32_t>(m.to) * 0xd6e8'feb8'6659'fd93);
  }
};

// Ranks that meet, by node.
struct group {
  std::vector<std::int32_t> ranks;  // They are in their order, so node by node.
  std::vector<std::int32_t> nodes,
      first;  // The number of each node, and the index of its first rank above.
  std::unordered_map<std::int32_t, std::int32_t> index_of_node;
};

class engine {
 public:
  engine(const pattern& p, const extrapolation& how, const machine& m, network& net,
         const simulation_request& request)
      : p_(p), how_(how), m_(m), net_(net), request_(request), ranks_(at(m.ranks())) {
    workers_.resize(at(m.nodes) * at(m.workers_per_node));
    for (int r = 0; r < m_.ranks(); ++r) {
      rank_state& mine = ranks_[at(r)];
      mine.recorded = how.recorded(r);
      mine.worker =
          node_of(r) * m.workers_per_node + static_cast<int>(std::int64_t{r % m.ranks_per_node} *
                                                             m.workers_per_node / m.ranks_per_node);
    }
    groups_.resize(p.communicators.size());
  }

  simulated run() {
    for (int r = 0; r < m_.ranks(); ++r) make_ready(r);
    do net_.run([&](const happening& h) { handle(h); });
    while (free_stuck());
    for (const rank_state& r : ranks_) result_.ns = std::max(result_.ns, r.ended);
    return result_;
  }

 private:
  enum class state : std::uint8_t { ready, running, blocked, asleep, ended };
  struct rank_state {
    std::int32_t recorded = 0, worker = 0;
    std::uint32_t next = 0;  // Step.
    state is = state::ready;
    bool has_arrived = false;  // At the collective that is its next step.
    name_of_message waits_for{};
    double ended = 0;
    double debt = 0;  // Time that it has to spend before what comes next.
  };
  struct worker_state {
    bool busy = false;
    std::deque<std::int32_t> queue;
  };
  // A collective under way at one node.
  struct node_part {
    std::int32_t arrived = 0, left = 0;
    std::int32_t round = 0;
    std::uint32_t told = 0;  // Bits of rounds, or a count of children.
    bool is_combined = false, is_done = false;
  };
  struct meeting {
    std::int32_t of = 0;    // Its number in the pattern.
    std::int32_t root = 0;  // The index of its node.
    std::int32_t root_rank = -1;
    std::int32_t nodes_left = 0;
    const group* who = nullptr;
    std::vector<node_part> parts;
    std::vector<std::int32_t> waiting;
  };

  [[nodiscard]] int node_of(int rank) const noexcept { return rank / m_.ranks_per_node; }

  void handle(const happening& h) {
    switch (h.kind) {
      case happening::what::resume: {
        rank_state& r = ranks_[at(h.a)];
        if (r.is == state::asleep) return make_ready(h.a);
        return advance(h.a);
      }
      case happening::what::deliver:
        return deliver(arrived_, {h.a, h.b, static_cast<std::uint32_t>(h.c)});
      case happening::what::combined:
        return combined(h.c, h.a);
      case happening::what::told:
        return told(h.c, h.a, h.b);
      case happening::what::leave:
        return leave(h.c, h.a);
    }
  }

  // --- Workers ---

  void make_ready(int rank) {
    rank_state& r = ranks_[at(rank)];
    r.is = state::ready;
    worker_state& w = workers_[at(r.worker)];
    if (w.busy) return w.queue.push_back(rank);
    w.busy = true;
    r.is = state::running;
    // It resumes later, so that chains of ranks that wake each other need no stack.
    net_.at(net_.now_ns(), {happening::what::resume, rank});
  }
  void leave_worker(rank_state& r, state as) {
    r.is = as;
    worker_state& w = workers_[at(r.worker)];
    if (w.queue.empty()) {
      w.busy = false;
      return;
    }
    const int next = w.queue.front();
    w.queue.pop_front();
    ranks_[at(next)].is = state::running;
    net_.at(net_.now_ns(), {happening::what::resume, next});
  }

  // Lets the time pass that the rank owes; false: it goes on when that is over.
  bool settle(int rank, rank_state& r) {
    if (r.debt <= 0) return true;
    net_.at(net_.now_ns() + std::exchange(r.debt, 0), {happening::what::resume, rank});
    return false;
  }

  // What the rank does from now on, until it must wait.
  void advance(int rank) {
    rank_state& r = ranks_[at(rank)];
    const std::vector<step>& steps = p_.of_rank[at(r.recorded)];
    for (; r.next < steps.size(); ++r.next) {
      const step& s = steps[r.next];
      switch (s.kind) {
        case step_kind::compute: {
          const double ns = s.ns * request_.computation;
          r.debt += ns;
          result_.computing += ns;
          break;
        }
        case step_kind::in_call:
          // Messages cost here what they cost on that machine; the end of a loop is waited for.
          if (s.is_stolen) r.debt += s.ns * request_.computation;
          break;
        case step_kind::sleep:
          if (!settle(rank, r)) return;
          net_.at(net_.now_ns() + s.ns, {happening::what::resume, rank});
          ++r.next;
          return leave_worker(r, state::asleep);
        case step_kind::send:
          if (!send(rank, r, s)) return;
          break;
        case step_kind::post: {
          const int from = how_.peer(rank, s.peer);
          if (from < 0) break;
          if (!settle(rank, r)) return;
          deliver(posted_, {from, rank, s.number});
          break;
        }
        case step_kind::receive:
          if (!wait_for(rank, r, s, arrived_)) return;
          break;
        case step_kind::found:
          break;  // It waits in the receive that follows.
        case step_kind::caused:
          break;  // Which other rank brings it about there is not known.
        case step_kind::come:
        case step_kind::met:
          break;  // Taken to be hidden behind what goes on meanwhile.
        case step_kind::taken:
          if (!wait_for(rank, r, s, posted_)) return;
          break;
        case step_kind::collective:
          if (!meet(rank, r, s)) return;
          break;
      }
    }
    if (r.is == state::ended || !settle(rank, r)) return;
    r.ended = net_.now_ns();
    leave_worker(r, state::ended);
    if (request_.progress && (++ended_ % 256 == 0 || ended_ == m_.ranks()))
      request_.progress(ended_);
  }

  // --- Messages ---

  bool send(int rank, rank_state& r, const step& s) {
    const int to = how_.peer(rank, s.peer);
    if (to < 0) return true;
    const double bytes = static_cast<double>(s.bytes) * request_.message_bytes;
    const happening arrival{happening::what::deliver, rank, to, s.number};
    if (node_of(to) == node_of(rank)) {
      const message_cost c = m_.cost(bytes);
      net_.at(net_.now_ns() + r.debt + c.flight, arrival);
      r.debt += c.post;
    } else {
      if (!settle(rank, r)) return false;
      net_.send(node_of(rank), node_of(to), static_cast<std::uint64_t>(bytes), arrival);
      r.debt += m_.network_post;
      ++result_.between_nodes;
    }
    ++result_.messages;
    return true;
  }

  using notes = std::unordered_map<name_of_message, std::int32_t, hash_of_name>;
  static constexpr std::int32_t is_there = -1;

  // Notes that it has come, or wakes who waits for it.
  void deliver(notes& all, const name_of_message& name) {
    const auto [found, is_new] = all.try_emplace(name, is_there);
    if (is_new || found->second == is_there) return;
    const int waiter = found->second;
    found->second = is_there;
    make_ready(waiter);
  }
  bool wait_for(int rank, rank_state& r, const step& s, notes& all) {
    // The sender waits for the receiver's post; the names are those of the message in both cases.
    const bool receives = s.kind == step_kind::receive;
    const int other = how_.peer(rank, s.peer);
    if (other < 0) return true;
    if (!settle(rank, r)) return false;
    const name_of_message name{receives ? other : rank, receives ? rank : other, s.number};
    const auto [found, is_new] = all.try_emplace(name, rank);
    if (!is_new && found->second == is_there) {
      all.erase(found);
      if (receives)
        r.debt += node_of(other) == node_of(rank)
                      ? m_.cost(static_cast<double>(s.bytes) * request_.message_bytes).deliver
                      : m_.network_deliver;
      return true;
    }
    r.waits_for = name;
    leave_worker(r, state::blocked);
    return false;
  }

  // Patterns of ranks that do not do the same may leave some that wait for what nobody sends.
  bool free_stuck() {
    std::vector<int> stuck;
    for (notes* all : {&arrived_, &posted_})
      for (auto& [name, waiter] : *all)
        if (waiter != is_there) stuck.push_back(std::exchange(waiter, is_there));
    std::ranges::sort(stuck);
    result_.without_partner += stuck.size();
    for (const int rank : stuck) net_.at(net_.now_ns(), {happening::what::resume, rank});
    for (const int rank : stuck) ranks_[at(rank)].is = state::asleep;
    if (!stuck.empty()) return true;
    for (const rank_state& r : ranks_)
      if (r.is != state::ended)
        throw error(formatted(
            "{}: rank {} of {} never comes to its end: collectives that not all ranks call",
            p_.program, &r - ranks_.data(), m_.ranks()));
    return false;
  }

  // --- Collectives ---

  const group& group_of(int communicator) {
    auto& made = groups_[at(communicator)];
    if (made != nullptr) return *made;
    made = std::make_unique<group>();
    const auto& recorded = p_.communicators[at(communicator)].ranks;
    if (static_cast<int>(recorded.size()) == p_.ranks()) {
      made->ranks.resize(at(m_.ranks()));
      for (int r = 0; r < m_.ranks(); ++r) made->ranks[at(r)] = r;
    } else {
      made->ranks = recorded;
    }
    for (size_t i = 0; i < made->ranks.size(); ++i) {
      const int node = node_of(made->ranks[i]);
      if (!made->nodes.empty() && made->nodes.back() == node) continue;
      made->index_of_node[node] = static_cast<std::int32_t>(made->nodes.size());
      made->nodes.push_back(node);
      made->first.push_back(static_cast<std::int32_t>(i));
    }
    made->first.push_back(static_cast<std::int32_t>(made->ranks.size()));
    return *made;
  }
  [[nodiscard]] int ranks_at(const meeting& m, int place) const {
    return m.who->first[at(place) + 1] - m.who->first[at(place)];
  }
  [[nodiscard]] int nodes_of(const meeting& m) const noexcept {
    return static_cast<int>(m.parts.size());
  }

  // Many have the steps of the recorded root: the first of them is it.
  [[nodiscard]] int root_of(const meeting_of_pattern& kind, const group& who) const {
    for (const int rank : who.ranks)
      if (ranks_[at(rank)].recorded == kind.root) return rank;
    return who.ranks.front();
  }

  // False: the rank waits.
  bool meet(int rank, rank_state& r, const step& s) {
    if (std::exchange(r.has_arrived, false)) return true;
    const meeting_of_pattern& kind = p_.meetings[at(s.peer)];
    if (p_.communicators[at(kind.communicator)].ranks.size() < 2 && p_.ranks() > 1) return true;
    if (!settle(rank, r)) return false;
    const auto key = static_cast<std::uint64_t>(s.peer);
    meeting& m = meetings_[key];
    if (m.who == nullptr) {
      m.of = s.peer;
      m.who = &group_of(kind.communicator);
      m.parts.resize(m.who->nodes.size());
      m.nodes_left = static_cast<std::int32_t>(m.parts.size());
      m.waiting.assign(m.who->ranks.size(), 0);
      if (kind.how != collective_relation::all) {
        m.root_rank = root_of(kind, *m.who);
        m.root = m.who->index_of_node.at(node_of(m.root_rank));
      }
    }
    const int place = m.who->index_of_node.at(node_of(rank));
    const auto among = std::ranges::lower_bound(m.who->ranks, rank) - m.who->ranks.begin();
    const bool is_root = rank == m.root_rank;
    const bool gives = kind.how == collective_relation::from_root && is_root;
    const bool takes = kind.how == collective_relation::all ||
                       (kind.how == collective_relation::from_root && !is_root) ||
                       (kind.how == collective_relation::to_root && is_root);
    r.has_arrived = true;
    node_part& part = m.parts[at(place)];
    const bool all_here = ++part.arrived == ranks_at(m, place);
    m.waiting[at(among)] = takes ? 1 : 2;
    const double gather = meeting_ns(m_, ranks_at(m, place), s.bytes);
    if (kind.how == collective_relation::from_root) {
      if (gives) net_.at(net_.now_ns(), {happening::what::combined, place, 0, key});
    } else if (all_here) {
      net_.at(net_.now_ns() + gather, {happening::what::combined, place, 0, key});
    }
    if (!takes) {
      r.has_arrived = false;
      r.debt += m_.cost(static_cast<double>(s.bytes)).post;
      note_left(key, m, place);
      return true;
    }
    if (part.is_done) {
      // It comes after what it takes: no wait.
      r.has_arrived = false;
      r.debt += m_.cost(static_cast<double>(s.bytes)).deliver;
      m.waiting[at(among)] = 2;
      note_left(key, m, place);
      return true;
    }
    leave_worker(r, state::blocked);
    return false;
  }

  // The ranks of this node have met, or its root has come: what next between the nodes?
  void combined(std::uint64_t key, int place) {
    meeting& m = meetings_.at(key);
    m.parts[at(place)].is_combined = true;
    go_on(key, m, place);
  }
  void told(std::uint64_t key, int place, int round) {
    meeting& m = meetings_.at(key);
    node_part& part = m.parts[at(place)];
    switch (p_.meetings[at(m.of)].how) {
      case collective_relation::all:
        part.told |= 1U << round;
        break;
      case collective_relation::from_root:
        part.is_combined = true;
        break;
      case collective_relation::to_root:
        ++part.told;
        break;
    }
    go_on(key, m, place);
  }

  void say(std::uint64_t key, meeting& m, int from, int to, int round, std::uint64_t bytes) {
    ++result_.messages;
    ++result_.between_nodes;
    net_.send(m.who->nodes[at(from)], m.who->nodes[at(to)], bytes,
              {happening::what::told, to, round, key});
  }

  void go_on(std::uint64_t key, meeting& m, int place) {
    node_part& part = m.parts[at(place)];
    const meeting_of_pattern& kind = p_.meetings[at(m.of)];
    const int nodes = nodes_of(m);
    if (!part.is_combined || part.is_done) return;
    const int own = (place - m.root + nodes) % nodes;  // Counted from the root.
    switch (kind.how) {
      case collective_relation::all:
        // After round k each has heard of 2^k others.
        for (const int rounds = rounds_between(nodes);;) {
          if (part.round % 2 == 0) {
            if (part.round / 2 == rounds) break;
            say(key, m, place, (place + (1 << part.round / 2)) % nodes, part.round / 2,
                bytes_of_round(kind.name, kind.bytes, ranks_at(m, place), nodes, part.round / 2));
            ++part.round;
          }
          if ((part.told >> part.round / 2 & 1) == 0) return;
          ++part.round;
          if (m_.network_post + m_.network_deliver > 0) {
            // What its leader is busy with, before it goes on.
            part.is_combined = false;
            net_.at(net_.now_ns() + m_.network_post + m_.network_deliver,
                    {happening::what::combined, place, 0, key});
            return;
          }
        }
        break;
      case collective_relation::from_root:
        // Down a binomial tree.
        for (int k = own == 0 ? 0 : std::bit_width(static_cast<unsigned>(own));
             own + (1 << k) < nodes; ++k)
          say(key, m, place, (own + (1 << k) + m.root) % nodes, 0, kind.bytes);
        break;
      case collective_relation::to_root: {
        std::uint32_t children = 0;
        for (int k = own == 0 ? 0 : std::bit_width(static_cast<unsigned>(own));
             own + (1 << k) < nodes; ++k)
          ++children;
        if (part.told < children) return;
        if (own != 0)
          say(key, m, place,
              (own - (1 << (std::bit_width(static_cast<unsigned>(own)) - 1)) + m.root) % nodes, 0,
              kind.bytes);
        break;
      }
    }
    part.is_done = true;
    net_.at(net_.now_ns() + meeting_ns(m_, ranks_at(m, place), kind.bytes),
            {happening::what::leave, place, 0, key});
  }

  void leave(std::uint64_t key, int place) {
    meeting& m = meetings_.at(key);
    const std::int32_t first = m.who->first[at(place)], last = m.who->first[at(place) + 1];
    std::vector<int> go;
    for (std::int32_t i = first; i < last; ++i)
      if (m.waiting[at(i)] == 1) {
        m.waiting[at(i)] = 2;
        go.push_back(m.who->ranks[at(i)]);
      }
    m.parts[at(place)].left += static_cast<std::int32_t>(go.size());
    forget(key, m, place);
    for (const int rank : go) make_ready(rank);
  }
  void note_left(std::uint64_t key, meeting& m, int place) {
    ++m.parts[at(place)].left;
    forget(key, m, place);
  }
  // When all of its ranks have left it.
  void forget(std::uint64_t key, meeting& m, int place) {
    if (m.parts[at(place)].left != ranks_at(m, place) || !m.parts[at(place)].is_done) return;
    m.parts[at(place)].left = -1;
    if (--m.nodes_left == 0) done_.push_back(key);
    // Only when nothing refers to them any more.
    if (done_.size() > 8) {
      meetings_.erase(done_.front());
      done_.pop_front();
    }
  }

  const pattern& p_;
  const extrapolation& how_;
  const machine& m_;
  network& net_;
  const simulation_request& request_;
  std::vector<rank_state> ranks_;
  std::vector<worker_state> workers_;
  std::vector<std::unique_ptr<group>> groups_;
  std::unordered_map<std::uint64_t, meeting> meetings_;
  std::deque<std::uint64_t> done_;
  notes arrived_, posted_;
  int ended_ = 0;
  simulated result_;
};

}  // namespace

int rounds_between(int nodes) noexcept {
  return nodes <= 1 ? 0 : std::bit_width(static_cast<unsigned>(nodes - 1));
}

std::uint64_t bytes_of_round(std::string_view call, std::uint64_t bytes, int ranks_per_node,
                             int nodes, int round) noexcept {
  const auto has = [&](std::string_view word) { return call.find(word) != call.npos; };
  const auto each = static_cast<std::uint64_t>(ranks_per_node);
  if (has("lltoall")) return bytes * each * each * static_cast<std::uint64_t>(nodes) / 2;
  if (has("llgather") || has("collect")) return bytes * each << round;
  return has("arrier") ? 0 : bytes;
}

double meeting_ns(const machine& m, int ranks, std::uint64_t bytes) noexcept {
  // The ranks meet in groups of eight: one rank reads the others of its group, then the groups meet likewise.
  constexpr int width = 8;
  const message_cost c = m.cost(static_cast<double>(bytes));
  double ns = 0;
  for (int left = ranks; left > 1; left = (left + width - 1) / width)
    ns += c.flight + std::min(left, width) * c.deliver;
  return ns;
}

pattern pattern_of_collective(const std::string& name, std::uint64_t bytes, int repeat) {
  struct known {
    std::string_view name, call;
    collective_relation how;
  };
  constexpr std::array all{known{"allreduce", "MPI_Allreduce", collective_relation::all},
                           known{"barrier", "MPI_Barrier", collective_relation::all},
                           known{"allgather", "MPI_Allgather", collective_relation::all},
                           known{"alltoall", "MPI_Alltoall", collective_relation::all},
                           known{"broadcast", "MPI_Bcast", collective_relation::from_root},
                           known{"reduce", "MPI_Reduce", collective_relation::to_root}};
  const auto found = std::ranges::find(all, name, &known::name);
  if (found == all.end()) {
    std::string names;
    for (const known& one : all) names += formatted("{}{}", names.empty() ? "" : ", ", one.name);
    throw error(formatted(
        "{}: neither an event file (its name ends in .events) nor a collective; those are {}", name,
        names));
  }
  pattern p;
  p.program = name;
  p.worker_of_rank = {0};
  p.communicators = {{{0}}};
  p.of_rank.resize(1);
  for (int i = 0; i < repeat; ++i) {
    p.meetings.push_back({0, 0, found->how, bytes, std::string(found->call)});
    step made;
    made.kind = step_kind::collective;
    made.peer = i;
    made.bytes = bytes;
    p.of_rank[0].push_back(made);
  }
  return p;
}

simulated simulate(const pattern& p, const extrapolation& how, const machine& m, network& net,
                   const simulation_request& request) {
  return engine(p, how, m, net, request).run();
}

}  // namespace weft::breakdown
