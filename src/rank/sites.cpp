#include "rank/sites.hpp"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "rank/distant.hpp"
#include "rank/messages.hpp"

namespace weft::detail {
namespace {

// A call as it travels, so that those that differ are found.
struct call_on_wire {
  char name[32] = {};
  std::uint64_t bytes = 0;
  std::uint64_t history = 0;
  std::int32_t root = no_root;
  std::int32_t rank = -1;
  std::uint32_t same_size = 1;
  std::uint32_t unused = 0;
};
struct small_message {
  call_on_wire call;
  std::byte data[small_bytes_max];
};

void write_call(call_on_wire& to, const collective_call& call, int rank) noexcept {
  to = {};
  std::strncpy(to.name, call.name, sizeof to.name - 1);
  to.bytes = call.bytes;
  to.history = call.history;
  to.root = call.root;
  to.rank = rank;
  to.same_size = call.same_size ? 1 : 0;
}

void check_call(communicator_state& c, call_on_wire& theirs, int rank,
                const collective_call& mine) {
  theirs.name[sizeof theirs.name - 1] = '\0';
  check_same(c, theirs.rank,
             {theirs.name, theirs.root, theirs.same_size != 0, theirs.bytes, theirs.history}, rank,
             mine);
}

[[nodiscard]] rank_state& leader_of(communicator_state& c) noexcept {
  return *c.at(c.sites[static_cast<std::size_t>(c.here)].members[0]).rank;
}

[[nodiscard]] std::span<std::byte> first_octets(small_message& m, std::size_t bytes) noexcept {
  return {reinterpret_cast<std::byte*>(&m), offsetof(small_message, data) + bytes};
}

}  // namespace

// The other side of it is told that it failed.
void refuse(worker& here, rank_state& at, unexpected_message* m) {
  if (m->offered.distant != nullptr) m->offered.distant->ways->finish(here, m->offered.distant, true);
  m->offered.distant = nullptr;
  free_unexpected(at, m);
}

void check_sites_alive(const communicator_state& c, const char* call) {
  network& between = c.of.ways->between();
  const comm::device& device = network::of(*worker::current()).device();
  for (const site& s : c.sites)
    if (!device.is_alive(s.process)) [[unlikely]] {
      c.of.ways->wait_for_the_end(*worker::current());
      throw error(std::string(call) + " on communicator " + std::to_string(c.context) +
                  ": process " + std::to_string(s.process) + " on host " +
                  between.job().host_of(s.process) +
                  ", which holds some of its ranks, is dead");
    }
}

// --- Talk ----------------------------------------------------------------------------------------

void site_talk::send(int site, int tag, std::span<const std::byte> data) {
  const int leader = c_.sites[static_cast<std::size_t>(site)].members[0];
  const int mine = c_.sites[static_cast<std::size_t>(c_.here)].members[0];
  talk_.send(c_.to(leader), leader, {c_.context | hidden_context, mine, tag}, data);
}

void site_talk::receive(int site, int tag, std::span<std::byte> into) {
  const int leader = c_.sites[static_cast<std::size_t>(site)].members[0];
  talk_.receive(leader_of(c_), {c_.context | hidden_context, leader, tag}, into);
}

void end_talks(worker& here, communicator_state& c) {
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
  for (unexpected_message* m = leader.lists.oldest(); m != nullptr;) {
    unexpected_message* const old = std::exchange(m, match_lists::after(*m));
    if (old->from.context != context) continue;
    leader.lists.remove(*old);
    refuse(here, leader, old);
  }
}

site_talk::site_talk(communicator_state& c, rank_state& speaker,
                     const wait_description& what) noexcept
    : c_(c), talk_(speaker, what, lengths::any), leads_(speaker.home == leader_of(c).home) {
  c_.talks += leads_ ? 1 : 0;
}

// A communicator that was cut off has ended what was under way; this has just begun.
void site_talk::begin_wait() {
  // Relaxed: the mail, which ends it otherwise, comes to this worker later.
  if (c_.cut_off.load(std::memory_order_relaxed)) [[unlikely]] end_talks(*talk_.speaker().home, c_);
}

// --- Meetings ------------------------------------------------------------------------------------

namespace {

class sites_meeting {
 public:
  sites_meeting(communicator_state& c, const collective_call& call, int rank,
                const wait_description& what) noexcept
      : c_(c), call_(call), rank_(rank), talk_(c, leader_of(c), what) {
    write_call(out_.call, call, rank);
  }

  // Dissemination: after round k every site has heard of the 2^k before it.
  void meet() {
    const int sites = static_cast<int>(c_.sites.size());
    for (int step = 1; step < sites; step *= 2)
      exchange((c_.here + step) % sites, (c_.here - step + sites) % sites, 0);
  }

