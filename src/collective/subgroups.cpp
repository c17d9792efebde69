#include "collective/subgroups.hpp"
#include "collective/broken_communicator.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "collective/calls.hpp"
#include "collective/meetings.hpp"
#include "collective/peer_failure.hpp"
#include "collective/remote_subgroups.hpp"
#include "collective/subgroups_meeting.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"
#include "rank/remote.hpp"

namespace weft::detail {
namespace {

struct small_message {
  call_on_wire call;
  std::byte data[small_bytes_max];
};

[[nodiscard]] rank_state& leader_of(communicator_state& c) noexcept {
  return *c.at(c.subgroups[static_cast<std::size_t>(c.here)].members[0]).rank;
}

[[nodiscard]] std::span<std::byte> first_bytes(small_message& m, std::size_t bytes) noexcept {
  return {reinterpret_cast<std::byte*>(&m), offsetof(small_message, data) + bytes};
}

}  // namespace

void check_subgroups_alive(communicator_state& c, const char* call) {
  if (c.revoked.load(std::memory_order_relaxed))
    throw_failed(c, call);  // Relaxed: it says only that.
  // In a job of one process the worker may have no device.
  if (!c.spans_processes()) return;
  const remote::port mine = remote::port::of(*worker::current());
  for (const subgroup& s : c.subgroups)
    if (!mine.is_alive(s.process)) [[unlikely]] {
      c.of.ways->wait_for_the_end(*worker::current());
      // A rank that calls again and again handles what comes: the communicator may be revoked.
      worker::current()->yield();
      if (c.revoked.load(std::memory_order_relaxed)) throw_failed(c, call);  // Relaxed: as above.
      throw coded_error(formatted("{} on {}: {}, which holds some of its ranks, is dead", call,
                                  name_of(c), c.of.ways->name_of_process(s.process)),
                        process_died);
    }
}

// --- Messages ------------------------------------------------------------------------------------

void subgroup_messages::send(int subgroup, int tag, std::span<const std::byte> data) {
  const int leader = c_.subgroups[static_cast<std::size_t>(subgroup)].members[0];
  const int mine = c_.subgroups[static_cast<std::size_t>(c_.here)].members[0];
  messages_.send(c_.to(leader), leader, {c_.context | hidden_context, mine, tag}, data);
}

void subgroup_messages::receive(int subgroup, int tag, std::span<std::byte> into) {
  const int leader = c_.subgroups[static_cast<std::size_t>(subgroup)].members[0];
  messages_.receive(leader_of(c_), {c_.context | hidden_context, leader, tag}, into);
}

void end_control_messages(worker& here, communicator_state& c) {
  rank_state& leader = leader_of(c);
  if (leader.home != &here) return;
  const std::uint32_t context = c.context | hidden_context;
  std::vector<operation*> waiting;
  leader.lists.each_posted([&](operation& op) {
    if (op.match.context == context) waiting.push_back(&op);
  });
  for (operation* op : waiting) {
    leader.lists.withdraw(*op);
    fail(here, *op);
  }
  // A refusal that finds no room handles other messages, which may lead back into this function: the list is searched
  // again after each.
  const auto oldest = [&] {
    unexpected_message* m = leader.lists.oldest();
    while (m != nullptr && m->from.context != context) m = match_lists::after(*m);
    return m;
  };
  while (unexpected_message* const m = oldest()) {
    leader.lists.remove(*m);
    refuse(here, leader, m);
  }
}

subgroup_messages::subgroup_messages(communicator_state& c, rank_state& speaker,
                                     const wait_description& what) noexcept
    : c_(c),
      what_(what),
      until_all_is_over_(speaker.home == leader_of(c).home ? &c : nullptr),
      messages_(speaker, what, lengths::any) {}

// When a communicator is cut off, messages under way are ended. These may have begun after that.
void subgroup_messages::begin_wait() {
  // Relaxed: if this is not set yet, the mail that ends them comes to this worker later.
  if (c_.cut_off.load(std::memory_order_relaxed)) [[unlikely]]
    end_control_messages(*messages_.speaker().home, c_);
}

void subgroup_messages::end_wait() {
  try {
    messages_.wait();
  } catch (const error&) {
    throw_reason(c_, messages_.speaker(), what_);
    throw;
  }
}

// Another subgroup refuses messages once it knows that the communicator is broken. It tells this subgroup first, but
// over another device, so the refusal may come first. When a transfer failed by itself, nothing comes. A refusal may
// also be due to the death of a third process, of which this process has not heard yet.
void throw_reason(communicator_state& c, rank_state& speaker, const wait_description& what) {
  worker& here = *speaker.home;
  const remote::port mine = remote::port::of(here);
  const auto is_told = [&] { return c.cut_off.load(std::memory_order_relaxed); };
  const auto any_is_dead = [&] {
    return std::ranges::any_of(c.subgroups,
                               [&](const subgroup& s) { return !mine.is_alive(s.process); });
  };
  const std::uint64_t until_ns = now_ns() + death_known_ns;
  const worker_device::awake watching(network::of(here));
  here.wait_until([&] { return is_told() || any_is_dead() || now_ns() >= until_ns; }, what);
  here.check_stopped();
  if (is_told()) throw_failed(c);
  check_subgroups_alive(c, what.call);
}

// --- Meetings ------------------------------------------------------------------------------------

void meet_subgroups(communicator_state& c, const collective_call& call, int rank,
                    const wait_description& what) {
  subgroups_meeting(c, call, rank, what).meet();
}

void reduce_over_subgroups(communicator_state& c, const collective_call& call, int rank,
                           const wait_description& what, const reduction& how, std::byte* data) {
  subgroups_meeting(c, call, rank, what).reduce(how, data);
}

// --- Small broadcasts ----------------------------------------------------------------------------

namespace {

[[nodiscard]] int broadcast_tag(std::uint64_t number) noexcept {
  return tag_of_broadcast | static_cast<int>(number % tag_of_broadcast);
}

// A binomial tree of `count`, counted from the root: `place` has the children place + 2^k, for all 2^k
// below its own lowest bit. Who has most to hand on comes first.
class binomial_tree {
 public:
  binomial_tree(int count, int root, int here) noexcept
      : count_(count), root_(root), place_((here - root + count) % count) {}
  [[nodiscard]] int parent() const noexcept { return (root_ + (place_ & (place_ - 1))) % count_; }
  template <class Visit>
  void each_child(const Visit& visit) const {
    const int lowest = place_ == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(count_)))
                                   : place_ & -place_;
    for (int step = lowest / 2; step != 0; step /= 2)
      if (place_ + step < count_) visit((root_ + place_ + step) % count_);
  }

