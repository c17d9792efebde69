#include "mpi/type_ledger.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mpi/datatype_elements.hpp"
#include "rank/checks.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

// The sequence of basic datatypes of some data. Long ones are not known.
class signature {
 public:
  signature() = default;
  signature(const datatype_object* type, MPI_Count count) {
    known_ = type != nullptr;
    if (known_) add(*type, static_cast<std::uint64_t>(count));
  }

  // Whether `received` may hold what was sent as this: the same basic datatypes, perhaps more.
  [[nodiscard]] bool fits(const signature& received) const {
    if (!known_ || !received.known_ || has_octets() || received.has_octets()) return true;
    std::size_t at = 0;
    std::uint64_t left = received.runs_.empty() ? 0 : received.runs_[0].count;
    for (const run& sent : runs_)
      for (std::uint64_t rest = sent.count; rest != 0;) {
        if (at == received.runs_.size()) return true;  // Cut off: told when it was received.
        if (received.runs_[at].type != sent.type) return false;
        const std::uint64_t both = std::min(rest, left);
        rest -= both;
        left -= both;
        if (left == 0 && ++at < received.runs_.size()) left = received.runs_[at].count;
      }
    return true;
  }

  [[nodiscard]] std::string text() const {
    std::string all;
    for (const run& r : runs_) {
      if (all.size() > 60) return all + ", ...";
      all += formatted("{}{} {}", all.empty() ? "" : ", ", r.count, printable(r.type->name));
    }
    return all.empty() ? "nothing" : all;
  }

 private:
  struct run {
    const datatype_object* type;
    std::uint64_t count;
  };
  static constexpr std::size_t runs_max = 256;

  void add(const datatype_object& type, std::uint64_t count) {
    if (type.size == 0 || count == 0 || !known_) return;
    if (type.made == nullptr && type.basic_count == 1) {
      if (!runs_.empty() && runs_.back().type == &type)
        runs_.back().count += count;
      else
        runs_.push_back({&type, count});
      return;
    }
    const std::vector<part> parts = parts_of(type);
    std::uint64_t octets = 0;
    for (const part& p : parts) octets += p.type->size * p.count;
    count *= type.size / octets;
    if (parts.size() == 1) return add(*parts[0].type, parts[0].count * count);
    for (std::uint64_t i = 0; i < count && known_; ++i) {
      for (const part& p : parts) add(*p.type, p.count);
      known_ = runs_.size() <= runs_max;
    }
  }
  // MPI_BYTE and MPI_PACKED: what the octets mean is left open.
  [[nodiscard]] bool has_octets() const {
    return std::ranges::any_of(runs_, [](const run& r) {
      return r.type == find_predefined(MPI_BYTE) || r.type == find_predefined(MPI_PACKED);
    });
  }

  bool known_ = false;
  std::vector<run> runs_;
};

struct received_as {
  std::uint64_t turn;
  signature what;
  const char* collective = nullptr;  // Null: a message.
};
struct stream {
  std::vector<signature> sent;
  std::vector<received_as> received;
  bool told = false;  // Once is enough.
};
// Of what is given and taken in collectives.
constexpr int collective_tag = -2;

// Communicator, the sender's number in it, the receiver's in the world, tag.
using stream_key = std::tuple<std::uint32_t, int, int, int>;

struct ledger {
  std::uint64_t turns = 0;  // Of receives, in the order in which they were posted.
  std::map<stream_key, stream> streams;
  std::map<const operation*, received_as> posted;
};

std::mutex lock;
// By job: several may be checked in one process. A rank's part goes when it has been compared.
std::map<const job*, ledger>& ledgers() {
  static std::map<const job*, ledger> all;
  return all;
}
ledger& ledger_of(state& me) {
  return ledgers()[me.rank.of];
}

// Compares what was received before `turn` with what was sent, and forgets both.
void settle(state& me, const stream_key& key, stream& s, std::uint64_t turn) {
  std::ranges::sort(s.received, {}, &received_as::turn);
  std::size_t both = 0;
  while (both < s.sent.size() && both < s.received.size() && s.received[both].turn < turn) {
    const signature& sent = s.sent[both];
    const received_as& received = s.received[both];
    ++both;
    if (sent.fits(received.what) || std::exchange(s.told, true)) continue;
    const auto& [context, source, receiver, tag] = key;
    me.rank.of->checks->add(
        {finding::kind::error,
         formatted(
             "rank {} {} as {} what {} {} as {}, {}: name the same basic datatypes on both sides",
             receiver, received.collective == nullptr ? "received" : "took", received.what.text(),
             me.name_of_source(context, source), received.collective == nullptr ? "sent" : "gave",
             sent.text(),
             received.collective == nullptr ? formatted("tag {}", tag)
                                            : formatted("in {}", received.collective)),
         {}});
  }
  s.sent.erase(s.sent.begin(), s.sent.begin() + static_cast<std::ptrdiff_t>(both));
  s.received.erase(s.received.begin(), s.received.begin() + static_cast<std::ptrdiff_t>(both));
}

