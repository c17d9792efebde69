// Reductions. Small ones travel in the dropboxes in which ranks meet. Of a larger one within a
// process each rank reduces a share of all inputs; over several processes there are more steps.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "collective/broken_communicator.hpp"
#include "collective/buffer_exposure.hpp"
#include "collective/collectives.hpp"

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

[[nodiscard]] byte_view bytes_at(const void* begin, std::size_t bytes) noexcept {
  return {static_cast<const std::byte*>(begin), begin != nullptr ? bytes : 0};
}

constexpr std::size_t block_bytes = 8 * 1024;

// Reduces these elements of `inputs`, in blocks that stay in the first-level cache; `input(i, n)`
// is element n of the i-th, in the order of reduction. The results go to all `outputs`, which begin
// with that of element `first`.
template <class Input>
void reduce_range(const reduction& how, const element_range& range, std::size_t inputs,
                  const Input& input, std::span<std::byte* const> outputs, std::size_t first = 0) {
  const std::size_t step = std::max<std::size_t>(1, block_bytes / how.element_bytes);
  alignas(64) std::byte local[block_bytes];
  padded_vector<std::byte> large;  // Aligned for any element.
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

// Reduces them so, too, and tells what has come out so far: `output(i, n)`, where there is one, is where
// element n of it goes after the i-th input has been added or, exclusive, before. It may be that input.
template <class Input, class Output>
void scan_range(const reduction& how, const element_range& range, std::size_t inputs,
                const Input& input, const Output& output, bool inclusive) {
  if (range.begin == range.end) return;
  const std::size_t step = std::max<std::size_t>(1, block_bytes / 2 / how.element_bytes);
  alignas(64) std::byte local[block_bytes];
  padded_vector<std::byte> large;  // Aligned for any element.
  std::byte* block = local;
  std::byte* kept = local + block_bytes / 2;
  if (how.element_bytes > block_bytes / 2) {
    large.resize(2 * how.element_bytes);
    block = large.data();
    kept = block + how.element_bytes;
  }
  for (std::size_t at = range.begin; at < range.end; at += step) {
    const std::size_t count = std::min(step, range.end - at);
    const std::size_t bytes = count * how.element_bytes;
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::byte* in = input(i, at);
      std::byte* const out = output(i, at);
      if (!inclusive && out != nullptr) {
        if (in == out) in = static_cast<std::byte*>(std::memcpy(kept, in, bytes));
        std::memcpy(out, block, bytes);
      }
      if (i == 0)
        std::memcpy(block, in, bytes);
      else if (inclusive || i + 1 < inputs)
        how.combine(how.op, block, in, count);
      if (inclusive && out != nullptr) std::memcpy(out, block, bytes);
    }
  }
}

// The outputs of this process's ranks that want the result.
[[nodiscard]] std::vector<std::byte*> outputs_here(communicator_state& c) {
  std::vector<std::byte*> outputs;
  for (const int r : c.local())
    if (void* out = c.at(r).out; out != nullptr) outputs.push_back(static_cast<std::byte*>(out));
  return outputs;
}

// A large reduction over several processes. Each process reduces the inputs of its own ranks. The
// elements are cut into lanes, as many as a node has processes at most, and each lane has an owner in each
// node: it combines what the processes of its node have, in the order of the subgroups. Of that each owner of a
// lane combines a share, in the order of the nodes, and they tell each other what came out, and then the
// other processes of their nodes. Of shorter lanes each owner combines all, which is one message less to
// wait for. docs/protocols/processes.md has the steps.
class reduction_across_subgroups {
 public:
  reduction_across_subgroups(communicator_state& c, int rank, const collective_call& call,
                             const void* in, void* out, const reduction& how)
      : c_(c),
        how_(how),
        turn_(c, rank, call),
        index_(c.local_place(rank)),
        root_subgroup_(call.root == no_root ? everywhere : c.subgroup_of(call.root)),
        by_node_(how.commutative ||
                 std::is_sorted(c.node_of_subgroup.begin(), c.node_of_subgroup.end())),
        nodes_(by_node_ ? c.nodes.size() : c.subgroups.size()),
        node_(node_of(c.here)),
        mates_(sites_on(node_)),
        place_(by_node_ ? place_on_node(c, c.here) : 0),
        lanes_(lane_count()),
        shares_(how.bytes() / (lanes_ * nodes_) >= shared_out_bytes_min),
        first_lane_(first_lane_of(place_)),
        last_lane_(first_lane_of(place_ + 1)),
        mine_(lanes_of(place_)) {
    turn_.self().in = in;
    turn_.self().out = out;
  }

