#include "mpi/point_to_point/type_ledger.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "diagnosis/checks.hpp"
#include "mpi/datatype/datatype_elements.hpp"
#include "mpi/datatype/overlap.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

// How notes travel: as words, of which a reader takes no more than there are.
class word_reader {
 public:
  explicit word_reader(std::span<const std::uint64_t> words) : words_(words) {}
  [[nodiscard]] bool at_end() const noexcept { return words_.empty(); }
  std::uint64_t next() noexcept {
    if (words_.empty()) return 0;
    const std::uint64_t word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }

 private:
  std::span<const std::uint64_t> words_;
};

// The sequence of basic datatypes of some data. Long ones are not known.
class signature {
 public:
  signature() = default;
  signature(const datatype_object* type, MPI_Count count) {
    known_ = type != nullptr;
    if (known_) add(*type, static_cast<std::uint64_t>(count));
    if (!known_) runs_.clear();
  }
  explicit signature(word_reader& words) {
    const std::uint64_t size = words.next();
    known_ = size != 0 && size <= runs_max + 1;
    for (std::uint64_t i = 1; known_ && i < size; ++i) {
      const auto type = static_cast<std::uint8_t>(words.next());
      runs_.push_back({type, words.next()});
    }
  }
  void append_to(std::vector<std::uint64_t>& words) const {
    words.push_back(known_ ? runs_.size() + 1 : 0);
    if (!known_) return;
    for (const run& r : runs_) words.insert(words.end(), {r.type, r.count});
  }

  friend bool operator==(const signature&, const signature&) = default;

  // Whether `received` may hold what was sent as this: the same basic datatypes, perhaps more.
  [[nodiscard]] bool fits(const signature& received) const {
    if (!known_ || !received.known_ || has_bytes() || received.has_bytes()) return true;
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
      all += formatted("{}{} {}", all.empty() ? "" : ", ", r.count,
                       printable(predefined_types[r.type].name));
    }
    return all.empty() ? "nothing" : all;
  }

 private:
  struct run {
    std::uint8_t type;  // Of the predefined ones.
    std::uint64_t count;
    friend bool operator==(const run&, const run&) = default;
  };
  static constexpr std::size_t runs_max = 256;

  void add(const datatype_object& type, std::uint64_t count) {
    if (type.size == 0 || count == 0 || !known_) return;
    if (type.made == nullptr && type.basic_count == 1) {
      const auto number = static_cast<std::uint8_t>(&type - predefined_types);
      if (!runs_.empty() && runs_.back().type == number)
        runs_.back().count += count;
      else
        runs_.push_back({number, count});
      return;
    }
    const std::vector<part> parts = parts_of(type);
    std::uint64_t bytes = 0;
    for (const part& p : parts) bytes += p.type->size * p.count;
    count *= type.size / bytes;
    if (parts.size() == 1) return add(*parts[0].type, parts[0].count * count);
    for (std::uint64_t i = 0; i < count && known_; ++i) {
      for (const part& p : parts) add(*p.type, p.count);
      known_ = runs_.size() <= runs_max;
    }
  }
  // MPI_BYTE and MPI_PACKED: what the bytes mean is left open.
  [[nodiscard]] bool has_bytes() const {
    return std::ranges::any_of(runs_, [](const run& r) {
      return r.type == (value_of(MPI_BYTE) & 0xff) || r.type == (value_of(MPI_PACKED) & 0xff);
    });
  }

  bool known_ = false;
  std::vector<run> runs_;
};

// Messages as their datatypes were named; so many alike follow one another.
struct named_messages {
  signature what;
  const char* collective = nullptr;  // Of received ones. Null: messages.
  std::uint64_t count = 1;
};

// All that were sent or received between two ranks with one tag, in their order.
class sequence {
 public:
  void add(named_messages more) {
    if (cut_) return;
    if (!runs_.empty() && runs_.back().what == more.what &&
        runs_.back().collective == more.collective)
      runs_.back().count += more.count;
    else if (runs_.size() < noted_datatypes_max)
      runs_.push_back(std::move(more));
    else
      cut_ = true;
  }
  // Nothing of it is known any more.
  void give_up() {
    runs_.clear();
    cut_ = true;
  }