  // Recursive doubling between neighbours, so that blocks of sites are combined in their order, and
  // by the same calls on both sides. What exceeds a power of two is combined before, and told after.
  void reduce(const reduction& how, std::byte* data) {
    const int sites = static_cast<int>(c_.sites.size());
    const int me = c_.here;
    const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(sites)));
    const int extra = sites - power;
    const std::size_t bytes = how.bytes();
    std::memcpy(out_.data, data, bytes);
    const bool paired = me < 2 * extra;
    if (paired && me % 2 == 0) {
      exchange(me + 1, -1, bytes);
    } else {
      if (paired) {
        exchange(-1, me - 1, bytes);
        take(how, true);
      }
      const int mine = paired ? me / 2 : me - extra;
      for (int mask = 1; mask < power; mask *= 2) {
        const int other = mine ^ mask;
        const int partner = other < extra ? 2 * other + 1 : other + extra;
        exchange(partner, partner, bytes);
        take(how, partner < me);
      }
    }
    if (paired && me % 2 == 0) {
      exchange(-1, me + 1, bytes);
      std::memcpy(out_.data, in_.data, bytes);
    } else if (paired) {
      exchange(me - 1, -1, bytes);
    }
    std::memcpy(data, out_.data, bytes);
  }

 private:
  // Negative: to or from nobody.
  void exchange(int to, int from, std::size_t bytes) {
    if (from >= 0) talk_.receive(from, tag_of_meeting, first_octets(in_, bytes));
    if (to >= 0) talk_.send(to, tag_of_meeting, first_octets(out_, bytes));
    talk_.wait();
    if (from >= 0) check_call(c_, in_.call, rank_, call_);
  }
  void take(const reduction& how, bool theirs_first) {
    if (theirs_first) {
      how.combine(how.op, in_.data, out_.data, how.count);
      std::memcpy(out_.data, in_.data, how.bytes());
    } else {
      how.combine(how.op, out_.data, in_.data, how.count);
    }
  }

  communicator_state& c_;
  const collective_call& call_;
  const int rank_;
  // Aligned as what the operation combines may want.
  alignas(64) small_message out_;
  alignas(64) small_message in_;
  site_talk talk_;
};
static_assert(offsetof(small_message, data) % 64 == 0);

}  // namespace

void meet_sites(communicator_state& c, const collective_call& call, int rank,
                const wait_description& what, const reduction* how, std::byte* data) {
  sites_meeting meeting(c, call, rank, what);
  if (how == nullptr)
    meeting.meet();
  else
    meeting.reduce(*how, data);
}

// --- Small broadcasts ----------------------------------------------------------------------------

namespace {

[[nodiscard]] int broadcast_tag(std::uint64_t number) noexcept {
  return tag_of_broadcast | static_cast<int>(number % tag_of_broadcast);
}

// A binomial tree over the sites, counted from that of the root: site `place` has the children
// place + 2^k, for all 2^k below its own lowest bit.
void send_to_children(communicator_state& c, site_talk& talk, int root_site, std::uint64_t number,
                      octets message) {
  const int sites = static_cast<int>(c.sites.size());
  const int place = (c.here - root_site + sites) % sites;
  const int lowest = place == 0 ? sites : place & -place;
  for (int step = 1; step < lowest && place + step < sites; step *= 2)
    talk.send((root_site + place + step) % sites, broadcast_tag(number), message);
}

}  // namespace

void send_broadcast(communicator_state& c, rank_state& root, const collective_call& call, int rank,
                    std::uint64_t number, std::span<const std::byte> data) {
  small_message message;
  write_call(message.call, call, rank);
  if (!data.empty()) std::memcpy(message.data, data.data(), data.size());
  const wait_description what{call.name, c.context, call.root, -1, call.bytes, &c};
  site_talk talk(c, root, what);
  send_to_children(c, talk, c.here, number, first_octets(message, data.size()));
  talk.wait();
}

void receive_broadcast(communicator_state& c, const collective_call& call, int rank,
                       std::uint64_t number, const wait_description& what,
                       std::span<std::byte> data, const std::function<void()>& ask) {
  const int sites = static_cast<int>(c.sites.size());
  const int root_site = c.site_of(call.root);
  const int place = (c.here - root_site + sites) % sites;
  const int parent = (root_site + (place & (place - 1))) % sites;
  small_message message;
  site_talk talk(c, leader_of(c), what);
  talk.receive(parent, broadcast_tag(number), first_octets(message, data.size()));
  talk.wait([&] { ask(); });
  check_call(c, message.call, rank, call);
  send_to_children(c, talk, root_site, number, first_octets(message, data.size()));
  talk.wait();
  if (!data.empty()) std::memcpy(data.data(), message.data, data.size());
}

// A root has sent to this site what nobody here has received: the ranks here called another broadcast.
// What the leader called stands in its slot for a while.
std::string unmet_broadcast(job& j) {
  for (const auto& r : j.ranks)
    for (unexpected_message* m = r->lists.oldest(); m != nullptr; m = match_lists::after(*m)) {
      if ((m->from.context & hidden_context) == 0 || m->from.tag < tag_of_broadcast || m->offered ||
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
      return "collective mismatch on communicator " + std::to_string(context) + ": rank " +
             std::to_string(theirs.rank) + " calls " + described(call) + ", but " + but +
             ": all ranks must call the same collectives in the same order, with the same sizes";
    }
  return {};
}

}  // namespace weft::detail