 private:
  const int count_;
  const int root_;
  const int place_;
};

// The way of a small broadcast: a tree of the nodes' heads, then one within each node. The root's subgroup
// is the head of its node.
class broadcast_tree {
 public:
  broadcast_tree(const communicator_state& c, int root_subgroup) noexcept
      : c_(c),
        root_subgroup_(root_subgroup),
        root_node_(node_of(root_subgroup)),
        mates_(node_subgroups(c, c.here)),
        head_(head_of(node_of(c.here))),
        among_nodes_(static_cast<int>(c.nodes.size()), root_node_, node_of(c.here)),
        within_(static_cast<int>(mates_.size()), static_cast<int>(place_on_node(c, head_)),
                static_cast<int>(place_on_node(c, c.here))) {}

  [[nodiscard]] int parent() const noexcept {
    return c_.here == head_ ? head_of(among_nodes_.parent())
                            : mates_[static_cast<std::size_t>(within_.parent())];
  }
  template <class Visit>
  void each_child(const Visit& visit) const {
    if (c_.here == head_) among_nodes_.each_child([&](int node) { visit(head_of(node)); });
    within_.each_child([&](int place) { visit(mates_[static_cast<std::size_t>(place)]); });
  }

 private:
  [[nodiscard]] int node_of(int subgroup) const noexcept {
    return c_.node_of_subgroup[static_cast<std::size_t>(subgroup)];
  }
  [[nodiscard]] int head_of(int node) const noexcept {
    return node == root_node_ ? root_subgroup_ : c_.node_at(node)[0];
  }