  // Calls differ(sent, received) for the first that do not fit.
  template <class Differ>
  void compare(const sequence& received, const Differ& differ) const {
    auto sent = runs_.begin();
    auto taken = received.runs_.begin();
    std::uint64_t of_sent = 0, of_taken = 0;  // How many of either have had their turn.
    while (sent != runs_.end() && taken != received.runs_.end()) {
      if (!sent->what.fits(taken->what)) return differ(sent->what, *taken);
      const std::uint64_t both = std::min(sent->count - of_sent, taken->count - of_taken);
      of_sent += both;
      of_taken += both;
      if (of_sent == sent->count) {
        ++sent;
        of_sent = 0;
      }
      if (of_taken == taken->count) {
        ++taken;
        of_taken = 0;
      }
    }
  }

  explicit sequence(word_reader& words) {
    for (std::uint64_t left = words.next(); left != 0 && !words.at_end(); --left) {
      const std::uint64_t count = std::max<std::uint64_t>(words.next(), 1);
      add({signature(words), nullptr, count});
    }
  }
  void append_to(std::vector<std::uint64_t>& words) const {
    words.push_back(runs_.size());
    for (const named_messages& m : runs_) {
      words.push_back(m.count);
      m.what.append_to(words);
    }
  }
  sequence() = default;

 private:
  std::vector<named_messages> runs_;
  bool cut_ = false;  // What comes later is not noted.
};

// Of what is given and taken in collectives; those of other ways lie below.
constexpr int collective_tag = -2;

}  // namespace

class type_ledger {
 public:
  struct received_as {
    std::uint64_t turn;
    named_messages what;
  };
  struct posted {
    envelope wanted;
    received_as as;
    diagnosis::call_list calls;  // Where.
  };
  // What a receiver can tell apart.
  struct origin {
    std::uint32_t context;
    int source;  // In the communicator.
    int tag;
    friend auto operator<=>(const origin&, const origin&) = default;
  };

  // `receiver` is that in the world.
  void add_sent(int receiver, const envelope& from, signature what) {
    if (sequence* const sent = find_or_add(sent_, key_of(receiver, from)); sent != nullptr)
      sent->add({std::move(what)});
  }
  void give_up(int receiver, const envelope& from) {
    if (const auto sent = sent_.find(key_of(receiver, from)); sent != sent_.end())
      sent->second.give_up();
  }

  [[nodiscard]] std::uint64_t take_turn() noexcept { return ++turns_; }
  void post(const state& me, const operation& op, signature what) {
    posted& mine = note_open(&op, op.match, std::move(what));
    if (const request_watch::entry* const known = me.rank.watch->find(op); known != nullptr)
      mine.calls = known->calls;
  }
  void match(const unexpected_message& m) { (void)note_open(&m, m.from, {}); }
  void receive_matched(state& me, const unexpected_message& m, signature what) {
    const auto found = posted_.find(&m);
    const std::uint64_t turn = found->second.as.turn;
    order(me, m.from, {turn, is_first(turn), true, m.from.tag, "MPI_Mrecv", {}});
    posted_.erase(found);
    add_received({m.from.context, m.from.source, m.from.tag}, {turn, {std::move(what)}});
  }
  // The operation's memory is another persistent request's only after that one has been made.
  void make(const operation& op, signature what) { made_[&op] = std::move(what); }
  void start(const state& me, const operation& op, int receiver) {
    if (op.what == operation::kind::recv)
      post(me, op, made_[&op]);
    else
      add_sent(receiver, op.match, made_[&op]);
  }
  void conclude(state& me, const operation& op) {
    const auto found = posted_.find(&op);
    if (found == posted_.end()) return;
    received_as what = std::move(found->second.as);
    const bool names_source = found->second.wanted.source != any_source;
    diagnosis::call_list calls = std::move(found->second.calls);
    posted_.erase(found);
    if (op.result.source < 0) return;  // Cancelled.
    order(me, {op.match.context, op.result.source, op.result.tag},
          {what.turn, is_first(what.turn), names_source, op.match.tag, "MPI_Irecv",
           std::move(calls)});
    add_received({op.match.context, op.result.source, op.result.tag}, std::move(what));
  }
  // What the sender had done before it sent happened before what the receiver does now.
  static void order(state& me, const envelope& message, const diagnosis::race_watch::receive& by) {
    if (diagnosis::race_watch* const races = races_of(me); races != nullptr)
      races->received({message.context, message.source, me.rank.number, message.tag}, by);
  }
  // Whether no receive that was posted sooner is open.
  [[nodiscard]] bool is_first(std::uint64_t turn) const {
    return std::ranges::none_of(posted_, [&](const auto& p) { return p.second.as.turn < turn; });
  }
  void add_received(const origin& from, received_as what) {
    constexpr std::size_t unordered_max = 64;
    arrivals* const a = find_or_add(received_, from);
    if (a == nullptr) return;
    a->unordered.push_back(std::move(what));
    if (a->unordered.size() % unordered_max != 0) return;
    // A receive that was posted earlier may still take an earlier message.
    std::uint64_t first_open = turns_ + 1;
    if (from.tag >= 0)
      for (const auto& [key, open] : posted_)
        if (matches(open.wanted, {from.context, from.source, from.tag}))
          first_open = std::min(first_open, open.as.turn);
    a->put_in_order(first_open);
  }