void add_sent(state& me, const envelope& from, int receiver, signature what) {
  const std::lock_guard hold(lock);
  ledger_of(me).streams[{from.context, from.source, receiver, from.tag}].sent.push_back(
      std::move(what));
}

void add_received(state& me, ledger& all, const stream_key& key, received_as what) {
  constexpr std::size_t received_max = 64;
  stream& s = all.streams[key];
  s.received.push_back(std::move(what));
  if (s.received.size() % received_max != 0) return;
  // A receive that was posted earlier may still take an earlier message; what collectives give, none.
  std::uint64_t first_open = all.turns + 1;
  if (std::get<3>(key) != collective_tag)
    for (const auto& [op, as] : all.posted)
      if (op->owner == &me.rank) first_open = std::min(first_open, as.turn);
  settle(me, key, s, first_open);
}

}  // namespace

void note_sent(state& me, const route& to, const datatype_object* type, MPI_Count count) {
  add_sent(me, to.of_send(), to.comm->shared->to(to.peer).number, signature(type, count));
}
void note_sent(state& me, const envelope& from, int receiver) {
  add_sent(me, from, receiver, {});
}

std::uint64_t take_turn(state& me) {
  const std::lock_guard hold(lock);
  return ++ledger_of(me).turns;
}

void note_received(state& me, std::uint64_t turn, std::uint32_t context,
                   const message_status& message, const datatype_object* type, MPI_Count count) {
  signature what(type, count);
  const std::lock_guard hold(lock);
  add_received(me, ledger_of(me), {context, message.source, me.rank.number, message.tag},
               {turn, std::move(what)});
}

void note_posted(state& me, const operation& op, const datatype_object* type, MPI_Count count) {
  signature what(type, count);
  const std::lock_guard hold(lock);
  ledger& all = ledger_of(me);
  all.posted[&op] = {++all.turns, std::move(what)};
}

void note_concluded(state& me, const operation& op) {
  const std::lock_guard hold(lock);
  ledger& all = ledger_of(me);
  const auto found = all.posted.find(&op);
  if (found == all.posted.end()) return;
  received_as what = std::move(found->second);
  all.posted.erase(found);
  if (op.result.source >= 0)  // Not cancelled.
    add_received(me, all, {op.match.context, op.result.source, me.rank.number, op.result.tag},
                 std::move(what));
}

void note_asked_back(state& me, const operation& op, int receiver) {
  const std::lock_guard hold(lock);
  ledger_of(me).streams[{op.match.context, op.match.source, receiver, op.match.tag}].told = true;
}

void note_given(state& me, const communicator_object& c, int taker, const datatype_object& type,
                MPI_Count count) {
  const peer& to = c.shared->to(taker);
  if (to.worker == distant_worker) return;
  add_sent(me, {c.shared->context, c.own, collective_tag}, to.number, signature(&type, count));
}

void note_taken(state& me, const communicator_object& c, const char* call, int giver,
                const datatype_object& type, MPI_Count count) {
  if (c.shared->to(giver).worker == distant_worker) return;
  signature what(&type, count);
  const std::lock_guard hold(lock);
  ledger& all = ledger_of(me);
  add_received(me, all, {c.shared->context, giver, me.rank.number, collective_tag},
               {++all.turns, std::move(what), call});
}

void note_reduced(state& me, const communicator_object& c, const char* call, int leader,
                  const datatype_object& type, MPI_Count count) {
  if (c.own != leader) return note_given(me, c, leader, type, count);
  for (int r = 0; r < c.peers_count; ++r)
    if (r != leader) note_taken(me, c, call, r, type, count);
}

void compare_types(state& me) {
  const std::lock_guard hold(lock);
  ledger& all = ledger_of(me);
  for (auto at = all.streams.begin(); at != all.streams.end();) {
    if (std::get<2>(at->first) != me.rank.number) {
      ++at;
      continue;
    }
    settle(me, at->first, at->second, all.turns + 1);
    at = all.streams.erase(at);
  }
  if (all.streams.empty() && all.posted.empty()) ledgers().erase(me.rank.of);
}

}  // namespace weft::mpi
