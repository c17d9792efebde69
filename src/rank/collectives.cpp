// Collectives. Ranks of one worker meet first, without atomics; the last to arrive speaks for them
// to the other workers, through sequenced dropboxes (Pure section 4.2.1). Small reductions travel
// in the dropboxes. For everything larger the ranks show each other their buffers, and each moves
// its part itself (Pure section 4.2.2). docs/protocols/collectives.md has the proof.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rank/messages.hpp"
#include "rank/sites.hpp"
#include "rank/state.hpp"
#include "trace/trace.hpp"

namespace weft {
namespace detail {
namespace {

constexpr std::size_t tree_width = 8;  // Up to this many workers, each reads all dropboxes itself.

std::string described(const collective_call& call) {
  std::string text = call.name;
  if (call.bytes != 0) text += " of " + std::to_string(call.bytes) + " octets";
  if (call.root >= 0) text += " with root " + std::to_string(call.root);
  return text;
}

}  // namespace

bool is_same(const collective_call& one, const collective_call& two) noexcept {
  return (one.name == two.name || std::strcmp(one.name, two.name) == 0) && one.root == two.root &&
         (one.bytes == two.bytes || !one.same_size);
}

namespace {

[[noreturn, gnu::cold]] void throw_mismatch(communicator_state& c, int a, const collective_call& calls,
                                            int b, const collective_call& but) {
  std::string text = "collective mismatch on communicator " + std::to_string(c.context) + ": ";
  if (is_same(calls, but))
    text += "before they called " + described(calls) + ", ranks " + std::to_string(a) + " and " +
            std::to_string(b) +
            " called different broadcasts (root, size or number): all ranks must call the same";
  else
    text += "rank " + std::to_string(a) + " calls " + described(calls) + ", but rank " +
            std::to_string(b) + " calls " + described(but) +
            ": all ranks must call the same collectives in the same order, with the same sizes";
  break_communicator(*worker::current(), c, text);
  throw error(text);
}

}  // namespace

void check_same(communicator_state& c, int a, const collective_call& one, int b,
                const collective_call& two) {
  if (!is_same(one, two) || one.history != two.history) [[unlikely]]
    throw_mismatch(c, a, one, b, two);
}

namespace {

// One collective of one rank: its turn, its statistics, its slice of the timeline.
class in_turn {
 public:
  in_turn(communicator_state& c, int rank, const collective_call& call)
      : c_(c), me_(calling_rank(call.name)), member_(c.at(rank)), rank_(rank) {
    me_.home->check_stopped();
    if (call.root != no_root && (call.root < 0 || call.root >= c.size()))
      throw error(std::string(call.name) + " with root " + std::to_string(call.root) +
                  ": the communicator has ranks 0 to " + std::to_string(c.size() - 1));
    if (c.spans_processes()) [[unlikely]]
      check_sites_alive(c, call.name);
    const std::uint64_t ticket =
        std::exchange(member_.has_turn, false) ? member_.turn : member_.tickets++;
    me_.home->perturb();  // With the ticket taken: another fiber of this rank may run now.
    if (ticket != member_.turn) [[unlikely]] {
      me_.home->wait_until([this, ticket] { return member_.turn == ticket; },
                           {call.name, c.context, -1, -1, call.bytes});
      me_.home->check_stopped();  // The one before may have ended by unwinding.
    }
    if (c.failed.load(std::memory_order_relaxed)) [[unlikely]] {  // Relaxed: see note_failure().
      ++member_.turn;
      throw_failed(c, call.name);
    }
    member_.call = call;
    member_.call.history = member_.history;
    ++me_.counts.collectives;
    trace_begin(trace_kind::wait_collective, me_.number);
  }
  ~in_turn() {
    ++member_.turn;
    trace_end(trace_kind::wait_collective, me_.number);
  }
  in_turn(const in_turn&) = delete;
  in_turn& operator=(const in_turn&) = delete;

  // Returns when every rank has arrived. With `how`, also reduces in() of all into out() of those
  // that have one; only for small data and for orders that dropboxes can keep.
  void meet(const reduction* how = nullptr) { meet_all(how, c_.spans_processes()); }
  // Only those of this process.
  void meet_here() { meet_all(nullptr, false); }

  [[nodiscard]] member& self() noexcept { return member_; }
  [[nodiscard]] rank_state& rank() noexcept { return me_; }
  [[nodiscard]] worker& here() noexcept { return *me_.home; }
  [[nodiscard]] wait_description description() const noexcept {
    return {member_.call.name, c_.context, member_.call.root, -1, member_.call.bytes, &c_};
  }
  // What the leader alone does while the others wait for it: they are told when it fails.
  template <class Step>
  void lead(const Step& step) {
    try {
      step();
    } catch (const job_stopped&) {
      throw;
    } catch (...) {
      break_communicator(*me_.home, c_, failed_here());
      throw;
    }
  }
  // What the others are told of the exception that is handled now.
  [[nodiscard]] std::string failed_here() const {
    std::string why = "it ended with an exception";
    try {
      throw;
    } catch (const std::exception& e) {
      why = e.what();
    } catch (...) {
    }
    return described(member_.call) + " on communicator " + std::to_string(c_.context) +
           " failed on rank " + std::to_string(rank_) + ": " + why;
  }
  void notify_all() {
    for (const int worker : c_.workers)
      if (worker != me_.home->index()) me_.home->owner().at(worker).notify();
  }

 private:
  struct partial {
    alignas(64) std::byte data[small_bytes_max];
  };