  void compare(state& me) {
    for (auto& [from, a] : received_) a.put_in_order(turns_ + 1);
    const std::vector<std::uint64_t> arrived = exchange(*me.world);
    for (word_reader words(arrived); !words.at_end();) {
      const std::uint64_t first = words.next();
      const origin from{static_cast<std::uint32_t>(first >> 32), static_cast<int>(first),
                        static_cast<int>(words.next())};
      const sequence sent(words);
      sent.compare(received_[from].ordered, [&](const signature& one, const named_messages& other) {
        report(me, from, one, other);
      });
    }
  }

 private:
  posted& note_open(const void* what, const envelope& wanted, signature of) {
    posted& mine = posted_[what];
    mine.wanted = wanted;
    mine.as.turn = take_turn();
    mine.as.what = {std::move(of)};
    mine.calls.clear();
    return mine;
  }

  struct arrivals {
    sequence ordered;
    std::vector<received_as> unordered;
    // Those whose turn was before `turn`.
    void put_in_order(std::uint64_t turn) {
      std::ranges::sort(unordered, {}, &received_as::turn);
      const auto end = std::ranges::lower_bound(unordered, turn, {}, &received_as::turn);
      for (auto at = unordered.begin(); at != end; ++at) ordered.add(std::move(at->what));
      unordered.erase(unordered.begin(), end);
    }
  };

  [[nodiscard]] static std::pair<int, origin> key_of(int receiver, const envelope& from) {
    return {receiver, {from.context, from.source, from.tag}};
  }
  // Null: there are too many already. What is not noted on one side is not compared.
  template <class Key, class Value>
  [[nodiscard]] static Value* find_or_add(std::map<Key, Value>& all, const Key& key) {
    if (const auto found = all.find(key); found != all.end()) return &found->second;
    return all.size() < noted_datatypes_max ? &all[key] : nullptr;
  }

  // Tells each rank what this one has sent to it; returns what all have sent to this one.
  [[nodiscard]] std::vector<std::uint64_t> exchange(const communicator_object& world) const {
    std::vector<std::uint64_t> words;
    std::vector<std::size_t> counts(static_cast<std::size_t>(world.peers_count));
    for (const auto& [to, messages] : sent_) {  // In the order of receivers.
      const auto& [receiver, from] = to;
      if (receiver >= world.peers_count)
        break;  // The rest went to other jobs, which compare nothing.
      const std::size_t before = words.size();
      words.push_back(std::uint64_t{from.context} << 32 | static_cast<std::uint32_t>(from.source));
      words.push_back(static_cast<std::uint32_t>(from.tag));
      messages.append_to(words);
      counts[static_cast<std::size_t>(receiver)] += words.size() - before;
    }
    return world.ranks.alltoallv(words, counts);
  }

  static void report(state& me, const origin& from, const signature& sent,
                     const named_messages& received) {
    const bool message = received.collective == nullptr;
    me.rank.of->checks->add(
        {diagnosis::finding::kind::error,
         formatted(
             "rank {} {} as {} what {} {} as {}, {}: name the same basic datatypes on both sides",
             me.rank.number, message ? "received" : "took", received.what.text(),
             me.name_of_source(from.context, from.source), message ? "sent" : "gave", sent.text(),
             message ? formatted("tag {}", from.tag) : formatted("in {}", received.collective)),
         {}});
  }

