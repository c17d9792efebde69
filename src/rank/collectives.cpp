// Collectives. Ranks of one worker meet first, without atomics; the last to arrive speaks for them
// to the other workers, through sequenced dropboxes (Pure section 4.2.1). Small reductions travel
// in the dropboxes. For everything larger the ranks show each other their buffers, and each moves
// its part itself (Pure section 4.2.2). docs/protocols/collectives.md has the proof.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "rank/messages.hpp"
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

[[nodiscard]] bool is_same(const collective_call& one, const collective_call& two) noexcept {
  return (one.name == two.name || std::strcmp(one.name, two.name) == 0) && one.root == two.root &&
         (one.bytes == two.bytes || !one.same_size);
}

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

void check_same(communicator_state& c, int a, const collective_call& one, int b,
                const collective_call& two) {
  if (!is_same(one, two) || one.history != two.history) [[unlikely]]
    throw_mismatch(c, a, one, b, two);
}

// One collective of one rank: its turn, its statistics, its slice of the timeline.
class in_turn {
 public:
  in_turn(communicator_state& c, int rank, const collective_call& call)
      : c_(c), me_(calling_rank(call.name)), member_(c.at(rank)), rank_(rank) {
    me_.home->check_stopped();
    if (call.root != no_root && (call.root < 0 || call.root >= c.size()))
      throw error(std::string(call.name) + " with root " + std::to_string(call.root) +
                  ": the communicator has ranks 0 to " + std::to_string(c.size() - 1));
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
  void meet(const reduction* how = nullptr) {
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
      speak(g, how);
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

  [[nodiscard]] member& self() noexcept { return member_; }
  [[nodiscard]] worker& here() noexcept { return *me_.home; }
  [[nodiscard]] wait_description description() const noexcept {
    return {member_.call.name, c_.context, member_.call.root, -1, member_.call.bytes, &c_};
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

  void speak(worker_group& g, const reduction* how) {
    partial mine;
    if (how != nullptr) {
      // In rank order, whoever came first: the same result every time.
      std::memcpy(mine.data, c_.at(g.members[0]).in, how->bytes());
      for (std::size_t i = 1; i < g.members.size(); ++i)
        how->combine(how->op, mine.data, c_.at(g.members[i]).in, how->count);
    }
    if (c_.groups.size() > 1) {
      ++g.sequence;
      if (c_.groups.size() <= tree_width)
        exchange(g, how, mine);
      else
        climb(g, how, mine);
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

  // Up a tree and down from its root in one hop.
  void climb(worker_group& g, const reduction* how, partial& mine) {
    const auto index = static_cast<std::size_t>(member_.group);
    const std::size_t first_child = tree_width * index + 1;
    const std::size_t last_child = std::min(first_child + tree_width, c_.groups.size());
    for (std::size_t child = first_child; child < last_child; ++child) {
      const contribution& theirs = await(c_.groups[child].own, g.sequence);
      if (how != nullptr) how->combine(how->op, mine.data, theirs.data, how->count);
    }
    if (index == 0) {
      publish(g.result, g.sequence, how, mine);
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

// Shows the buffers of all ranks to all, lets each move what it wants, and holds everyone until
// all have done so.
template <class Move>
void show_and_move(communicator_state& c, int rank, const collective_call& call, const void* in,
                   void* out, std::size_t bytes, const void* more, Move&& move) {
  in_turn turn(c, rank, call);
  member& m = turn.self();
  m.in = in;
  m.out = out;
  m.bytes = bytes;
  m.more = more;
  turn.meet();
  // A user's operation may throw; the others still read this rank's buffers until all have met.
  std::exception_ptr failure;
  try {
    move(turn);
  } catch (const job_stopped&) {
    throw;
  } catch (...) {
    failure = std::current_exception();
    note_failure(c, turn.failed_here());
  }
  turn.meet();
  if (failure != nullptr) std::rethrow_exception(failure);
  // Relaxed: noted before a meeting of all.
  if (c.failed.load(std::memory_order_relaxed)) [[unlikely]] throw_failed(c);
}

void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes != 0 && to != from) std::memmove(to, from, bytes);
}

const std::byte* in_of(communicator_state& c, int rank) noexcept {
  return static_cast<const std::byte*>(c.at(rank).in);
}

// Each rank reduces one part for all: blocks that stay in the first-level cache.
void reduce_part(communicator_state& c, int rank, const reduction& how, int root) {
  constexpr std::size_t block_bytes = 8 * 1024;
  const auto ranks = static_cast<std::size_t>(c.size());
  const std::size_t per_line = std::max<std::size_t>(1, cache_line / how.element_bytes);
  const std::size_t lines = (how.count + per_line - 1) / per_line;
  const std::size_t begin = lines * static_cast<std::size_t>(rank) / ranks * per_line;
  const std::size_t end =
      std::min(how.count, lines * (static_cast<std::size_t>(rank) + 1) / ranks * per_line);
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
    std::memcpy(block, in_of(c, 0) + offset, count * how.element_bytes);
    for (int r = 1; r < c.size(); ++r) how.combine(how.op, block, in_of(c, r) + offset, count);
    // All inputs of this block have been read: an output may be one of them.
    for (int r = 0; r < c.size(); ++r)
      if (root == no_root || r == root)
        std::memcpy(static_cast<std::byte*>(c.at(r).out) + offset, block,
                    count * how.element_bytes);
  }
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
    show_and_move(c, rank_, call, data.data(), nullptr, data.size(), nullptr,
                  [&](in_turn&) { copy_bytes(data.data(), c.at(root).in, data.size()); });
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
  const bool ordered = how.commutative || (c.groups_in_rank_order && c.groups.size() <= tree_width);
  if (how.bytes() <= small_bytes_max && ordered) {
    in_turn turn(c, rank_, call);
    turn.self().in = in;
    turn.self().out = wanted;
    turn.meet(&how);
    return;
  }
  show_and_move(c, rank_, call, in, wanted, how.bytes(), nullptr,
                [&](in_turn&) { reduce_part(c, rank_, how, root); });
}

void communicator::scan_elements(const void* in, void* out, const reduction& how,
                                 bool inclusive) const {
  communicator_state& c = *state_;
  std::vector<std::byte> result(how.bytes());
  const int last = inclusive ? rank_ : rank_ - 1;
  show_and_move(c, rank_, {inclusive ? "scan" : "exscan", no_root, true, how.bytes()}, in, nullptr,
                how.bytes(), nullptr, [&](in_turn&) {
                  if (last < 0) return;
                  copy_bytes(result.data(), c.at(0).in, how.bytes());
                  for (int r = 1; r <= last; ++r)
                    how.combine(how.op, result.data(), c.at(r).in, how.count);
                });
  if (last >= 0) copy_bytes(out, result.data(), how.bytes());
}

void communicator::reduce_scatter_elements(const void* in, void* out, const reduction& how) const {
  communicator_state& c = *state_;
  std::vector<std::byte> result(how.bytes());
  show_and_move(c, rank_, {"reduce_scatter", no_root, true, how.bytes()}, in, nullptr, how.bytes(),
                nullptr, [&](in_turn&) {
                  const std::size_t offset = how.bytes() * static_cast<std::size_t>(rank_);
                  copy_bytes(result.data(), in_of(c, 0) + offset, how.bytes());
                  for (int r = 1; r < c.size(); ++r)
                    how.combine(how.op, result.data(), in_of(c, r) + offset, how.count);
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
  show_and_move(c, rank_, {name, root, true, in.size()}, in.data(), out.data(), in.size(), nullptr,
                [&](in_turn&) {
                  if (!receives) return;
                  for (int r = 0; r < c.size(); ++r)
                    copy_bytes(out.data() + static_cast<std::size_t>(r) * in.size(), c.at(r).in,
                               in.size());
                });
}

void communicator::scatter_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                 int root) const {
  communicator_state& c = *state_;
  if (rank_ == root && in.size() != out.size() * c.members.size())
    wrong_size("scatter", in.size(), out.size() * c.members.size(), "input");
  show_and_move(c, rank_, {"scatter", root, true, out.size()}, in.data(), nullptr, out.size(),
                nullptr, [&](in_turn&) {
                  copy_bytes(out.data(),
                             in_of(c, root) + static_cast<std::size_t>(rank_) * out.size(),
                             out.size());
                });
}

void communicator::alltoall_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                  std::size_t element_bytes) const {
  communicator_state& c = *state_;
  if (in.size() != out.size()) wrong_size("alltoall", out.size(), in.size(), "output");
  const std::size_t whole = c.members.size() * element_bytes;
  if (in.size() % whole != 0) wrong_size("alltoall", in.size(), in.size() / whole * whole, "input");
  const std::size_t block = in.size() / c.members.size();
  show_and_move(c, rank_, {"alltoall", no_root, true, in.size()}, in.data(), nullptr, in.size(),
                nullptr, [&](in_turn&) {
                  const std::size_t mine = block * static_cast<std::size_t>(rank_);
                  // Start with oneself, so that not all read from one rank at a time.
                  for (int step = 0; step < c.size(); ++step) {
                    const int r = (rank_ + step) % c.size();
                    copy_bytes(out.data() + static_cast<std::size_t>(r) * block, in_of(c, r) + mine,
                               block);
                  }
                });
}

std::vector<std::byte> communicator::gatherv_bytes(std::span<const std::byte> in, int root,
                                                   std::vector<std::size_t>& bytes) const {
  communicator_state& c = *state_;
  std::vector<std::byte> all;
  show_and_move(c, rank_, {root == no_root ? "allgatherv" : "gatherv", root, false, in.size()},
                in.data(), nullptr, in.size(), nullptr, [&](in_turn&) {
                  if (root != no_root && root != rank_) return;
                  for (const member& m : c.members) {
                    const auto* from = static_cast<const std::byte*>(m.in);
                    all.insert(all.end(), from, from + m.bytes);
                    bytes.push_back(m.bytes);
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
  show_and_move(c, rank_, {"scatterv", root, false, 0}, in.data(), nullptr, in.size(), &counts,
                [&](in_turn&) {
                  const auto& all = *static_cast<const std::vector<std::size_t>*>(c.at(root).more);
                  const auto r = static_cast<std::size_t>(rank_);
                  const std::byte* from = in_of(c, root) + sum(all, r) * element_bytes;
                  mine.assign(from, from + all[r] * element_bytes);
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
  show_and_move(c, rank_, {"alltoallv", no_root, false, in.size()}, in.data(), nullptr, in.size(),
                &counts, [&](in_turn&) {
                  const auto r = static_cast<std::size_t>(rank_);
                  for (const member& m : c.members) {
                    const auto& theirs = *static_cast<const std::vector<std::size_t>*>(m.more);
                    const auto* from =
                        static_cast<const std::byte*>(m.in) + sum(theirs, r) * element_bytes;
                    all.insert(all.end(), from, from + theirs[r] * element_bytes);
                    arrived.push_back(theirs[r] * element_bytes);
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
    if (!fellows.empty() && fellows.back() != rank - 1) groups_in_rank_order = false;
    fellows.push_back(rank);
  }
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

std::optional<communicator> communicator::split(int color, int key) const {
  communicator_state& c = *state_;
  struct wish {
    int color;
    int key;
  } const mine{color, key};
  struct place {
    std::shared_ptr<communicator_state> state;
    int rank = -1;
  };
  if (color < 0 && color != undefined_color)
    throw error("split with color " + std::to_string(color) +
                ": colors are 0 or more, or undefined_color");
  std::vector<place> places;
  place result;
  in_turn turn(c, rank_, {"split", no_root, true, 0});
  member& m = turn.self();
  m.in = &mine;
  m.more = &places;
  turn.meet();
  if (rank_ == 0) {
    places.resize(c.members.size());
    std::vector<int> order;
    const auto wish_of = [&](int r) { return *static_cast<const wish*>(c.at(r).in); };
    for (int r = 0; r < c.size(); ++r)
      if (wish_of(r).color != undefined_color) order.push_back(r);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const wish wa = wish_of(a);
      const wish wb = wish_of(b);
      return wa.color != wb.color ? wa.color < wb.color : wa.key < wb.key;
    });
    for (std::size_t begin = 0; begin < order.size();) {
      std::size_t end = begin;
      std::vector<int> ranks;
      while (end < order.size() && wish_of(order[end]).color == wish_of(order[begin]).color)
        ranks.push_back(c.to(order[end++]).number);
      const auto made = std::make_shared<communicator_state>(
          c.of, ranks, c.of.next_context.fetch_add(1, std::memory_order_relaxed));
      for (std::size_t i = begin; i < end; ++i)
        places[static_cast<std::size_t>(order[i])] = {made, static_cast<int>(i - begin)};
      begin = end;
    }
  }
  turn.meet();
  result = (*static_cast<const std::vector<place>*>(c.at(0).more))[static_cast<std::size_t>(rank_)];
  turn.meet();
  if (result.state == nullptr) return std::nullopt;
  return communicator(std::move(result.state), result.rank);
}

communicator communicator::dup() const {
  return *split(0, 0);
}

// All ranks of this process share memory.
communicator communicator::split_node() const {
  return *split(0, 0);
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
