#include "collective/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/format.hpp"
#include "collective/buffer_exposure.hpp"
#include "collective/calls.hpp"
#include "collective/peer_failure.hpp"
#include "rank/names.hpp"

namespace weft::detail {
namespace {

// A member shows its parts themselves when each rank gets one and all lie in a row.
[[nodiscard]] bool is_plain(const communicator_state& c, const parts& give) noexcept {
  return give.laid_out == nullptr && give.first == 0 && give.count == c.size();
}

[[nodiscard]] segments part_of(const member& m, int reader) {
  if (m.more != nullptr) return static_cast<const parts*>(m.more)->at(reader);
  return segments({static_cast<const std::byte*>(m.in) + m.stride * reader, m.bytes});
}

[[noreturn, gnu::cold]] void wrong_length(const communicator_state& c, const exchange_plan& plan,
                                          int giver, std::size_t gives, int taker,
                                          std::size_t takes, int only_taker = no_root) {
  if (plan.explain != nullptr) (*plan.explain)({giver, gives, only_taker, taker, takes});
  const auto* const me = static_cast<const rank_state*>(worker::caller());
  throw coded_error(
      formatted(
          "{}: rank {} gives {} bytes to rank {}, which takes {}: both must say the same number",
          plan.call.name, name_of_peer(me, c.context, giver), gives,
          name_of_peer(me, c.context, taker), takes),
      lengths_differ);
}

// Small parts of one size for all ranks, which share memory.
[[nodiscard]] bool goes_in_dropboxes(const communicator_state& c,
                                     const exchange_plan& plan) noexcept {
  return plan.known == sizes::of_all && plan.only_owner == no_root && plan.only_reader == no_root &&
         !c.spans_processes() && c.groups.size() <= tree_width &&
         plan.part_bytes * (plan.per_reader ? c.parts_of_group_max : c.ranks_of_group_max) <=
             small_bytes_max;
}

// Parts so small that finding them costs more than copying, of so many ranks that it pays to put those of a worker in a
// row once. Where all ranks are in this process: what comes from others is in rows already.
constexpr std::size_t row_part_bytes_max = 256;
constexpr std::size_t row_ranks_min = 32;

[[nodiscard]] bool goes_in_rows(const communicator_state& c, const exchange_plan& plan) noexcept {
  return plan.known == sizes::of_all && plan.only_owner == no_root && plan.only_reader == no_root &&
         !plan.per_reader && plan.explain == nullptr && plan.part_bytes != 0 &&
         plan.part_bytes <= row_part_bytes_max && c.ranks_of_group_max >= row_ranks_min &&
         !c.spans_processes();
}

[[nodiscard]] std::unique_ptr<std::byte[]>& row_of(communicator_state& c, const worker_group& g) {
  return c.staged.buffers[static_cast<std::size_t>(&g - c.groups.data())];
}

// Called by who speaks for the group, before all have met. They read it until they have met again.
void put_in_row(communicator_state& c, const worker_group& g, std::size_t part_bytes) {
  std::unique_ptr<std::byte[]>& row = row_of(c, g);
  if (row == nullptr)
    row = std::make_unique_for_overwrite<std::byte[]>(g.members.size() * row_part_bytes_max);
  std::byte* to = row.get();
  for (const int giver : g.members) {
    const member& m = c.at(giver);
    if (m.more == nullptr) [[likely]]
      copy_short(to, m.in, part_bytes);
    else
      copy_out(to, part_of(m, giver));
    to += part_bytes;
  }
}

void take_rows(communicator_state& c, const parts& take, std::size_t part_bytes) {
  for (const worker_group& g : c.groups) {
    const int first = g.members.front();
    const std::size_t count = g.members.size();
    const std::byte* from = row_of(c, g).get();
    if (take.laid_out == nullptr && take.stride == static_cast<std::ptrdiff_t>(part_bytes) &&
        g.members.back() == first + static_cast<int>(count) - 1) {
      std::memcpy(take.base + take.stride * first, from, count * part_bytes);
      continue;
    }
    for (const int giver : g.members) {
      take.put(giver, from, part_bytes);
      from += part_bytes;
    }
  }
}

// Passing: a rank that is alone on its worker copies what it gives to others into memory of its own beside its dropbox, and
// who takes it knows from the dropbox where each part lies. Nobody reads the rank's buffer, so all go on without a second
// meeting. It pays where a meeting and the search for a part in the giver's lists cost more than a copy.
//
// The memory has two halves, used by turns as the slots of the dropbox are: R1 and A1 of sync/dropbox.hpp order what is
// written and read there, and the rule when a slot may be written again holds for a half as well.
constexpr std::size_t passed_bytes_max = 8192;
// Said in place of a size: the rank does not pass its parts, or the part is longer than any that is passed; it has no place for
// a part of that rank, and does not mind what that gives.
constexpr std::uint16_t not_passed = 0xffff, not_taken = 0xfffe;
static_assert(passed_bytes_max < not_taken);
// Said by each rank: how much it gives to each and takes from each. All see which ranks disagree.
struct passed_sizes {
  std::array<std::uint16_t, tree_width> gives, takes;
};

[[nodiscard]] bool may_pass(const communicator_state& c, const exchange_plan& plan) noexcept {
  const std::size_t parts_given = plan.per_reader ? c.members.size() - 1 : 1;
  return plan.only_owner == no_root && plan.only_reader == no_root && plan.explain == nullptr &&
         c.ranks_of_group_max == 1 && c.groups.size() > 1 && c.groups.size() <= tree_width &&
         !c.spans_processes() &&
         (plan.known == sizes::of_each || plan.part_bytes <= passed_bytes_max / parts_given);
}

[[nodiscard]] std::byte* passed_by(communicator_state& c, const worker_group& g,
                                   std::uint64_t meeting) noexcept {
  return row_of(c, g).get() + meeting % 2 * passed_bytes_max;
}

[[nodiscard]] std::size_t size_of(const parts& p, int rank) {
  if (!p.has(rank)) return 0;
  return p.laid_out == nullptr ? p.bytes : p.at(rank).size();
}

// One rank's part in an exchange whose parts may be passed.
class passing {
 public:
  passing(communicator_state& c, int rank, const exchange_plan& plan, const parts& give,
          const parts& take) noexcept
      : c_(c), rank_(rank), plan_(plan), give_(give), take_(take) {}