  void meet_all(const reduction* how, bool across) {
    worker_group& g = c_.groups[static_cast<std::size_t>(member_.group)];
    if (g.arrived == 0)
      g.first_arrived = rank_;
    else
      check_same(c_, g.first_arrived, c_.at(g.first_arrived).call, rank_, member_.call);
    member_.arrived = true;
    if (++g.arrived < g.members.size()) {
      arrival mine;
      g.waiting.push_back(&mine);
      me_.home->wait(mine.all, description());
      me_.home->check_stopped();
      if (!mine.met) [[unlikely]] throw_failed(c_);
      return;
    }
    try {
      speak(g, how, across);
    } catch (const job_stopped&) {
      throw;
    } catch (...) {  // A mismatch, which has broken the communicator, or the user's operation threw.
      break_communicator(*me_.home, c_, failed_here());
      throw;
    }
    me_.home->check_stopped();  // The others' countdowns may be gone.
    g.arrived = 0;
    for (const int r : g.members) c_.at(r).arrived = false;
    for (arrival* waiting : g.waiting) {
      waiting->met = true;
      me_.home->complete(waiting->all);
    }
    g.waiting.clear();
  }

  void speak(worker_group& g, const reduction* how, bool across) {
    partial mine;
    if (how != nullptr) {
      // In rank order, whoever came first: the same result every time.
      std::memcpy(mine.data, c_.at(g.members[0]).in, how->bytes());
      for (std::size_t i = 1; i < g.members.size(); ++i)
        how->combine(how->op, mine.data, c_.at(g.members[i]).in, how->count);
    }
    if (across || c_.groups.size() > 1) {
      ++g.sequence;
      if (!across && c_.groups.size() <= tree_width)
        exchange(g, how, mine);
      else
        climb(g, how, mine, across);
    }
    if (how != nullptr)
      for (const int r : g.members)
        if (void* out = c_.at(r).out; out != nullptr) std::memcpy(out, mine.data, how->bytes());
  }

  // Everybody reads everybody: one hop.
  void exchange(worker_group& g, const reduction* how, partial& mine) {
    publish(g.own, g.sequence, how, mine);
    partial total;
    bool first = true;
    for (worker_group& other : c_.groups) {
      const contribution& theirs =
          &other == &g ? g.own.content(g.sequence) : await(other.own, g.sequence);
      if (how == nullptr) continue;
      if (std::exchange(first, false))
        std::memcpy(total.data, theirs.data, how->bytes());
      else
        how->combine(how->op, total.data, theirs.data, how->count);
    }
    if (how != nullptr) std::memcpy(mine.data, total.data, how->bytes());
  }

  // Up a tree and down from its root in one hop. The root is the leader's group: it meets those of
  // other processes.
  void climb(worker_group& g, const reduction* how, partial& mine, bool across) {
    const auto index = static_cast<std::size_t>(member_.group);
    const std::size_t first_child = tree_width * index + 1;
    const std::size_t last_child = std::min(first_child + tree_width, c_.groups.size());
    for (std::size_t child = first_child; child < last_child; ++child) {
      const contribution& theirs = await(c_.groups[child].own, g.sequence);
      if (how != nullptr) how->combine(how->op, mine.data, theirs.data, how->count);
    }
    if (index == 0) {
      if (across) meet_sites(c_, member_.call, rank_, description(), how, mine.data);
      if (c_.groups.size() > 1) publish(g.result, g.sequence, how, mine);
      return;
    }
    publish(g.own, g.sequence, how, mine);
    const contribution& result = await(c_.groups[0].result, g.sequence);
    if (how != nullptr) std::memcpy(mine.data, result.data, how->bytes());
  }

  void publish(dropbox<contribution>& box, std::uint64_t sequence, const reduction* how,
               const partial& mine) {
    box.publish(sequence, [&](contribution& to) {
      to.call = member_.call;
      to.rank = rank_;
      if (how != nullptr) std::memcpy(to.data, mine.data, how->bytes());
    });
    notify_all();
  }
  const contribution& await(const dropbox<contribution>& box, std::uint64_t sequence) {
    const auto& broken = c_.broken;  // Relaxed: it says only that nobody will publish.
    here().wait_until(
        [&] { return box.holds(sequence) || broken.load(std::memory_order_relaxed); },
        description());
    if (!box.holds(sequence)) [[unlikely]] throw_failed(c_);
    const contribution& theirs = box.content(sequence);
    check_same(c_, theirs.rank, theirs.call, rank_, member_.call);
    return theirs;
  }

  communicator_state& c_;
  rank_state& me_;
  member& member_;
  int rank_;
};

// What each rank shows to which, of what it gave. `part(shower, reader)` is it; of a rank of another
// process it is asked over there.
enum class sizes { of_all, of_each };  // Whether all parts have as many octets as one's own.
template <class Part>
struct exhibit {
  Part part;
  int only_shower = no_root;  // No_root: all show.
  int only_reader = no_root;
  bool per_reader = false;    // Otherwise all see the same.
  sizes known = sizes::of_all;
  std::size_t part_bytes = 0;  // When known.
};

// Shows the buffers of all ranks to all, lets each move what it wants, and holds everyone until
// all have done so.
template <class Part>
class exhibition {
 public:
  exhibition(communicator_state& c, int rank, in_turn& turn, const exhibit<Part>& what)
      : c_(c), rank_(rank), turn_(turn), what_(what) {}

  // What this rank may read of the one that shows.
  [[nodiscard]] std::span<const std::byte> part(int shower) const {
    const member& m = c_.at(shower);
    if (m.rank != nullptr) return what_.part(m, rank_);
    return c_.staged.parts[place(shower, what_.per_reader ? c_.local_place(rank_) : 0)];
  }

