// Collectives. Ranks of one worker meet first, without atomics; the last to arrive speaks for them
// to the other workers, through sequenced dropboxes (Pure section 4.2.1). Small reductions travel
// in the dropboxes. For everything larger the ranks show each other their buffers, and each moves
// its part itself (Pure section 4.2.2). docs/protocols/collectives.md has the proof.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rank/collectives.hpp"
#include "rank/distant.hpp"
#include "rank/exhibition.hpp"

namespace weft {
namespace detail {

std::string described(const collective_call& call) {
  std::string text = call.name;
  if (call.bytes != 0) text += " of " + std::to_string(call.bytes) + " octets";
  if (call.root >= 0) text += " with root " + std::to_string(call.root);
  return text;
}

bool is_same(const collective_call& one, const collective_call& two) noexcept {
  return (one.name == two.name || std::strcmp(one.name, two.name) == 0) && one.root == two.root &&
         (one.bytes == two.bytes || !one.same_size);
}

namespace {

[[nodiscard, gnu::cold]] std::string mismatch(const communicator_state& c, int a,
                                              const collective_call& calls, int b,
                                              const collective_call& but) {
  std::string text = "collective mismatch on communicator " + std::to_string(c.context) + ": ";
  if (is_same(calls, but))
    text += "before they called " + described(calls) + ", ranks " + std::to_string(a) + " and " +
            std::to_string(b) +
            " called different broadcasts (root, size or number): all ranks must call the same";
  else
    text += "rank " + std::to_string(a) + " calls " + described(calls) + ", but rank " +
            std::to_string(b) + " calls " + described(but) +
            ": all ranks must call the same collectives in the same order, with the same sizes";
  return text;
}

[[noreturn, gnu::cold]] void throw_mismatch(communicator_state& c, int a, const collective_call& calls,
                                            int b, const collective_call& but) {
  const std::string text = mismatch(c, a, calls, b, but);
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

// Elements of a reduction, from the first to behind the last.
struct element_range {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t bytes(const reduction& how) const noexcept {
    return (end - begin) * how.element_bytes;
  }
};

// The `index`-th of `sharers` equal parts, cut at cache lines.
[[nodiscard]] element_range share_of(const reduction& how, const element_range& all,
                                     std::size_t index, std::size_t sharers) noexcept {
  const std::size_t per_line = std::max<std::size_t>(1, cache_line / how.element_bytes);
  const std::size_t lines = (all.end - all.begin + per_line - 1) / per_line;
  return {all.begin + lines * index / sharers * per_line,
          std::min(all.end, all.begin + lines * (index + 1) / sharers * per_line)};
}

// Reduces these elements of `inputs`, in blocks that stay in the first-level cache; `input(i, n)` is
// element n of the i-th, in the order of reduction. The results go to all `outputs`, which begin with
// that of element `first`.
template <class Input>
void reduce_range(const reduction& how, const element_range& range, std::size_t inputs,
                  const Input& input, std::span<std::byte* const> outputs, std::size_t first = 0) {
  constexpr std::size_t block_bytes = 8 * 1024;
  const std::size_t step = std::max<std::size_t>(1, block_bytes / how.element_bytes);
  alignas(64) std::byte local[block_bytes];
  std::vector<std::byte> large;
  std::byte* block = local;
  if (how.element_bytes > block_bytes) {
    large.resize(how.element_bytes);
    block = large.data();
  }
  for (std::size_t at = range.begin; at < range.end; at += step) {
    const std::size_t count = std::min(step, range.end - at);
    std::memcpy(block, input(0, at), count * how.element_bytes);
    for (std::size_t i = 1; i < inputs; ++i) how.combine(how.op, block, input(i, at), count);
    // All inputs of this block have been read: an output may be one of them.
    for (std::byte* out : outputs)
      std::memcpy(out + (at - first) * how.element_bytes, block, count * how.element_bytes);
  }
}

// The outputs of this process's ranks that want the result.
[[nodiscard]] std::vector<std::byte*> outputs_here(communicator_state& c) {
  std::vector<std::byte*> outputs;
  for (const int r : c.local())
    if (void* out = c.at(r).out; out != nullptr) outputs.push_back(static_cast<std::byte*>(out));
  return outputs;
}

// A large reduction over several processes. Each process reduces the inputs of its own ranks; of
// these partial results each process combines a share, in the order of the sites, and they tell each
// other what came out. Of shorter ones each combines all, which is one message less to wait for.
// docs/protocols/processes.md has the steps.
class reduction_across_sites {
 public:
  reduction_across_sites(communicator_state& c, int rank, const collective_call& call,
                         const void* in, void* out, const reduction& how)
      : c_(c),
        how_(how),
        turn_(c, rank, call),
        sites_(c.sites.size()),
        here_(static_cast<std::size_t>(c.here)),
        index_(c.local_place(rank)),
        root_site_(call.root == no_root ? everywhere : static_cast<std::size_t>(c.site_of(call.root))),
        whole_{0, how.count},
        shares_(how.bytes() / sites_ >= shared_out_bytes_min),
        mine_(range_of(here_)) {
    turn_.self().in = in;
    turn_.self().out = out;
  }

  void run() {
    if (leads()) set_up();
    turn_.meet();
    if (reduces_first())
      attempt([&] {
        std::byte* const to[] = {c_.staged.partial};
        reduce_range(how_, share_of(how_, whole_, index_, c_.local().size()), c_.local().size(),
                     [&](std::size_t i, std::size_t n) {
                       return static_cast<const std::byte*>(c_.at(c_.local()[i]).in) + offset(n);
                     },
                     to);
      });
    if (c_.local().size() > 1) turn_.meet_here();
    if (leads()) turn_.lead([&] { exchange_partials(); });
    turn_.meet_here();
    if (combines()) attempt([&] { combine(); });
    turn_.meet_here();
    if (shares_) {
      if (leads()) turn_.lead([&] { exchange_results(); });
      turn_.meet_here();
    }
    copy_result();
    turn_.meet_here();
    turn_.end_of_moving(failure_);
  }

 private:
  static constexpr std::size_t everywhere = ~std::size_t{0};

  [[nodiscard]] bool leads() const noexcept { return index_ == 0; }
  [[nodiscard]] std::size_t offset(std::size_t element) const noexcept {
    return element * how_.element_bytes;
  }
  // What a site combines of the partial results.
  [[nodiscard]] element_range range_of(std::size_t site) const noexcept {
    return shares_ ? share_of(how_, whole_, site, sites_) : whole_;
  }
  [[nodiscard]] bool wants_result(std::size_t site) const noexcept {
    return root_site_ == everywhere || root_site_ == site;
  }
  [[nodiscard]] bool combines_at(std::size_t site) const noexcept {
    return shares_ || wants_result(site);
  }
  [[nodiscard]] bool combines() const noexcept { return combines_at(here_); }
  // A single rank's input is the partial result, where it is.
  [[nodiscard]] bool reduces_first() const noexcept { return c_.local().size() > 1; }

  // By the leader, before the ranks of this process meet.
  void set_up() {
    const std::size_t of_partial = reduces_first() ? how_.bytes() : 0;
    const std::size_t of_arriving = combines() ? mine_.bytes(how_) * sites_ : 0;
    const std::size_t of_result = wants_result(here_) ? 0 : mine_.bytes(how_);
    staging& s = c_.staged;
    s.partials = std::make_unique_for_overwrite<std::byte[]>(of_partial + of_arriving + of_result);
    s.partial = s.partials.get();
    s.arriving = s.partial + of_partial;
    s.result = s.arriving + of_arriving;
  }
  [[nodiscard]] const std::byte* partial() noexcept {
    return reduces_first() ? c_.staged.partial
                           : static_cast<const std::byte*>(c_.at(c_.local()[0]).in);
  }
  [[nodiscard]] std::byte* arriving(std::size_t site) noexcept {
    return c_.staged.arriving + site * mine_.bytes(how_);
  }
  // Where the result is complete in the end: the output of some rank.
  [[nodiscard]] std::byte* result() {
    for (const int r : c_.local())
      if (void* out = c_.at(r).out; out != nullptr) return static_cast<std::byte*>(out);
    return nullptr;
  }
  // Where what this site combines is put.
  [[nodiscard]] std::byte* combined() {
    std::byte* const whole = result();
    return whole != nullptr ? whole + offset(mine_.begin) : c_.staged.result;
  }

  // An operation may throw; the others still use this rank's buffers until all have met.
  template <class Step>
  void attempt(const Step& step) {
    try {
      step();
    } catch (const job_stopped&) {
      throw;
    } catch (...) {
      failure_ = std::current_exception();
      note_failure(c_, turn_.failed_here());
    }
  }
  void stop_if_failed() {
    // Relaxed: noted before a meeting of all of this process. The other sites wait for this one.
    if (!c_.failed.load(std::memory_order_relaxed)) [[likely]] return;
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    throw_failed(c_);
  }

  // Calls `visit(to, from)` for the other sites, starting with neighbours, so that not all send to
  // one at a time.
  template <class Visit>
  void each_other(const Visit& visit) const {
    for (std::size_t step = 1; step < sites_; ++step)
      visit((here_ + step) % sites_, (here_ + sites_ - step) % sites_);
  }
  void send(site_talk& talk, std::size_t to, const std::byte* data, std::size_t bytes) {
    if (bytes != 0) talk.send(static_cast<int>(to), tag_of_parts, {data, bytes});
  }
  void receive(site_talk& talk, std::size_t from, std::byte* into, std::size_t bytes) {
    if (bytes != 0) talk.receive(static_cast<int>(from), tag_of_parts, {into, bytes});
  }

  void exchange_partials() {
    stop_if_failed();
    const wait_description waiting = turn_.description();
    site_talk talk(c_, turn_.rank(), waiting);
    each_other([&](std::size_t to, std::size_t from) {
      if (combines()) receive(talk, from, arriving(from), mine_.bytes(how_));
      const element_range theirs = range_of(to);
      if (combines_at(to)) send(talk, to, partial() + offset(theirs.begin), theirs.bytes(how_));
    });
    talk.wait();
  }
  void combine() {
    std::byte* const to[] = {combined()};
    reduce_range(how_, share_of(how_, mine_, index_, c_.local().size()), sites_,
                 [&](std::size_t i, std::size_t n) {
                   return i == here_ ? partial() + offset(n) : arriving(i) + offset(n - mine_.begin);
                 },
                 to, mine_.begin);
  }
  void exchange_results() {
    stop_if_failed();
    const wait_description waiting = turn_.description();
    site_talk talk(c_, turn_.rank(), waiting);
    each_other([&](std::size_t to, std::size_t from) {
      const element_range theirs = range_of(from);
      if (wants_result(here_))
        receive(talk, from, result() + offset(theirs.begin), theirs.bytes(how_));
      if (wants_result(to)) send(talk, to, combined(), mine_.bytes(how_));
    });
    talk.wait();
  }
  void copy_result() {
    void* const out = turn_.self().out;
    if (out == nullptr || out == result()) return;
    std::memcpy(out, result(), how_.bytes());
  }

  communicator_state& c_;
  const reduction& how_;
  in_turn turn_;
  const std::size_t sites_;
  const std::size_t here_;
  const std::size_t index_;  // Among the ranks of this process.
  const std::size_t root_site_;
  const element_range whole_;
  const bool shares_;
  const element_range mine_;
  std::exception_ptr failure_;
};

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

[[nodiscard]] broadcast_question question_of(std::uint64_t turn, const collective_call& call,
                                             int rank) noexcept {
  broadcast_question asked{turn, call.bytes, call.root, rank};
  std::strncpy(asked.name, call.name, sizeof asked.name - 1);
  return asked;
}

struct question_in_mail {
  std::uint32_t context;
  std::int32_t rank;  // Who is asked.
  broadcast_question asked;
};

// A small broadcast whose root does not come: who has looked in vain for long asks it, once, whether
// it is in the same call. Of a root in another process the leader asks; its fellows ask the leader.
class patience {
 public:
  patience(communicator_state& c, in_turn& turn, int rank, const collective_call& call) noexcept
      : c_(c), here_(turn.here()), asked_(question_of(turn.self().turn, call, rank)) {
    const int leader = c.local()[0];
    whom_ = c.at(call.root).rank != nullptr || rank == leader ? call.root : leader;
  }
  void look() {
    if (++looks_ == looks_max && whom_ != asked_.rank) ask();
  }

 private:
  static constexpr int looks_max = 8;

  [[gnu::noinline]] void ask() {
    const peer& there = c_.to(whom_);
    if (there.worker == distant_worker)
      c_.of.ways->ask(here_, c_, whom_, asked_);
    else if (there.worker == here_.index())
      answer(here_, c_, whom_, asked_);
    else
      mail();
  }
  void mail() {
    const question_in_mail question{c_.context, whom_, asked_};
    here_.post(c_.to(whom_).worker, mail_question, static_cast<std::uint32_t>(c_.to(whom_).number),
               std::as_bytes(std::span(&question, 1)));
  }

  communicator_state& c_;
  worker& here_;
  const broadcast_question asked_;
  int whom_;
  int looks_ = 0;
};

}  // namespace

// A rank that is in another call than the one who asks will not come to it: all ranks call the same
// collectives, so those with the same number of calls before them are the same.
void answer(worker& here, communicator_state& c, int rank, const broadcast_question& asked) {
  member& m = c.at(rank);
  if (asked.turn < m.turn) return;  // It was there, and has gone on.
  if (m.acting != asked.turn) {
    if (asked.turn < m.asked.turn) m.asked = asked;  // Until it comes.
  } else if (!is_same(call_of(asked), m.call)) {
    break_communicator(here, c, mismatch(c, asked.rank, call_of(asked), rank, m.call));
  }
}

void on_question(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]] return;
  question_in_mail question;
  std::memcpy(&question, payload, sizeof question);
  const rank_state& to = rank_of(here, header.target);
  // Whoever asked may have gone, and the communicator with it.
  const auto c = find_communicator(to, question.context);
  if (c != nullptr && c->at(question.rank).rank == &to) answer(here, *c, question.rank, question.asked);
}

collective_call call_of(const broadcast_question& asked) noexcept {
  return {asked.name, asked.root, true, asked.bytes};
}

namespace {

// Returns when a root has published this broadcast.
void await_broadcast(communicator_state& c, in_turn& turn, std::uint64_t number, int rank,
                     const collective_call& call) {
  small_broadcasts& slots = *c.broadcasts;
  patience waits(c, turn, rank, call);
  turn.here().wait_until(
      [&] {
        if (slots.sent.holds(number)) return true;
        waits.look();
        // Relaxed: it says only that nobody will publish.
        return c.broken.load(std::memory_order_relaxed);
      },
      turn.description());
  if (!slots.sent.holds(number)) [[unlikely]] throw_failed(c);
}

// The octets of a small message into a contribution, and out of it.
void put(std::byte* to, std::span<std::byte> data) { copy_bytes(to, data.data(), data.size()); }
void put(std::byte* to, const segments& data) {
  if (data.size() != 0) copy_out(to, data);
}
void get(std::span<std::byte> data, const std::byte* from) {
  copy_bytes(data.data(), from, data.size());
}
void get(const segments& data, const std::byte* from) {
  if (data.size() != 0) copy_octets(data, segments({from, data.size()}), 0, data.size());
}

template <class Data>
void broadcast_small(communicator_state& c, int rank, const Data& data,
                     const collective_call& call) {
  in_turn turn(c, rank, call);
  member& m = turn.self();
  const std::uint64_t number = ++m.broadcasts;
  small_broadcasts& slots = *c.broadcasts;
  if (slots.sent.meets_before(number)) turn.meet();
  m.history = ((m.history ^ static_cast<std::uint64_t>(call.root) << 32 ^ data.size()) + 1) *
              0x9e3779b97f4a7c15u;  // Odd: nothing that went in is lost.
  // The root does not wait for the others.
  if (rank == call.root && slots.sent.try_take(number)) [[likely]] {
    slots.sent.publish(number, [&](contribution& to) {
      to.call = call;
      to.rank = rank;
      put(to.data, data);
    });
    turn.notify_all();
    if (c.spans_processes())
      turn.lead([&] {
        send_broadcast(c, turn.rank(), m.call, rank, number,
                       {slots.sent.content(number).data, data.size()});
      });
    return;
  }
  if (c.spans_processes() && rank == c.local()[0] && c.at(call.root).rank == nullptr) {
    std::byte arrived[small_bytes_max];
    patience waits(c, turn, rank, call);
    turn.lead([&] {
      receive_broadcast(c, m.call, rank, number, turn.description(), {arrived, data.size()},
                        [&] { waits.look(); });
    });
    get(data, arrived);
    if (!slots.sent.try_take(number)) return;
    slots.sent.publish(number, [&](contribution& to) {
      to.call = call;
      to.rank = call.root;
      copy_bytes(to.data, arrived, data.size());
    });
    turn.notify_all();
    return;
  }
  await_broadcast(c, turn, number, rank, call);
  const contribution& sent = slots.sent.content(number);
  check_same(c, sent.rank, sent.call, rank, call);
  get(data, sent.data);
}

// `mine` is what the root gives to each, and has the room for it elsewhere. Ranks may differ in whether
// they have a layout: all go the same way.
void broadcast_large(communicator_state& c, int rank, const collective_call& call,
                     const parts& mine) {
  parts from_root = mine;
  from_root.first = call.root;
  from_root.count = 1;
  const bool is_root = rank == call.root;
  exchange(c, rank,
           {.call = call, .only_shower = call.root, .part_bytes = call.bytes, .leaves_own = true},
           is_root ? mine : parts{}, is_root ? parts{} : from_root);
}

// One rank alone has no slots.
[[nodiscard]] bool is_small_broadcast(const communicator_state& c, std::size_t bytes) noexcept {
  return bytes <= small_bytes_max && c.size() != 1;
}

}  // namespace

void meet(communicator_state& c, int rank, const char* name) {
  in_turn(c, rank, {name, no_root, true, 0}).meet();
}

void broadcast(communicator_state& c, int rank, std::span<std::byte> data, int root,
               const char* name) {
  const collective_call call{name, root, true, data.size()};
  if (is_small_broadcast(c, data.size())) return broadcast_small(c, rank, data, call);
  parts mine{0, c.size()};
  mine.base = data.data();
  mine.bytes = data.size();
  broadcast_large(c, rank, call, mine);
}

void broadcast(communicator_state& c, int rank, const segments& data, int root, const char* name) {
  const collective_call call{name, root, true, data.size()};
  if (is_small_broadcast(c, data.size())) return broadcast_small(c, rank, data, call);
  broadcast_large(c, rank, call, parts::all_alike(data, 0, c.size()));
}

void reduce(communicator_state& c, int rank, const void* in, void* out, const reduction& how,
            int root, const char* name) {
  const collective_call call{name, root, true, how.bytes()};
  void* const wanted = root == no_root || root == rank ? out : nullptr;
  const bool ordered = how.commutative || c.combines_in_rank_order;
  if (how.bytes() <= small_bytes_max && ordered) {
    in_turn turn(c, rank, call);
    turn.self().in = in;
    turn.self().out = wanted;
    turn.meet(&how);
    return;
  }
  if (c.spans_processes() && (how.commutative || c.sites_in_rank_order)) {
    reduction_across_sites(c, rank, call, in, wanted, how).run();
    return;
  }
  const exhibit what{.part = &whole, .part_bytes = how.bytes()};
  show_and_move(c, rank, call, {in, wanted, how.bytes()}, what, [&](const auto& all) {
    reduce_range(how, share_of(how, {0, how.count}, c.local_place(rank), c.local().size()),
                 c.members.size(),
                 [&](std::size_t r, std::size_t n) {
                   return all.part(static_cast<int>(r)).data() + n * how.element_bytes;
                 },
                 outputs_here(c));
  });
}

void scan(communicator_state& c, int rank, const void* in, void* out, const reduction& how,
          bool inclusive, const char* name) {
  std::vector<std::byte> result(how.bytes());
  const int last = inclusive ? rank : rank - 1;
  const exhibit what{.part = &whole, .part_bytes = how.bytes()};
  show_and_move(c, rank, {name, no_root, true, how.bytes()}, {in, nullptr, how.bytes()}, what,
                [&](const auto& all) {
                  if (last < 0) return;
                  copy_bytes(result.data(), all.part(0).data(), how.bytes());
                  for (int r = 1; r <= last; ++r)
                    how.combine(how.op, result.data(), all.part(r).data(), how.count);
                });
  if (last >= 0) copy_bytes(out, result.data(), how.bytes());
}

void reduce_scatter(communicator_state& c, int rank, const void* in, void* out,
                    const reduction& how, std::span<const std::size_t> starts, const char* name) {
  std::vector<std::byte> result(how.bytes());
  const std::size_t element = how.element_bytes;
  const auto block_of = [&](const member& m, int reader) {
    const auto r = static_cast<std::size_t>(reader);
    const std::size_t begin = starts.empty() ? r * how.count : starts[r];
    const std::size_t end = starts.empty() ? begin + how.count : starts[r + 1];
    return std::span(static_cast<const std::byte*>(m.in) + begin * element,
                     (end - begin) * element);
  };
  const exhibit what{.part = block_of,
                     .per_reader = true,
                     .known = starts.empty() ? sizes::of_all : sizes::of_each,
                     .part_bytes = how.bytes()};
  const std::size_t all_bytes =
      starts.empty() ? how.bytes() : (starts.back() - starts.front()) * element;
  show_and_move(c, rank, {name, no_root, true, all_bytes}, {in, nullptr, all_bytes}, what,
                [&](const auto& all) {
                  copy_bytes(result.data(), all.part(0).data(), how.bytes());
                  for (int r = 1; r < c.size(); ++r)
                    how.combine(how.op, result.data(), all.part(r).data(), how.count);
                });
  copy_bytes(out, result.data(), how.bytes());
}

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
  broadcast(*state_, rank_, data, root, "bcast");
}