  std::uint64_t turns_ = 0;  // Of receives, in the order in which they were posted.
  std::map<std::pair<int, origin>, sequence> sent_;
  std::map<origin, arrivals> received_;
  std::map<const void*, posted> posted_;  // By operation, or by message that was taken out.
  std::map<const operation*, signature> made_;
};

namespace {

type_ledger& ledger_of(state& me) {
  if (me.types == nullptr) me.types = std::make_shared<type_ledger>();
  return *me.types;
}

// What a rank has done up to now happened before what the receiver does with the message.
void publish(state& me, int receiver, const envelope& message) {
  if (diagnosis::race_watch* const races = races_of(me); races != nullptr)
    races->sent({message.context, message.source, receiver, message.tag}, me.rank.number);
}

}  // namespace

void note_sent(state& me, const route& to, const datatype_object* type, MPI_Count count) {
  const int receiver = to.comm->shared->to(to.peer).number;
  publish(me, receiver, to.of_send());
  ledger_of(me).add_sent(receiver, to.of_send(), {type, count});
}

void note_answered(state& me, const route& to) {
  if (diagnosis::race_watch* const races = races_of(me); races != nullptr)
    races->take_from(me.rank.number, to.comm->shared->to(to.peer).number);
}

std::uint64_t take_turn(state& me) {
  return ledger_of(me).take_turn();
}

void note_received(state& me, std::uint64_t turn, const route& from, const message_status& message,
                   MPI_Count count, const char* call) {
  type_ledger& mine = ledger_of(me);
  const envelope wanted = from.of_receive();
  type_ledger::order(me, {wanted.context, message.source, message.tag},
                     {turn, mine.is_first(turn), wanted.source != any_source, wanted.tag, call,
                      races_of(me) != nullptr ? diagnosis::calls_here() : diagnosis::call_list()});
  mine.add_received({wanted.context, message.source, message.tag},
                    {turn, {signature(from.type, count)}});
}

void note_posted(state& me, const operation& op, const datatype_object* type, MPI_Count count) {
  ledger_of(me).post(me, op, {type, count});
}

void note_made(state& me, const operation& op, const datatype_object* type, MPI_Count count) {
  ledger_of(me).make(op, {type, count});
}

void note_started(state& me, const operation& op, int receiver) {
  if (op.what == operation::kind::send) publish(me, receiver, op.match);
  ledger_of(me).start(me, op, receiver);
}

void note_concluded(state& me, const operation& op) {
  ledger_of(me).conclude(me, op);
}

void note_matched(state& me, const unexpected_message& m) {
  ledger_of(me).match(m);
}

void note_matched_received(state& me, const unexpected_message& m, const datatype_object* type,
                           MPI_Count count) {
  ledger_of(me).receive_matched(me, m, {type, count});
}

void note_lost(state& me, int receiver, const envelope& from) {
  if (diagnosis::race_watch* const races = races_of(me); races != nullptr)
    races->lost({from.context, from.source, receiver, from.tag});
  ledger_of(me).give_up(receiver, from);
}

void note_given(state& me, const communicator_object& c, int taker, const datatype_object& type,
                MPI_Count count, int way) {
  ledger_of(me).add_sent(c.shared->to(taker).number,
                         {c.shared->context, c.own, collective_tag - way}, {&type, count});
}

void note_taken(state& me, const communicator_object& c, const char* call, int giver,
                const datatype_object& type, MPI_Count count, int way) {
  type_ledger& mine = ledger_of(me);
  mine.add_received({c.shared->context, giver, collective_tag - way},
                    {mine.take_turn(), {signature(&type, count), call}});
}

void note_reduced(state& me, const communicator_object& c, const char* call, int leader,
                  const datatype_object& type, MPI_Count count) {
  if (c.own != leader) return note_given(me, c, leader, type, count);
  for (int r = 0; r < c.peers_count; ++r)
    if (r != leader) note_taken(me, c, call, r, type, count);
}

void compare_types(state& me) {
  ledger_of(me).compare(me);
}

}  // namespace weft::mpi