  // Called by the leader while the other ranks of this process wait: brings here what other sites
  // show to this one, and sends them what they are to see.
  void bring() {
    const std::size_t sites = c_.sites.size();
    c_.staged.buffers.clear();
    c_.staged.buffers.resize(2 * sites);
    c_.staged.parts.assign(c_.members.size() * readers_here(), {});
    std::vector<std::vector<std::uint64_t>> lengths_out(sites), lengths_in(sites);
    const wait_description waiting = turn_.description();
    site_talk talk(c_, turn_.rank(), waiting);
    for (std::size_t s = 0; s < sites; ++s) {
      if (static_cast<int>(s) == c_.here) continue;
      lengths_out[s] = lengths_to(c_.sites[s]);
      lengths_in[s].assign(entries(c_.sites[s], c_.sites[here()]), what_.part_bytes);
      if (what_.known == sizes::of_all) continue;
      if (!lengths_in[s].empty())
        talk.receive(static_cast<int>(s), tag_of_lengths, std::as_writable_bytes(std::span(lengths_in[s])));
      if (!lengths_out[s].empty())
        talk.send(static_cast<int>(s), tag_of_lengths, std::as_bytes(std::span(lengths_out[s])));
    }
    talk.wait();
    // Starting with the next site, so that not all send to one at a time.
    for (std::size_t step = 1; step < sites; ++step) {
      const std::size_t from = (here() + sites - step) % sites;
      const std::size_t to = (here() + step) % sites;
      if (const std::size_t bytes = total(lengths_in[from]); bytes != 0) {
        c_.staged.buffers[from] = std::make_unique_for_overwrite<std::byte[]>(bytes);
        talk.receive(static_cast<int>(from), tag_of_parts, {c_.staged.buffers[from].get(), bytes});
      }
      if (const std::size_t bytes = total(lengths_out[to]); bytes != 0)
        talk.send(static_cast<int>(to), tag_of_parts,
                  in_a_row(c_.sites[to], lengths_out[to].size(), bytes,
                           c_.staged.buffers[sites + to]));
    }
    talk.wait();
    for (std::size_t s = 0; s < sites; ++s)
      if (s != here()) place_parts(s, lengths_in[s]);
  }

 private:
  [[nodiscard]] std::size_t here() const noexcept { return static_cast<std::size_t>(c_.here); }
  [[nodiscard]] std::size_t readers_here() const noexcept {
    return what_.per_reader ? c_.local().size() : 1;
  }
  [[nodiscard]] std::size_t place(int shower, std::size_t reader) const noexcept {
    return static_cast<std::size_t>(shower) * readers_here() + reader;
  }
  [[nodiscard]] bool shows(int rank) const noexcept {
    return what_.only_shower == no_root || what_.only_shower == rank;
  }
  [[nodiscard]] bool reads(const site& s) const noexcept {
    return what_.only_reader == no_root ||
           std::binary_search(s.members.begin(), s.members.end(), what_.only_reader);
  }
  // Calls `visit(shower, reader, place of the reader)` for all parts from one site to another, in
  // the order in which they travel.
  template <class Visit>
  void each_part(const site& from, const site& to, const Visit& visit) const {
    if (!reads(to)) return;
    for (const int shower : from.members) {
      if (!shows(shower)) continue;
      const std::size_t readers = what_.per_reader ? to.members.size() : 1;
      for (std::size_t r = 0; r < readers; ++r) visit(shower, to.members[r], r);
    }
  }
  [[nodiscard]] std::size_t entries(const site& from, const site& to) const {
    std::size_t count = 0;
    each_part(from, to, [&](int, int, std::size_t) { ++count; });
    return count;
  }
  [[nodiscard]] std::vector<std::uint64_t> lengths_to(const site& to) const {
    std::vector<std::uint64_t> lengths;
    each_part(c_.sites[here()], to, [&](int shower, int reader, std::size_t) {
      lengths.push_back(what_.part(c_.at(shower), reader).size());
    });
    return lengths;
  }
  [[nodiscard]] static std::size_t total(const std::vector<std::uint64_t>& lengths) noexcept {
    std::size_t sum = 0;
    for (const std::uint64_t length : lengths) sum += length;
    return sum;
  }
  // A single part goes from where it is.
  [[nodiscard]] std::span<const std::byte> in_a_row(const site& to, std::size_t count,
                                                    std::size_t bytes,
                                                    std::unique_ptr<std::byte[]>& buffer) const {
    if (count != 1) buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::span<const std::byte> row(buffer.get(), bytes);
    std::size_t at = 0;
    each_part(c_.sites[here()], to, [&](int shower, int reader, std::size_t) {
      const std::span<const std::byte> part = what_.part(c_.at(shower), reader);
      if (count == 1)
        row = part;
      else if (!part.empty())
        std::memcpy(buffer.get() + at, part.data(), part.size());
      at += part.size();
    });
    return row;
  }
  void place_parts(std::size_t from, const std::vector<std::uint64_t>& lengths) {
    const std::byte* at = c_.staged.buffers[from].get();
    std::size_t i = 0;
    each_part(c_.sites[from], c_.sites[here()], [&](int shower, int, std::size_t reader) {
      c_.staged.parts[place(shower, reader)] = {at, lengths[i]};
      at += lengths[i++];
    });
  }