void communicator::reduce_elements(const void* in, void* out, const reduction& how, int root,
                                   const char* name) const {
  detail::reduce(*state_, rank_, in, out, how, root, name);
}

void communicator::scan_elements(const void* in, void* out, const reduction& how,
                                 bool inclusive) const {
  detail::scan(*state_, rank_, in, out, how, inclusive, inclusive ? "scan" : "exscan");
}

void communicator::reduce_scatter_elements(const void* in, void* out, const reduction& how) const {
  detail::reduce_scatter(*state_, rank_, in, out, how, {}, "reduce_scatter");
}

void communicator::gather_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                int root) const {
  communicator_state& c = *state_;
  const char* name = root == no_root ? "allgather" : "gather";
  const bool receives = root == no_root || root == rank_;
  if (receives && out.size() != in.size() * c.members.size())
    wrong_size(name, out.size(), in.size() * c.members.size(), "output");
  parts give{0, c.size()};
  give.base = const_cast<std::byte*>(in.data());  // It is only read.
  give.bytes = in.size();
  parts take{0, receives ? c.size() : 0};
  take.base = out.data();
  take.stride = static_cast<std::ptrdiff_t>(in.size());
  take.bytes = in.size();
  exchange(c, rank_,
           {.call = {name, root, true, in.size()}, .only_reader = root, .part_bytes = in.size()},
           give, take);
}