  // Returns whether all have passed their parts, and this rank has those for it. False: all have shown their buffers.
  [[nodiscard]] bool meet(collective_turn& turn) {
    turn.meet_saying(
        [&](worker_group& g, std::uint64_t meeting, std::byte* data) {
          meeting_ = meeting;
          return say(g, data);
        },
        [&](const worker_group& g, const std::byte* data) { hear(g, data, turn); });
    if (!all_pass_) return false;
    take_all();
    return true;
  }

 private:
  [[nodiscard]] std::size_t count() const noexcept { return c_.members.size(); }
  [[nodiscard]] static std::size_t at(int rank) noexcept { return static_cast<std::size_t>(rank); }

  // Returns the size of what it has written to `data`: the sizes that this rank gives, then those that it takes.
  std::size_t say(const worker_group& g, std::byte* data) {
    passed_sizes sizes{};
    std::size_t total = 0;
    for (int r = 0; r < c_.size(); ++r) {
      if (r == rank_) continue;
      const std::size_t gives = size_of(give_, r);
      if (plan_.per_reader || total == 0) total += gives;
      sizes.gives[at(r)] = static_cast<std::uint16_t>(gives);
      sizes.takes[at(r)] = said_of(r);
      if (total > passed_bytes_max) break;
    }
    // Of its own part the others need only know whether it fits.
    if (!plan_.leaves_own && take_.has(rank_) && size_of(give_, rank_) != size_of(take_, rank_))
      sizes.takes[at(rank_)] = 1;
    if (total > passed_bytes_max)
      sizes.gives.fill(not_passed);
    else if (total != 0)
      pass(g);
    const std::size_t bytes = count() * sizeof sizes.gives[0];
    std::memcpy(data, sizes.gives.data(), bytes);
    std::memcpy(data + bytes, sizes.takes.data(), bytes);
    return 2 * bytes;
  }
  [[nodiscard]] std::uint16_t said_of(int giver) const {
    if (!take_.has(giver)) return not_taken;
    const std::size_t takes = size_of(take_, giver);
    return takes > passed_bytes_max ? not_passed : static_cast<std::uint16_t>(takes);
  }
  void pass(const worker_group& g) {
    std::unique_ptr<std::byte[]>& both = row_of(c_, g);
    if (both == nullptr) [[unlikely]]
      both = std::make_unique_for_overwrite<std::byte[]>(2 * passed_bytes_max);
    std::byte* to = passed_by(c_, g, meeting_);
    for (int r = 0; r < c_.size(); ++r) {
      if (r == rank_) continue;
      const std::size_t bytes = size_of(give_, r);
      give_.get(r, to, bytes);
      if (!plan_.per_reader && bytes != 0) return;  // All get the same.
      to += bytes;
    }
  }

