// Reductions. Small ones travel in the dropboxes in which ranks meet. Of a larger one within a
// process each rank reduces a share of all inputs; over several processes there are more steps.
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "rank/collectives.hpp"
#include "rank/exhibition.hpp"

namespace weft::detail {
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

// Reduces these elements of `inputs`, in blocks that stay in the first-level cache; `input(i, n)`
// is element n of the i-th, in the order of reduction. The results go to all `outputs`, which begin
// with that of element `first`.
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
// these partial results each process combines a share, in the order of the sites, and they tell
// each other what came out. Of shorter ones each combines all, which is one message less to wait
// for. docs/protocols/processes.md has the steps.
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
        root_site_(call.root == no_root ? everywhere
                                        : static_cast<std::size_t>(c.site_of(call.root))),
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
        reduce_range(
            how_, share_of(how_, whole_, index_, c_.local().size()), c_.local().size(),
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
    if (!c_.failed.load(std::memory_order_relaxed)) [[likely]]
      return;
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
    reduce_range(
        how_, share_of(how_, mine_, index_, c_.local().size()), sites_,
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
}  // namespace

void reduce(communicator_state& c, int rank, const void* in, void* out, const reduction& how,
            int root, const char* name) {
  const collective_call call{name, root, true, how.bytes(), how.combines};
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
    reduce_range(
        how, share_of(how, {0, how.count}, c.local_place(rank), c.local().size()), c.members.size(),
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
  show_and_move(c, rank, {name, no_root, true, how.bytes(), how.combines},
                {in, nullptr, how.bytes()}, what, [&](const auto& all) {
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
  show_and_move(c, rank, {name, no_root, true, all_bytes, how.combines}, {in, nullptr, all_bytes},
                what, [&](const auto& all) {
                  copy_bytes(result.data(), all.part(0).data(), how.bytes());
                  for (int r = 1; r < c.size(); ++r)
                    how.combine(how.op, result.data(), all.part(r).data(), how.count);
                });
  copy_bytes(out, result.data(), how.bytes());
}

}  // namespace weft::detail