void communicator::scatter_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                 int root) const {
  communicator_state& c = *state_;
  if (rank_ == root && in.size() != out.size() * c.members.size())
    wrong_size("scatter", in.size(), out.size() * c.members.size(), "input");
  parts give{0, rank_ == root ? c.size() : 0};
  give.base = const_cast<std::byte*>(in.data());  // It is only read.
  give.stride = static_cast<std::ptrdiff_t>(out.size());
  give.bytes = out.size();
  parts take{root, 1};
  take.base = out.data();
  take.bytes = out.size();
  exchange(c, rank_,
           {.call = {"scatter", root, true, out.size()},
            .only_shower = root,
            .per_reader = true,
            .part_bytes = out.size()},
           give, take);
}

void communicator::alltoall_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                                  std::size_t element_bytes) const {
  communicator_state& c = *state_;
  if (in.size() != out.size()) wrong_size("alltoall", out.size(), in.size(), "output");
  const std::size_t whole = c.members.size() * element_bytes;
  if (in.size() % whole != 0) wrong_size("alltoall", in.size(), in.size() / whole * whole, "input");
  const std::size_t block = in.size() / c.members.size();
  parts give{0, c.size()};
  give.base = const_cast<std::byte*>(in.data());  // It is only read.
  give.stride = static_cast<std::ptrdiff_t>(block);
  give.bytes = block;
  parts take = give;
  take.base = out.data();
  exchange(c, rank_,
           {.call = {"alltoall", no_root, true, in.size()}, .per_reader = true, .part_bytes = block},
           give, take);
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

namespace detail {

request start_activity(const std::shared_ptr<communicator_state>& state, std::function<void()> body) {
  rank_state& me = calling_rank("a non-blocking call");
  me.home->check_stopped();
  kept_operation* op = take_kept(me);
  op->what = operation::kind::collective;
  op->communicator = state;
  op->active = true;
  watch_start(*op);
  op->body = std::move(body);
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

request start_collective(const std::shared_ptr<communicator_state>& state, int rank,
                         std::function<void()> body) {
  rank_state& me = calling_rank("a non-blocking collective");
  me.home->check_stopped();
  const std::uint64_t ticket = state->at(rank).tickets++;
  return start_activity(state, [c = state, rank, ticket, &me, run = std::move(body)] {
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
  });
}

}  // namespace detail

request communicator::start_collective(std::function<void()> body) const {
  return detail::start_collective(state_, rank_, std::move(body));
}

}  // namespace weft