  communicator_state& c_;
  const int rank_;
  in_turn& turn_;
  const exhibit<Part>& what_;
};

// What a rank gives to a collective for others to see.
struct shown {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t bytes = 0;
  const void* more = nullptr;
};

template <class Part, class Move>
void show_and_move(communicator_state& c, int rank, const collective_call& call, const shown& mine,
                   const exhibit<Part>& what, const Move& move) {
  in_turn turn(c, rank, call);
  member& m = turn.self();
  m.in = mine.in;
  m.out = mine.out;
  m.bytes = mine.bytes;
  m.more = mine.more;
  turn.meet();
  exhibition<Part> all(c, rank, turn, what);
  if (c.spans_processes()) {
    if (rank == c.local()[0]) turn.lead([&] { all.bring(); });
    turn.meet_here();
  }
  // A user's operation may throw; the others still read this rank's buffers until all have met.
  std::exception_ptr failure;
  try {
    move(all);
  } catch (const job_stopped&) {
    throw;
  } catch (...) {
    failure = std::current_exception();
    note_failure(c, turn.failed_here());
  }
  turn.meet_here();
  if (failure != nullptr) std::rethrow_exception(failure);
  // Relaxed: noted before a meeting of all.
  if (c.failed.load(std::memory_order_relaxed)) [[unlikely]] throw_failed(c);
}

// Parts of the commonest kind: all that a rank gave.
[[nodiscard]] std::span<const std::byte> whole(const member& m, int) noexcept {
  return {static_cast<const std::byte*>(m.in), m.bytes};
}

void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes != 0 && to != from) std::memmove(to, from, bytes);
}

// One of `sharers` reduces its slice of `inputs` for all, in blocks that stay in the first-level
// cache; `input(i)` is the i-th, in the order of reduction. The results go to all `outputs`.
template <class Input>
void reduce_slice(const reduction& how, std::size_t index, std::size_t sharers, std::size_t inputs,
                  const Input& input, std::span<std::byte* const> outputs) {
  constexpr std::size_t block_bytes = 8 * 1024;
  const std::size_t per_line = std::max<std::size_t>(1, cache_line / how.element_bytes);
  const std::size_t lines = (how.count + per_line - 1) / per_line;
  const std::size_t begin = lines * index / sharers * per_line;
  const std::size_t end = std::min(how.count, lines * (index + 1) / sharers * per_line);
  const std::size_t step = std::max<std::size_t>(1, block_bytes / how.element_bytes);
  alignas(64) std::byte local[block_bytes];
  std::vector<std::byte> large;
  std::byte* block = local;
  if (how.element_bytes > block_bytes) {
    large.resize(how.element_bytes);
    block = large.data();
  }
  for (std::size_t at = begin; at < end; at += step) {
    const std::size_t count = std::min(step, end - at);
    const std::size_t offset = at * how.element_bytes;
    std::memcpy(block, input(0) + offset, count * how.element_bytes);
    for (std::size_t i = 1; i < inputs; ++i)
      how.combine(how.op, block, input(i) + offset, count);
    // All inputs of this block have been read: an output may be one of them.
    for (std::byte* out : outputs) std::memcpy(out + offset, block, count * how.element_bytes);
  }
}

// The outputs of this process's ranks that want the result.
[[nodiscard]] std::vector<std::byte*> outputs_here(communicator_state& c) {
  std::vector<std::byte*> outputs;
  for (const int r : c.local())
    if (void* out = c.at(r).out; out != nullptr) outputs.push_back(static_cast<std::byte*>(out));
  return outputs;
}

// A large reduction over several processes: each reduces the inputs of its own ranks, the leaders
// exchange these partial results, and each process combines them in the order of the sites.
void reduce_across_sites(communicator_state& c, int rank, const collective_call& call,
                         const void* in, void* out, const reduction& how) {
  in_turn turn(c, rank, call);
  member& m = turn.self();
  m.in = in;
  m.out = out;
  const std::size_t bytes = how.bytes();
  const auto here = static_cast<std::size_t>(c.here);
  const bool leads = rank == c.local()[0];
  if (leads) c.staged.partials = std::make_unique_for_overwrite<std::byte[]>(bytes * c.sites.size());
  turn.meet();
  std::byte* const partials = c.staged.partials.get();
  std::exception_ptr failure;
  const auto attempt = [&](const auto& step) {
    try {
      step();
    } catch (const job_stopped&) {
      throw;
    } catch (...) {
      failure = std::current_exception();
      note_failure(c, turn.failed_here());
    }
  };
  const std::size_t index = c.local_place(rank);
  attempt([&] {
    std::byte* const mine[] = {partials + here * bytes};
    reduce_slice(how, index, c.local().size(), c.local().size(),
                 [&](std::size_t i) { return static_cast<const std::byte*>(c.at(c.local()[i]).in); },
                 mine);
  });
  turn.meet_here();
  const int root_site = call.root == no_root ? -1 : c.site_of(call.root);
  if (leads) turn.lead([&] {
    const wait_description waiting = turn.description();
    site_talk talk(c, turn.rank(), waiting);
    for (std::size_t step = 1; step < c.sites.size(); ++step) {
      const std::size_t from = (here + c.sites.size() - step) % c.sites.size();
      const std::size_t to = (here + step) % c.sites.size();
      if (root_site < 0 || root_site == c.here)
        talk.receive(static_cast<int>(from), tag_of_parts, {partials + from * bytes, bytes});
      if (root_site < 0 || root_site == static_cast<int>(to))
        talk.send(static_cast<int>(to), tag_of_parts, {partials + here * bytes, bytes});
    }
    talk.wait();
  });
  turn.meet_here();
  if (root_site < 0 || root_site == c.here)
    attempt([&] {
      reduce_slice(how, index, c.local().size(), c.sites.size(),
                   [&](std::size_t i) { return partials + i * bytes; }, outputs_here(c));
    });
  turn.meet_here();
  if (failure != nullptr) std::rethrow_exception(failure);
  // Relaxed: noted before a meeting of all of this process.
  if (c.failed.load(std::memory_order_relaxed)) [[unlikely]] throw_failed(c);
}

[[gnu::cold]] void wrong_size(const char* call, std::size_t is, std::size_t should,
                              const char* what) {
  throw error(std::string(call) + ": the " + what + " has " + std::to_string(is) +
              " octets but must have " + std::to_string(should));
}

std::size_t sum(const std::vector<std::size_t>& counts, std::size_t end) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < end; ++i) total += counts[i];
  return total;
}

