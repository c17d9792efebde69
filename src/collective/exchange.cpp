#include "collective/exchange.hpp"

#include <cstring>

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
  const exposure what{.part = &part_of,
                      .only_owner = plan.only_owner,
                      .only_reader = plan.only_reader,
                      .per_reader = plan.per_reader,
                      .known = plan.known,
                      .part_bytes = plan.part_bytes,
                      .ends_together = plan.explain != nullptr,
                      .leaves_shown = true};
  const shown mine{give.base,   nullptr, give.bytes, is_plain(c, give) ? nullptr : &give,
                   give.stride, &take};
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
  show_and_move(c, rank, plan.call, mine, what, move, [&](worker_group& g) {
    if (in_rows) put_in_row(c, g, plan.part_bytes);
  });
}

}  // namespace weft::detail