  void hear(const worker_group& g, const std::byte* data, collective_turn& turn) {
    passed_sizes& sizes = said_[at(g.members[0])];
    const std::size_t bytes = count() * sizeof sizes.gives[0];
    std::memcpy(sizes.gives.data(), data, bytes);
    std::memcpy(sizes.takes.data(), data + bytes, bytes);
    all_pass_ = all_pass_ && sizes.gives[0] != not_passed;
    if (++heard_ == c_.groups.size() && all_pass_) check(turn);
  }
  // All ranks find the same that disagree; those that take tell of it, as in an exchange that is not passed.
  void check(collective_turn& turn) const {
    bool others_disagree = false;
    for (int giver = 0; giver < c_.size(); ++giver)
      for (int taker = 0; taker < c_.size(); ++taker) {
        const std::uint16_t takes = said_[at(taker)].takes[at(giver)];
        if (said_[at(giver)].gives[at(taker)] == takes || takes == not_taken) [[likely]]
          continue;
        others_disagree = true;
        if (taker != rank_) continue;
        const std::size_t gives =
            giver == rank_ ? size_of(give_, rank_) : said_[at(giver)].gives[at(taker)];
        wrong_length(c_, plan_, giver, gives, taker, size_of(take_, giver));
      }
    if (others_disagree) turn.await_failure();
  }

  void take_all() {
    for (const worker_group& g : c_.groups) {
      const int giver = g.members[0];
      if (giver == rank_) continue;
      const auto& gives = said_[at(giver)].gives;
      if (gives[at(rank_)] == 0 || !take_.has(giver)) continue;
      const std::byte* from = passed_by(c_, g, meeting_);
      if (plan_.per_reader)
        for (int r = 0; r < rank_; ++r) from += gives[at(r)];
      take_.put(giver, from, gives[at(rank_)]);
    }
    if (plan_.leaves_own || size_of(take_, rank_) == 0) return;
    if (give_.laid_out == nullptr && take_.laid_out == nullptr)
      copy_bytes(const_cast<std::byte*>(take_.row(rank_)), give_.row(rank_), take_.bytes);
    else
      copy_segments(take_.at(rank_), give_.at(rank_), 0, size_of(take_, rank_));
  }