// Parts of different lengths, one after the other: what a rank shows are the lengths, too.
[[nodiscard]] auto counted_parts(std::size_t element_bytes) {
  return [element_bytes](const member& m, int reader) {
    const auto& counts = *static_cast<const std::vector<std::size_t>*>(m.more);
    const auto r = static_cast<std::size_t>(reader);
    return std::span(static_cast<const std::byte*>(m.in) + sum(counts, r) * element_bytes,
                     counts[r] * element_bytes);
  };
}

// One count for each rank, and together no more than `elements`.
void check_counts(const char* call, const communicator_state& c,
                  const std::vector<std::size_t>& counts, std::size_t elements) {
  if (counts.size() != c.members.size())
    throw error(std::string(call) + " got " + std::to_string(counts.size()) +
                " counts: one for each of the " + std::to_string(c.members.size()) + " ranks");
  std::size_t left = elements;
  for (const std::size_t count : counts) {
    if (count > left)
      throw error(std::string(call) + ": the counts exceed the input of " +
                  std::to_string(elements) + " elements");
    left -= count;
  }
}

// Returns when a root has published this broadcast. Should no rank take itself for the root, those
// that wait expect different ones: who has waited for long says what it expects, or finds that
// another one said something else.
void await_broadcast(communicator_state& c, in_turn& turn, std::uint64_t number, int rank,
                     const collective_call& call) {
  constexpr int looks_of_patience = 8;
  small_broadcasts& slots = *c.broadcasts;
  int looks = 0;
  bool agreed = false;
  turn.here().wait_until(
      [&] {
        if (slots.sent.holds(number)) return true;
        // Relaxed: it says only that nobody will publish.
        if (c.broken.load(std::memory_order_relaxed)) [[unlikely]] return true;
        if (agreed || ++looks < looks_of_patience) [[likely]] return false;
        if (slots.expected.try_take(number)) {
          slots.expected.publish(number, [&](auto& to) { to = {call, rank}; });
          turn.notify_all();  // Those that sleep look again.
          agreed = true;
        } else if (slots.expected.holds(number)) {
          agreed = is_same(slots.expected.content(number).call, call);
          return !agreed;
        }
        return false;
      },
      turn.description());
  if (slots.sent.holds(number)) [[likely]] return;
  if (c.broken.load(std::memory_order_relaxed)) throw_failed(c);
  const auto& other = slots.expected.content(number);
  throw_mismatch(c, other.rank, other.call, rank, call);
}

}  // namespace
}  // namespace detail

using namespace detail;

void communicator::check_same_size(std::size_t in, std::size_t out, const char* call) const {
  if (in != out)
    throw error(std::string(call) + ": the input has " + std::to_string(in) +
                " elements and the output implies " + std::to_string(out) + ": they must be equal");
}

void communicator::barrier() const {
  in_turn(*state_, rank_, {"barrier", no_root, true, 0}).meet();
}

void communicator::bcast_bytes(std::span<std::byte> data, int root) const {
  communicator_state& c = *state_;
  const collective_call call{"bcast", root, true, data.size()};
  if (data.size() > small_bytes_max || c.size() == 1) {  // One rank alone has no slots.
    const exhibit what{
        .part = &whole, .only_shower = root, .part_bytes = data.size()};
    show_and_move(c, rank_, call, {data.data(), nullptr, data.size()}, what, [&](const auto& all) {
      copy_bytes(data.data(), all.part(root).data(), data.size());
    });
    return;
  }
  in_turn turn(c, rank_, call);
  member& m = turn.self();
  const std::uint64_t number = ++m.broadcasts;
  small_broadcasts& slots = *c.broadcasts;
  if (slots.sent.meets_before(number)) turn.meet();
  m.history = ((m.history ^ static_cast<std::uint64_t>(root) << 32 ^ data.size()) + 1) *
              0x9e3779b97f4a7c15u;  // Odd: nothing that went in is lost.
  // The root does not wait for the others.
  if (rank_ == root && slots.sent.try_take(number)) [[likely]] {
    slots.sent.publish(number, [&](contribution& to) {
      to.call = call;
      to.rank = rank_;
      copy_bytes(to.data, data.data(), data.size());
    });
    turn.notify_all();
    if (c.spans_processes()) send_broadcast(c, turn.rank(), m.call, rank_, number, data);
    return;
  }
  if (c.spans_processes() && rank_ == c.local()[0] && c.at(root).rank == nullptr) {
    turn.lead([&] { receive_broadcast(c, m.call, rank_, number, turn.description(), data); });
    if (!slots.sent.try_take(number)) return;
    slots.sent.publish(number, [&](contribution& to) {
      to.call = call;
      to.rank = root;
      copy_bytes(to.data, data.data(), data.size());
    });
    turn.notify_all();
    return;
  }
  await_broadcast(c, turn, number, rank_, call);
  const contribution& sent = slots.sent.content(number);
  check_same(c, sent.rank, sent.call, rank_, call);
  copy_bytes(data.data(), sent.data, data.size());
}

void communicator::reduce_elements(const void* in, void* out, const reduction& how, int root,
                                   const char* name) const {
  communicator_state& c = *state_;
  const collective_call call{name, root, true, how.bytes()};
  void* const wanted = root == no_root || root == rank_ ? out : nullptr;
  const bool ordered = how.commutative || c.combines_in_rank_order;
  if (how.bytes() <= small_bytes_max && ordered) {
    in_turn turn(c, rank_, call);
    turn.self().in = in;
    turn.self().out = wanted;
    turn.meet(&how);
    return;
  }
  if (c.spans_processes() && (how.commutative || c.sites_in_rank_order)) {
    reduce_across_sites(c, rank_, call, in, wanted, how);
    return;
  }
  const exhibit what{.part = &whole, .part_bytes = how.bytes()};
  show_and_move(c, rank_, call, {in, wanted, how.bytes()}, what, [&](const auto& all) {
    reduce_slice(how, c.local_place(rank_), c.local().size(), c.members.size(),
                 [&](std::size_t r) { return all.part(static_cast<int>(r)).data(); },
                 outputs_here(c));
  });
}