  const communicator_state& c_;
  const int root_subgroup_;
  const int root_node_;
  const std::vector<int>& mates_;
  const int head_;
  const binomial_tree among_nodes_;
  const binomial_tree within_;
};

void send_to_children(communicator_state& c, subgroup_messages& messages, int root_subgroup,
                      std::uint64_t number, byte_view message) {
  broadcast_tree(c, root_subgroup).each_child([&](int subgroup) {
    messages.send(subgroup, broadcast_tag(number), message);
  });
}

}  // namespace

void send_broadcast(communicator_state& c, rank_state& root, const collective_call& call, int rank,
                    std::uint64_t number, std::span<const std::byte> data) {
  small_message message;
  message.call = on_wire(call, rank);
  if (!data.empty()) std::memcpy(message.data, data.data(), data.size());
  const wait_description what{call.name, c.context, call.root, -1, call.bytes, &c};
  subgroup_messages messages(c, root, what);
  send_to_children(c, messages, c.here, number, first_bytes(message, data.size()));
  messages.wait();
}

void receive_broadcast(communicator_state& c, const collective_call& call, int rank,
                       std::uint64_t number, const wait_description& what,
                       std::span<std::byte> data, const std::function<void()>& ask) {
  const int root_subgroup = c.subgroup_of(call.root);
  const int parent = broadcast_tree(c, root_subgroup).parent();
  small_message message;
  message.call = {};  // The other process may send less.
  subgroup_messages messages(c, leader_of(c), what);
  messages.receive(parent, broadcast_tag(number), first_bytes(message, data.size()));
  messages.wait([&] { ask(); });
  check_call(c, message.call, rank, call);
  send_to_children(c, messages, root_subgroup, number, first_bytes(message, data.size()));
  messages.wait();
  if (!data.empty()) std::memcpy(data.data(), message.data, data.size());
}

// The text about a broadcast whose root has sent to this subgroup, but that no rank here has received: the ranks here called
// another one. The leader's own call stands in its slot until the slot is used again.
std::string unmet_broadcast(const job& j) {
  for (const auto& of : j.ranks) {
    auto* const r = static_cast<rank_state*>(of.get());
    for (unexpected_message* m = r->lists.oldest(); m != nullptr; m = match_lists::after(*m)) {
      if ((m->from.context & hidden_context) == 0 || m->from.tag < tag_of_broadcast || m->rts ||
          m->bytes < offsetof(small_message, data))
        continue;
      const std::uint32_t context = m->from.context & ~hidden_context;
      if (is_of_broken(*r, m->from)) continue;
      call_on_wire theirs;
      std::memcpy(&theirs, m->data(), sizeof theirs);
      theirs.name[sizeof theirs.name - 1] = '\0';
      const collective_call call{theirs.name, theirs.root, true, theirs.bytes};
      const auto c = find_communicator(*r, context);
      std::string but = "no rank of process " + std::to_string(j.process) + " does";
      if (c != nullptr)
        for (std::uint64_t n = 1; n <= c->at(c->local()[0]).broadcasts; ++n)
          if (broadcast_tag(n) == m->from.tag && c->broadcasts->sent.holds(n)) {
            const contribution& mine = c->broadcasts->sent.content(n);
            if (!is_same(mine.call, call))
              but = "rank " + std::to_string(mine.rank) + " calls " + described(mine.call);
          }
      return "collective mismatch on " + communicator_name(r, context) + ": rank " +
             std::to_string(theirs.rank) + " calls " + described(call) + ", but " + but +
             ": all ranks must call the same collectives in the same order, with the same sizes";
    }
  }
  return {};
}

}  // namespace weft::detail