  void run() {
    if (may_go_directly()) {
      meet_to_go_directly();
      if (direct().reach()) return run_directly();
      set_up();
    } else {
      if (leads()) set_up();
      turn_.meet_to_move();
    }
    if (reduces_first()) attempt([&] { reduce_own(); });
    if (c_.local().size() > 1) turn_.meet_here();
    if (mates_ > 1) {
      if (leads()) turn_.lead([&] { exchange_on_node(); });
      turn_.meet_here();
      attempt([&] { combine_on_node(); });
      turn_.meet_here();
    }
    if (leads()) turn_.lead([&] { exchange_between_nodes(); });
    turn_.meet_here();
    if (combines_at(node_)) attempt([&] { combine_nodes(); });
    turn_.meet_here();
    if (shares_ || mates_ > 1) {
      if (leads()) turn_.lead([&] { exchange_results(); });
      turn_.meet_here();
    }
    copy_result();
    turn_.meet_here();
    turn_.end_of_moving(failure_);
  }

 private:
  static constexpr int everywhere = -1;

  [[nodiscard]] bool leads() const noexcept { return index_ == 0; }
  [[nodiscard]] std::size_t offset(std::size_t element) const noexcept {
    return element * how_.element_bytes;
  }

  // --- Who does what: the same on all -----------------------------------------------------------
  // Each subgroup counts as a node of its own when the order of operands counts and the subgroups of a node do not
  // follow one another.
  [[nodiscard]] std::size_t node_of(int subgroup) const noexcept {
    return static_cast<std::size_t>(
        by_node_ ? c_.node_of_subgroup[static_cast<std::size_t>(subgroup)] : subgroup);
  }
  [[nodiscard]] std::size_t sites_on(std::size_t node) const noexcept {
    return by_node_ ? c_.nodes[node].size() : 1;
  }
  [[nodiscard]] int subgroup_at(std::size_t node, std::size_t place) const noexcept {
    return by_node_ ? c_.nodes[node][place] : static_cast<int>(node);
  }
  [[nodiscard]] std::size_t lane_count() const noexcept {
    std::size_t most = 1;
    for (std::size_t node = 0; node < nodes_; ++node) most = std::max(most, sites_on(node));
    return std::clamp<std::size_t>(how_.bytes() / shared_out_bytes_min, 1, most);
  }
  // The first lane that the subgroup at this place of this node owns; each owns lanes that follow one another.
  [[nodiscard]] std::size_t first_lane_of(std::size_t place) const noexcept {
    return (place * lanes_ + mates_ - 1) / mates_;
  }
  [[nodiscard]] element_range lanes_of(std::size_t place) const noexcept {
    const std::size_t first = first_lane_of(place), last = first_lane_of(place + 1);
    if (first == last) return {};
    return {lane(first).begin, lane(last - 1).end};
  }
  [[nodiscard]] int owner(std::size_t lane, std::size_t node) const noexcept {
    return subgroup_at(node, lane * sites_on(node) / lanes_);
  }
  [[nodiscard]] element_range lane(std::size_t index) const noexcept {
    return share_of(how_, whole_, index, lanes_);
  }
  // The part of a lane that its owner on this node combines.
  [[nodiscard]] element_range cell(std::size_t of_lane, std::size_t node) const noexcept {
    return shares_ ? share_of(how_, lane(of_lane), node, nodes_) : lane(of_lane);
  }
  [[nodiscard]] bool wants_result(int subgroup) const noexcept {
    return root_subgroup_ == everywhere || root_subgroup_ == subgroup;
  }
  [[nodiscard]] bool wants_result_on(std::size_t node) const noexcept {
    return root_subgroup_ == everywhere || node_of(root_subgroup_) == node;
  }
  [[nodiscard]] bool combines_at(std::size_t node) const noexcept {
    return shares_ || wants_result_on(node);
  }
  // A single rank's input is the partial result, where it is.
  [[nodiscard]] bool reduces_first() const noexcept { return c_.local().size() > 1; }