void communicator::scan_elements(const void* in, void* out, const reduction& how,
                                 bool inclusive) const {
  communicator_state& c = *state_;
  std::vector<std::byte> result(how.bytes());
  const int last = inclusive ? rank_ : rank_ - 1;
  const exhibit what{.part = &whole, .part_bytes = how.bytes()};
  show_and_move(c, rank_, {inclusive ? "scan" : "exscan", no_root, true, how.bytes()},
                {in, nullptr, how.bytes()}, what, [&](const auto& all) {
                  if (last < 0) return;
                  copy_bytes(result.data(), all.part(0).data(), how.bytes());
                  for (int r = 1; r <= last; ++r)
                    how.combine(how.op, result.data(), all.part(r).data(), how.count);
                });
  if (last >= 0) copy_bytes(out, result.data(), how.bytes());
}

void communicator::reduce_scatter_elements(const void* in, void* out, const reduction& how) const {
  communicator_state& c = *state_;
  std::vector<std::byte> result(how.bytes());
  const auto block_of = [bytes = how.bytes()](const member& m, int reader) {
    return std::span(static_cast<const std::byte*>(m.in) + bytes * static_cast<std::size_t>(reader),
                     bytes);
  };
  const exhibit what{.part = block_of, .per_reader = true, .part_bytes = how.bytes()};
  show_and_move(c, rank_, {"reduce_scatter", no_root, true, how.bytes()}, {in, nullptr, how.bytes()},
                what, [&](const auto& all) {
                  copy_bytes(result.data(), all.part(0).data(), how.bytes());
                  for (int r = 1; r < c.size(); ++r)
                    how.combine(how.op, result.data(), all.part(r).data(), how.count);
                });
  copy_bytes(out, result.data(), how.bytes());
}

void communicator::gather_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                int root) const {
  communicator_state& c = *state_;
  const char* name = root == no_root ? "allgather" : "gather";
  const bool receives = root == no_root || root == rank_;
  if (receives && out.size() != in.size() * c.members.size())
    wrong_size(name, out.size(), in.size() * c.members.size(), "output");
  const exhibit what{.part = &whole, .only_reader = root, .part_bytes = in.size()};
  show_and_move(c, rank_, {name, root, true, in.size()}, {in.data(), nullptr, in.size()}, what,
                [&](const auto& all) {
                  if (!receives) return;
                  for (int r = 0; r < c.size(); ++r)
                    copy_bytes(out.data() + static_cast<std::size_t>(r) * in.size(),
                               all.part(r).data(), in.size());
                });
}

void communicator::scatter_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                 int root) const {
  communicator_state& c = *state_;
  if (rank_ == root && in.size() != out.size() * c.members.size())
    wrong_size("scatter", in.size(), out.size() * c.members.size(), "input");
  const auto block_of = [bytes = out.size()](const member& m, int reader) {
    return std::span(static_cast<const std::byte*>(m.in) + bytes * static_cast<std::size_t>(reader),
                     bytes);
  };
  const exhibit what{.part = block_of,
                     .only_shower = root,
                     .per_reader = true,
                     .part_bytes = out.size()};
  show_and_move(c, rank_, {"scatter", root, true, out.size()}, {in.data(), nullptr, out.size()},
                what, [&](const auto& all) {
                  copy_bytes(out.data(), all.part(root).data(), out.size());
                });
}

void communicator::alltoall_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                  std::size_t element_bytes) const {
  communicator_state& c = *state_;
  if (in.size() != out.size()) wrong_size("alltoall", out.size(), in.size(), "output");
  const std::size_t whole = c.members.size() * element_bytes;
  if (in.size() % whole != 0) wrong_size("alltoall", in.size(), in.size() / whole * whole, "input");
  const std::size_t block = in.size() / c.members.size();
  const auto block_of = [block](const member& m, int reader) {
    return std::span(static_cast<const std::byte*>(m.in) + block * static_cast<std::size_t>(reader),
                     block);
  };
  const exhibit what{.part = block_of, .per_reader = true, .part_bytes = block};
  show_and_move(c, rank_, {"alltoall", no_root, true, in.size()}, {in.data(), nullptr, in.size()},
                what, [&](const auto& all) {
                  // Start with oneself, so that not all read from one rank at a time.
                  for (int step = 0; step < c.size(); ++step) {
                    const int r = (rank_ + step) % c.size();
                    copy_bytes(out.data() + static_cast<std::size_t>(r) * block, all.part(r).data(),
                               block);
                  }
                });
}

std::vector<std::byte> communicator::gatherv_bytes(std::span<const std::byte> in, int root,
                                                   std::vector<std::size_t>& bytes) const {
  communicator_state& c = *state_;
  std::vector<std::byte> all;
  const exhibit what{.part = &whole, .only_reader = root, .known = sizes::of_each};
  show_and_move(c, rank_, {root == no_root ? "allgatherv" : "gatherv", root, false, in.size()},
                {in.data(), nullptr, in.size()}, what, [&](const auto& shown_by) {
                  if (root != no_root && root != rank_) return;
                  for (int r = 0; r < c.size(); ++r) {
                    const auto part = shown_by.part(r);
                    all.insert(all.end(), part.begin(), part.end());
                    bytes.push_back(part.size());
                  }
                });
  return all;
}

std::vector<std::byte> communicator::scatterv_bytes(std::span<const std::byte> in,
                                                    const std::vector<std::size_t>& counts,
                                                    std::size_t element_bytes, int root) const {
  communicator_state& c = *state_;
  if (rank_ == root) {
    check_counts("scatterv", c, counts, in.size() / element_bytes);
  }
  std::vector<std::byte> mine;
  const exhibit what{.part = counted_parts(element_bytes),
                     .only_shower = root,
                     .per_reader = true,
                     .known = sizes::of_each};
  show_and_move(c, rank_, {"scatterv", root, false, 0}, {in.data(), nullptr, in.size(), &counts},
                what, [&](const auto& all) {
                  const auto part = all.part(root);
                  mine.assign(part.begin(), part.end());
                });
  return mine;
}

