#include "collective/exchange.hpp"

#include "base/format.hpp"
#include "collective/buffer_exposure.hpp"
#include "collective/calls.hpp"
#include "collective/peer_failure.hpp"

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

// To which rank alone a member gives; no_root: to several, or that is not known here.
[[nodiscard]] int only_taker_of(const member& m) noexcept {
  if (m.rank == nullptr || m.more == nullptr) return no_root;
  const auto& given = *static_cast<const parts*>(m.more);
  return given.count == 1 ? given.first : no_root;
}

[[nodiscard]] std::size_t bytes_of_one(const parts& p) {
  return p.laid_out != nullptr ? p.at(p.first).size() : p.bytes;
}

// Of parts that all have one size.
[[nodiscard]] bool fits(const exchange_plan& plan, const parts& p) {
  return p.count == 0 || bytes_of_one(p) == plan.part_bytes;
}

}  // namespace

void exchange(communicator_state& c, int rank, const exchange_plan& plan, const parts& give,
              const parts& take) {
  if (plan.known == sizes::of_all && !(fits(plan, give) && fits(plan, take))) [[unlikely]] {
    // The others cannot see it: what travels is as long as all have said.
    in_turn turn(c, rank, plan.call);
    turn.lead([&] { wrong_length(c, plan, rank, bytes_of_one(give), rank, bytes_of_one(take)); });
  }
  if (goes_in_dropboxes(c, plan)) {
    in_turn turn(c, rank, plan.call);
    turn.meet_and_exchange(plan, give, take);
    return;
  }
  const exposure what{.part = &part_of,
                      .only_owner = plan.only_owner,
                      .only_reader = plan.only_reader,
                      .per_reader = plan.per_reader,
                      .known = plan.known,
                      .part_bytes = plan.part_bytes,
                      .ends_together = plan.explain != nullptr};
  const shown mine{give.base,   nullptr, give.bytes, is_plain(c, give) ? nullptr : &give,
                   give.stride, &take};
  show_and_move(c, rank, plan.call, mine, what, [&](const auto& all) {
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
      // What came from another process may have been put there.
      const bool is_there =
          take.laid_out == nullptr && data.contiguous() && data.flat().data() == take.row(from);
      if (room.size() != 0 && !is_there) copy_segments(room, data, 0, room.size());
    }
  });
}

}  // namespace weft::detail