  // --- Where what is ----------------------------------------------------------------------------
  // Allocates the buffers. Called by the leader, before the ranks of this process meet.
  void set_up() {
    const std::size_t of_partial = reduces_first() ? how_.bytes() : 0;
    std::size_t of_arriving = 0;
    if (combines_at(node_))
      each_lane([&](std::size_t l) { of_arriving += cell(l, node_).bytes(how_) * nodes_; });
    if (mates_ > 1) of_arriving = std::max(of_arriving, mine_.bytes(how_) * mates_);
    const std::size_t of_result = wants_result(c_.here) ? 0 : mine_.bytes(how_);
    staging& s = c_.staged;
    s.partials = std::make_unique_for_overwrite<std::byte[]>(of_partial + of_arriving + of_result);
    s.partial = s.partials.get();
    s.arriving = s.partial + of_partial;
    s.result = s.arriving + of_arriving;
  }
  // The partial result of the ranks of this process.
  [[nodiscard]] const std::byte* partial(std::size_t element) noexcept {
    return (reduces_first() ? c_.staged.partial
                            : static_cast<const std::byte*>(c_.at(c_.local()[0]).in)) +
           offset(element);
  }
  // The partial result of this node, in the lanes of this subgroup.
  [[nodiscard]] const std::byte* partial_of_node(std::size_t element) {
    return mates_ > 1 ? combined(element) : partial(element);
  }
  // Where this subgroup combines its lanes: in the output of one of its ranks when the result is wanted here, else in a
  // buffer.
  [[nodiscard]] std::byte* combined(std::size_t element) {
    std::byte* const whole = result();
    return whole != nullptr ? whole + offset(element)
                            : c_.staged.result + offset(element - mine_.begin);
  }
  // The output of some rank.
  [[nodiscard]] std::byte* result() {
    for (const int r : c_.local())
      if (void* out = c_.at(r).out; out != nullptr) return static_cast<std::byte*>(out);
    return nullptr;
  }
  [[nodiscard]] std::byte* from_mate(std::size_t place) noexcept {
    return c_.staged.arriving + place * mine_.bytes(how_);
  }
  [[nodiscard]] std::byte* from_node(std::size_t of_lane, std::size_t node) noexcept {
    std::byte* at = c_.staged.arriving;
    for (std::size_t l = first_lane_; l < of_lane; ++l) at += cell(l, node_).bytes(how_) * nodes_;
    return at + node * cell(of_lane, node_).bytes(how_);
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
    // Relaxed: noted before a meeting of all of this process. The other subgroups wait for this one.
    if (!c_.failed.load(std::memory_order_relaxed)) [[likely]]
      return;
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    throw_failed(c_);
  }