std::vector<std::byte> communicator::alltoallv_bytes(std::span<const std::byte> in,
                                                     const std::vector<std::size_t>& counts,
                                                     std::size_t element_bytes,
                                                     std::vector<std::size_t>& arrived) const {
  communicator_state& c = *state_;
  check_counts("alltoallv", c, counts, in.size() / element_bytes);
  std::vector<std::byte> all;
  const exhibit what{
      .part = counted_parts(element_bytes), .per_reader = true, .known = sizes::of_each};
  show_and_move(c, rank_, {"alltoallv", no_root, false, in.size()},
                {in.data(), nullptr, in.size(), &counts}, what, [&](const auto& shown_by) {
                  for (int r = 0; r < c.size(); ++r) {
                    const auto part = shown_by.part(r);
                    all.insert(all.end(), part.begin(), part.end());
                    arrived.push_back(part.size());
                  }
                });
  return all;
}

// --- Non-blocking: the blocking one, on a fiber of its own
// -----------------------------------------

request communicator::start_collective(std::function<void()> body) const {
  rank_state& me = calling_rank("a non-blocking collective");
  me.home->check_stopped();
  kept_operation* op = take_kept(me);
  op->what = operation::kind::collective;
  op->communicator = state_;
  op->active = true;
  watch_start(*op);
  member& m = state_->at(rank_);
  const std::uint64_t ticket = m.tickets++;
  op->body = [c = state_, rank = rank_, ticket, &me, run = std::move(body)] {
    member& self = c->at(rank);
    me.home->wait_until([&] { return self.turn == ticket; },
                        {"non-blocking collective", c->context});
    self.has_turn = true;
    // A call that is refused before it begins has had its turn all the same.
    struct turn_end {
      member& m;
      ~turn_end() {
        if (std::exchange(m.has_turn, false)) ++m.turn;
      }
    } const ended{self};
    run();
  };
  op->runner.identity = &me;
  op->runner.argument = op;
  op->runner.body = [](void* argument) {
    auto& self = *static_cast<kept_operation*>(argument);
    try {
      self.body();
    } catch (const job_stopped&) {
    } catch (...) {
      self.failure = std::current_exception();
    }
  };
  // Completed once its fiber is gone: then the operation may be freed.
  op->runner.reclaimed = [](fiber& ended) {
    auto& self = *static_cast<kept_operation*>(ended.argument);
    self.complete = true;
    if (self.counter != nullptr) ended.home->complete(*self.counter);
  };
  me.home->spawn(op->runner);
  return request(op);
}

// --- New communicators
// -----------------------------------------------------------------------------

namespace {

// Whether the ranks of each worker, of whatever process, follow one another, and no process has so
// many workers that they combine in a tree.
bool workers_in_rank_order(const job& j, const std::vector<int>& ranks) {
  std::map<int, int> workers_of;
  std::set<std::pair<int, int>> left;
  std::pair<int, int> last{-1, -1};
  for (const int rank : ranks) {
    const rank_place& place = j.places[static_cast<std::size_t>(rank)];
    const std::pair<int, int> home{place.process, place.worker};
    if (home == last) continue;
    if (!left.insert(home).second || ++workers_of[place.process] > static_cast<int>(tree_width))
      return false;
    last = home;
  }
  return true;
}

}  // namespace

communicator_state::communicator_state(job& j, const std::vector<int>& ranks, std::uint32_t number)
    : of(j),
      listed_in(j.communicators),
      context(number),
      members(ranks.size()),
      broadcasts(ranks.size() > 1 ? std::make_unique<small_broadcasts>() : nullptr) {
  std::vector<int> group_of(static_cast<std::size_t>(j.workers->worker_count()), -1);
  std::vector<std::vector<int>> ranks_of;
  std::map<int, std::size_t> site_of;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto rank = static_cast<int>(i);
    const rank_place& place = j.places[static_cast<std::size_t>(ranks[i])];
    if (site_of.emplace(place.process, sites.size()).second)
      sites.push_back({place.process, {}});
    else if (place.process != sites.back().process)
      sites_in_rank_order = false;
    sites[site_of[place.process]].members.push_back(rank);
    if (place.rank == nullptr) {
      peers.push_back({&j.distant, distant_worker, ranks[i]});
      continue;
    }
    here = static_cast<int>(site_of[place.process]);
    member& m = members[i];
    m.rank = place.rank;
    peers.push_back({place.rank, place.worker, ranks[i]});
    int& group = group_of[static_cast<std::size_t>(place.worker)];
    if (group < 0) {
      group = static_cast<int>(ranks_of.size());
      ranks_of.emplace_back();
      workers.push_back(place.worker);
    }
    m.group = group;
    auto& fellows = ranks_of[static_cast<std::size_t>(group)];
    fellows.push_back(rank);
  }
  combines_in_rank_order = sites_in_rank_order && workers_in_rank_order(j, ranks);
  groups = std::vector<worker_group>(ranks_of.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].members = std::move(ranks_of[g]);
    groups[g].waiting.reserve(groups[g].members.size());
  }
  const std::lock_guard hold(listed_in->lock);
  listed_in->by_context.emplace(context, this);
}

communicator_state::~communicator_state() {
  const std::lock_guard hold(listed_in->lock);
  const auto same = listed_in->by_context.equal_range(context);
  for (auto at = same.first; at != same.second; ++at)
    if (at->second == this) {
      listed_in->by_context.erase(at);
      break;
    }
}

int communicator::size() const noexcept {
  return state_->size();
}