  communicator_state& c_;
  const int rank_;
  const exchange_plan& plan_;
  const parts& give_;
  const parts& take_;
  std::uint64_t meeting_ = 0;
  std::size_t heard_ = 0;
  bool all_pass_ = true;
  std::array<passed_sizes, tree_width> said_;  // By the rank that says it.
};

// Returns the only rank that this member gives to; no_root when there are several, or the member is in another process.
[[nodiscard]] int only_taker_of(const member& m) noexcept {
  if (m.rank == nullptr || m.more == nullptr) return no_root;
  const auto& given = *static_cast<const parts*>(m.more);
  return given.count == 1 ? given.first : no_root;
}

[[nodiscard]] std::size_t bytes_of_one(const parts& p) {
  return p.laid_out != nullptr ? p.at(p.first).size() : p.bytes;
}

// Whether parts that all have one size have that of the plan.
[[nodiscard]] bool fits(const exchange_plan& plan, const parts& p) {
  return p.count == 0 || bytes_of_one(p) == plan.part_bytes;
}

}  // namespace

void exchange(communicator_state& c, int rank, const exchange_plan& plan, const parts& give,
              const parts& take) {
  if (plan.known == sizes::of_all && !(fits(plan, give) && fits(plan, take))) [[unlikely]] {
    // The others cannot see it: what travels is as long as all have said.
    collective_turn turn(c, rank, plan.call);
    turn.lead([&] { wrong_length(c, plan, rank, bytes_of_one(give), rank, bytes_of_one(take)); });
  }
  if (goes_in_dropboxes(c, plan)) {
    collective_turn turn(c, rank, plan.call);
    turn.meet_and_exchange(plan, give, take);
    return;
  }
  collective_turn turn(c, rank, plan.call);
  show(turn.self(),
       {give.base, nullptr, give.bytes, is_plain(c, give) ? nullptr : &give, give.stride, &take});
  const bool may_be_passed = may_pass(c, plan);
  if (may_be_passed && passing(c, rank, plan, give, take).meet(turn)) return;
  const exposure what{.part = &part_of,
                      .only_owner = plan.only_owner,
                      .only_reader = plan.only_reader,
                      .per_reader = plan.per_reader,
                      .known = plan.known,
                      .part_bytes = plan.part_bytes,
                      .ends_together = plan.explain != nullptr,
                      .leaves_shown = true};
  const bool in_rows = goes_in_rows(c, plan);
  const bool takes_rows = in_rows && take.count == c.size();
  const auto move = [&](const auto& all) {
    if (takes_rows) return take_rows(c, take, plan.part_bytes);
    if (plan.explain != nullptr)
      for (int from = 0; from < c.size(); ++from)
        if (const std::size_t gives = take.has(from) ? 0 : all.part(from).size(); gives != 0)
          wrong_length(c, plan, from, gives, rank, 0, only_taker_of(c.at(from)));
    // Starting with oneself, so that not all read from one rank at a time.
    int place = take.has(rank) ? rank - take.first : 0;
    for (int step = 0; step < take.count; ++step, ++place) {
      if (place == take.count) place = 0;
      const int from = take.first + place;
      if (from == rank && plan.leaves_own) continue;
      const member& m = c.at(from);
      if (m.more == nullptr && m.rank != nullptr && take.laid_out == nullptr &&
          m.bytes == take.bytes) [[likely]] {
        copy_bytes(take.base + take.stride * place,
                   static_cast<const std::byte*>(m.in) + m.stride * rank, m.bytes);
        continue;
      }
      const segments data = all.part(from);
      const segments room = take.at(from);
      if (data.size() != room.size()) [[unlikely]]
        wrong_length(c, plan, from, data.size(), rank, room.size(), only_taker_of(m));
      // A part from another process may have been received at its place already.
      const bool is_there =
          take.laid_out == nullptr && data.contiguous() && data.flat().data() == take.row(from);
      if (room.size() != 0 && !is_there) copy_segments(room, data, 0, room.size());
    }
  };
  buffer_exposure<decltype(what.part)> all(c, rank, turn, what);
  if (!may_be_passed)
    turn.meet_prepared(
        [&](worker_group& g) {
          if (in_rows) put_in_row(c, g, plan.part_bytes);
        },
        [&] { all.meet_subgroups(); });
  else
    turn.begin_moving();
  move_shown(c, rank, turn, what, all, move);
}

}  // namespace weft::detail