  // Calls `visit` for each lane that this subgroup owns.
  template <class Visit>
  void each_lane(const Visit& visit) const {
    for (std::size_t l = first_lane_; l < last_lane_; ++l) visit(l);
  }
  // Calls `visit(to, from)` for all but `self` of `count`, starting with neighbours, so that not all
  // send to one at a time.
  template <class Visit>
  static void each_other(std::size_t self, std::size_t count, const Visit& visit) {
    for (std::size_t step = 1; step < count; ++step)
      visit((self + step) % count, (self + count - step) % count);
  }
  void send(subgroup_messages& messages, int to, const std::byte* data,
            const element_range& range) {
    if (range.bytes(how_) != 0) messages.send(to, tag_of_parts, {data, range.bytes(how_)});
  }
  void receive(subgroup_messages& messages, int from, std::byte* into, const element_range& range) {
    if (range.bytes(how_) != 0) messages.receive(from, tag_of_parts, {into, range.bytes(how_)});
  }
  // Calls `step(messages)`, in which the leader starts its sends and receives, and waits for them.
  template <class Step>
  void messages(const Step& step) {
    const wait_description waiting = turn_.description();
    subgroup_messages messages(c_, turn_.rank(), waiting);
    step(messages);
    messages.wait();
  }

  // --- Directly -----------------------------------------------------------------------------------
  // Between processes of one rank that reach each other's memory each owns a share: it reads that of all inputs and
  // combines it into its output, where the others read it once all have combined. If only the root wants the result, it
  // is written there: a write takes the kernel longer for each page, but so the root does not read all alone. Nobody
  // but its owner reads a share of an input, so an output may be an input.

  static constexpr std::size_t region_of_input = 0, region_of_output = 1;
  static constexpr std::size_t direct_block_bytes = 256 * 1024;  // Stays in the second-level cache.

  // The same answer in all processes.
  [[nodiscard]] bool may_go_directly() const noexcept {
    const std::size_t count = c_.subgroups.size();
    return count <= direct_transfers::subgroups_max &&
           how_.bytes() / count >= direct_transfers::part_bytes_min &&
           how_.element_bytes <= direct_block_bytes && c_.members.size() == count;
  }
  [[nodiscard]] element_range direct_share(std::size_t subgroup) const noexcept {
    return share_of(how_, whole_, subgroup, c_.subgroups.size());
  }
  [[nodiscard]] direct_transfers direct() noexcept {
    return {c_, turn_.self().call, c_.local()[0], turn_.description()};
  }
  [[nodiscard]] int meetings_within() const noexcept {
    return root_subgroup_ == everywhere ? 1 : 0;
  }
  // Each opens its input, and its output if it has one.
  void meet_to_go_directly() {
    turn_.meet_prepared([](worker_group&) {},
                        [&] {
                          direct_transfers others = direct();
                          const member& own = turn_.self();
                          const bool is_written = root_subgroup_ == c_.here;
                          if (!others.reach())
                            return meet_subgroups(c_, own.call, c_.local()[0], turn_.description());
                          others.meet(
                              [&](int, opened_memory& opened) {
                                opened.add(bytes_at(own.in, how_.bytes()), peer_access::read);
                                if (own.out != nullptr)
                                  opened.add(bytes_at(own.out, how_.bytes()),
                                             is_written ? peer_access::write : peer_access::read);
                              },
                              is_written, meetings_within());
                        });
  }
  void run_directly() {
    direct_transfers others = direct();
    turn_.lead([&] {
      const auto work = [&] {
        if (root_subgroup_ != everywhere)
          return combine_share(others, [&](const element_range& range, const std::byte* result) {
            give_result(others, range, result);
          });
        combine_share(others, [](const element_range&, const std::byte*) {});
        others.meet_again();
        take_results(others);
      };
      others.run(work, meetings_within());
      others.end();
    });
    turn_.meet_here();
    turn_.end_of_moving(nullptr);
  }
  // This process's share of all inputs: blocks of those of others are read, combined, and `give(range, result)` is called
  // with what has come out. It is in the output, if there is one.
  template <class Give>
  void combine_share(direct_transfers& others, const Give& give) {
    const auto here = static_cast<std::size_t>(c_.here);
    const std::size_t count = c_.subgroups.size();
    const element_range mine = direct_share(here);
    const std::size_t step = direct_block_bytes / how_.element_bytes;
    const std::size_t block = std::min(step, mine.end - mine.begin) * how_.element_bytes;
    const auto* const in = static_cast<const std::byte*>(turn_.self().in);
    auto* const out = static_cast<std::byte*>(turn_.self().out);
    // In the place of the own block is what has come out, if it is not wanted here.
    const auto blocks = std::make_unique_for_overwrite<std::byte[]>(block * count);
    for (element_range now{mine.begin, 0}; now.begin < mine.end; now.begin = now.end) {
      now.end = std::min(now.begin + step, mine.end);
      each_other(here, count, [&](std::size_t, std::size_t from) {
        others.read(static_cast<int>(from), region_of_input, offset(now.begin),
                    {&blocks[from * block], now.bytes(how_)});
      });
      others.wait();
      std::byte* const result = out != nullptr ? out + offset(now.begin) : &blocks[here * block];
      reduce_range(
          how_, now, count,
          [&](std::size_t i, std::size_t n) {
            return i == here ? in + offset(n) : &blocks[i * block] + offset(n - now.begin);
          },
          std::array{result}, now.begin);
      give(now, result);
    }
  }
  void give_result(direct_transfers& others, const element_range& range, const std::byte* result) {
    if (root_subgroup_ == c_.here) return;
    others.write(root_subgroup_, region_of_output, offset(range.begin),
                 {result, range.bytes(how_)});
    others.wait();
  }
  void take_results(direct_transfers& others) {
    auto* const out = static_cast<std::byte*>(turn_.self().out);
    const auto here = static_cast<std::size_t>(c_.here);
    each_other(here, c_.subgroups.size(), [&](std::size_t, std::size_t from) {
      const element_range theirs = direct_share(from);
      others.read(static_cast<int>(from), region_of_output, offset(theirs.begin),
                  {out + offset(theirs.begin), theirs.bytes(how_)});
    });
  }