namespace {

// What a rank says in split().
struct wish {
  int color;
  int key;
};
struct place_in_group {
  std::shared_ptr<communicator_state> state;
  int rank = -1;
};

// The ranks that have a colour, in the order of colour, key and rank.
std::vector<int> in_order(const std::vector<wish>& wishes) {
  std::vector<int> order;
  for (std::size_t r = 0; r < wishes.size(); ++r)
    if (wishes[r].color != undefined_color) order.push_back(static_cast<int>(r));
  const auto wish_of = [&](int r) { return wishes[static_cast<std::size_t>(r)]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const wish wa = wish_of(a);
    const wish wb = wish_of(b);
    return wa.color != wb.color ? wa.color < wb.color : wa.key < wb.key;
  });
  return order;
}

// The groups that `wishes` ask for: one communicator for all ranks of this process in each. All
// processes make them in the same order, so they agree on their contexts, which begin with `first`.
std::vector<place_in_group> make_groups(communicator_state& c, const std::vector<wish>& wishes,
                                        const std::function<std::uint32_t(std::uint32_t)>& take) {
  const std::vector<int> order = in_order(wishes);
  const auto color_of = [&](std::size_t i) {
    return wishes[static_cast<std::size_t>(order[i])].color;
  };
  std::uint32_t groups = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    groups += i == 0 || color_of(i) != color_of(i - 1) ? 1 : 0;
  std::uint32_t context = take(groups);
  std::vector<place_in_group> places(wishes.size());
  for (std::size_t begin = 0; begin < order.size(); ++context) {
    std::size_t end = begin;
    std::vector<int> ranks;
    bool any_here = false;
    while (end < order.size() && color_of(end) == color_of(begin)) {
      any_here = any_here || c.at(order[end]).rank != nullptr;
      ranks.push_back(c.to(order[end++]).number);
    }
    if (any_here) {
      const auto made = std::make_shared<communicator_state>(c.of, ranks, context);
      for (std::size_t i = begin; i < end; ++i)
        places[static_cast<std::size_t>(order[i])] = {made, static_cast<int>(i - begin)};
    }
    begin = end;
  }
  return places;
}

// The first of `count` contexts that no rank of any of the sites has seen. Each process proposes
// what it has not used; two that agree at the same time on the same numbers have no rank in common:
// docs/protocols/processes.md.
std::uint32_t agree_on_contexts(communicator_state& c, const collective_call& call, int rank,
                                const wait_description& what, std::uint32_t count) {
  std::uint32_t first = c.of.next_context.load(std::memory_order_relaxed);
  const max most;
  const reduction how = make_reduction<std::uint32_t>(most, 1);
  meet_sites(c, call, rank, what, &how, reinterpret_cast<std::byte*>(&first));
  // Relaxed: a number; whoever uses it has met the others.
  std::uint32_t used = c.of.next_context.load(std::memory_order_relaxed);
  while (used < first + count &&
         !c.of.next_context.compare_exchange_weak(used, first + count, std::memory_order_relaxed))
    ;
  return first;
}

}  // namespace

std::optional<communicator> communicator::split(int color, int key) const {
  communicator_state& c = *state_;
  if (color < 0 && color != undefined_color)
    throw error("split with color " + std::to_string(color) +
                ": colors are 0 or more, or undefined_color");
  const wish mine{color, key};
  std::vector<place_in_group> places;
  const int first = c.local()[0];
  in_turn turn(c, rank_, {"split", no_root, true, 0});
  member& m = turn.self();
  m.in = &mine;
  m.bytes = sizeof mine;
  m.more = &places;
  turn.meet();
  if (rank_ == first) {
    const exhibit what{.part = &whole, .part_bytes = sizeof mine};
    exhibition all(c, rank_, turn, what);
    if (c.spans_processes()) turn.lead([&] { all.bring(); });
    std::vector<wish> wishes(c.members.size());
    for (std::size_t r = 0; r < wishes.size(); ++r)
      std::memcpy(&wishes[r], all.part(static_cast<int>(r)).data(), sizeof(wish));
    places = make_groups(c, wishes, [&](std::uint32_t count) {
      return c.spans_processes()
                 ? agree_on_contexts(c, m.call, rank_, turn.description(), count)
                 : c.of.next_context.fetch_add(count, std::memory_order_relaxed);
    });
  }
  turn.meet_here();
  place_in_group result = (*static_cast<const std::vector<place_in_group>*>(
      c.at(first).more))[static_cast<std::size_t>(rank_)];
  turn.meet_here();
  if (result.state == nullptr) return std::nullopt;
  return communicator(std::move(result.state), result.rank);
}

communicator communicator::dup() const {
  return *split(0, 0);
}

communicator communicator::split_node() const {
  const job& j = state_->of;
  const int process = j.process;
  return *split(j.node_of_process.empty()
                    ? 0
                    : j.node_of_process[static_cast<std::size_t>(process)],
                0);
}

std::optional<communicator> communicator::create(std::span<const int> ranks) const {
  for (const int r : ranks)
    if (r < 0 || r >= size())
      throw error("create with rank " + std::to_string(r) + ": the communicator has ranks 0 to " +
                  std::to_string(size() - 1));
  std::vector<int> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw error("create names rank " + std::to_string(*twice) + " twice");
  const auto place = std::find(ranks.begin(), ranks.end(), rank_);
  return split(place == ranks.end() ? undefined_color : 0, static_cast<int>(place - ranks.begin()));
}

communicator communicator::self() const {
  rank_state& me = *state_->at(rank_).rank;
  if (me.self == nullptr)
    me.self = std::make_shared<communicator_state>(
        state_->of, std::vector{me.number},
        state_->of.next_context.fetch_add(1, std::memory_order_relaxed));
  return communicator(me.self, 0);
}

}  // namespace weft