  // --- The steps --------------------------------------------------------------------------------
  // This rank's share of a range, which the ranks of its process divide among them.
  [[nodiscard]] element_range own_share(const element_range& range) const noexcept {
    return share_of(how_, range, index_, c_.local().size());
  }
  void reduce_own() {
    std::byte* const to[] = {c_.staged.partial};
    reduce_range(
        how_, own_share(whole_), c_.local().size(),
        [&](std::size_t i, std::size_t n) {
          return static_cast<const std::byte*>(c_.at(c_.local()[i]).in) + offset(n);
        },
        to);
  }
  void exchange_on_node() {
    stop_if_failed();
    messages([&](subgroup_messages& with) {
      each_other(place_, mates_, [&](std::size_t to, std::size_t from) {
        receive(with, subgroup_at(node_, from), from_mate(from), mine_);
        send(with, subgroup_at(node_, to), partial(lanes_of(to).begin), lanes_of(to));
      });
    });
  }
  void combine_on_node() {
    if (mine_.bytes(how_) == 0) return;
    std::byte* const to[] = {combined(mine_.begin)};
    reduce_range(
        how_, own_share(mine_), mates_,
        [&](std::size_t i, std::size_t n) {
          return i == place_ ? partial(n) : from_mate(i) + offset(n - mine_.begin);
        },
        to, mine_.begin);
  }
  void exchange_between_nodes() {
    stop_if_failed();
    messages([&](subgroup_messages& with) {
      each_other(node_, nodes_, [&](std::size_t to, std::size_t from) {
        each_lane([&](std::size_t l) {
          if (combines_at(node_)) receive(with, owner(l, from), from_node(l, from), cell(l, node_));
          if (combines_at(to))
            send(with, owner(l, to), partial_of_node(cell(l, to).begin), cell(l, to));
        });
      });
    });
  }
  void combine_nodes() {
    each_lane([&](std::size_t l) {
      const element_range range = cell(l, node_);
      const std::byte* const own = partial_of_node(range.begin);
      std::byte* const to[] = {combined(range.begin)};
      reduce_range(
          how_, own_share(range), nodes_,
          [&](std::size_t i, std::size_t n) {
            return (i == node_ ? own : from_node(l, i)) + offset(n - range.begin);
          },
          to, range.begin);
    });
  }
  void exchange_results() {
    stop_if_failed();
    if (shares_)
      messages([&](subgroup_messages& with) {
        each_other(node_, nodes_, [&](std::size_t to, std::size_t from) {
          each_lane([&](std::size_t l) {
            if (wants_result_on(node_))
              receive(with, owner(l, from), combined(cell(l, from).begin), cell(l, from));
            if (wants_result_on(to))
              send(with, owner(l, to), combined(cell(l, node_).begin), cell(l, node_));
          });
        });
      });
    if (mates_ == 1 || !wants_result_on(node_)) return;
    messages([&](subgroup_messages& with) {
      each_other(place_, mates_, [&](std::size_t to, std::size_t from) {
        if (wants_result(c_.here))
          receive(with, subgroup_at(node_, from), result() + offset(lanes_of(from).begin),
                  lanes_of(from));
        if (wants_result(subgroup_at(node_, to)))
          send(with, subgroup_at(node_, to), combined(mine_.begin), mine_);
      });
    });
  }
  void copy_result() {
    void* const out = turn_.self().out;
    if (out == nullptr || out == result()) return;
    std::memcpy(out, result(), how_.bytes());
  }

  communicator_state& c_;
  const reduction& how_;
  collective_turn turn_;
  const std::size_t index_;  // Among the ranks of this process.
  const int root_subgroup_;
  const element_range whole_{0, how_.count};
  const bool by_node_;
  const std::size_t nodes_;
  const std::size_t node_;   // Of this subgroup,
  const std::size_t mates_;  // how many are there,
  const std::size_t place_;  // and which of them it is.
  const std::size_t lanes_;
  const bool shares_;
  const std::size_t first_lane_;
  const std::size_t last_lane_;
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
    collective_turn turn(c, rank, call);
    turn.self().in = in;
    turn.self().out = wanted;
    turn.meet(&how);
    return;
  }
  const input_apart from(bytes_at(in, how.bytes()), bytes_at(wanted, how.bytes()), in == out);
  if (c.spans_processes() && (how.commutative || c.subgroups_in_rank_order)) {
    reduction_across_subgroups(c, rank, call, from.data(), wanted, how).run();
    return;
  }
  const exposure what{.part = &whole, .part_bytes = how.bytes()};
  show_and_move(c, rank, call, {from.data(), wanted, how.bytes()}, what, [&](const auto& all) {
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
  void* const wanted = inclusive || rank != 0 ? out : nullptr;
  const input_apart from(bytes_at(in, how.bytes()), bytes_at(wanted, how.bytes()), in == out);
  const exposure what{.part = &whole, .part_bytes = how.bytes()};
  show_and_move(c, rank, {name, no_root, true, how.bytes(), how.combines},
                {from.data(), wanted, how.bytes()}, what, [&](const auto& all) {
                  const auto last = static_cast<std::size_t>(c.local().back());
                  scan_range(
                      how, share_of(how, {0, how.count}, c.local_place(rank), c.local().size()),
                      last + 1,
                      [&](std::size_t r, std::size_t n) {
                        return all.part(static_cast<int>(r)).data() + n * how.element_bytes;
                      },
                      [&](std::size_t r, std::size_t n) -> std::byte* {
                        const member& m = c.at(static_cast<int>(r));
                        if (m.rank == nullptr || m.out == nullptr) return nullptr;
                        return static_cast<std::byte*>(m.out) + n * how.element_bytes;
                      },
                      inclusive);
                });
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
  const exposure what{.part = block_of,
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
