#include "mpi/collective/exchange_call.hpp"

#include <cstdint>

#include "mpi/datatype/overlap.hpp"
#include "mpi/point_to_point/type_ledger.hpp"

namespace weft::mpi {

using namespace detail;

void exchange_call::exchange_copies() const {
  std::vector<std::byte> copies;
  std::vector<segments> copied;
  std::size_t bytes = 0;
  for (int i = 0; i < take.count(); ++i) bytes += take.at(i).size();
  copies.resize(bytes);
  std::size_t at = 0;
  for (int i = 0; i < take.count(); ++i) {
    const segments part = take.at(i);
    copied.emplace_back(byte_view(copies.data() + at, part.size()));
    if (part.size() != 0) copy_segments(copied.back(), part, 0, part.size());
    at += part.size();
  }
  parts from = take.view();
  from.laid_out = [](const void* of, int place) { return static_cast<const segments*>(of)[place]; };
  from.of = copied.data();
  exchange(*c, rank, plan, from, take.view());
}

void exchange_call::exchange_with_root() const {
  const explanation explain = [this](const unequal_parts& found) {
    check_claims(plan.call.name, *claim, found);
  };
  exchange_plan explained = plan;
  explained.explain = &explain;
  exchange(*c, rank, explained, give.view(), take.view());
}

void check_block_not_aliased(const communicator_object& c, const void* blocks, MPI_Count count,
                             const datatype_object& type, const void* other) {
  if (bytes_of(count, type) == 0 || blocks == nullptr) return;
  check_not_aliased(blocks, other, 1);
  if (type.sections != nullptr)
    return;  // Its elements do not lie in a row, so the own block lies elsewhere.
  // Computed with unsigned integers, which may wrap around: an extent may be larger than the memory that there is.
  const auto own = reinterpret_cast<std::uintptr_t>(blocks) +
                   static_cast<std::uintptr_t>(c.own) * static_cast<std::uintptr_t>(count) *
                       static_cast<std::uintptr_t>(type.extent);
  if (!c.is_inter() && own == reinterpret_cast<std::uintptr_t>(other)) fail_alias();
}

void set_claim(exchange_call& x, const communicator_object& c, const part_of_root& mine,
               bool root_gives) {
  if (c.is_inter()) x.claim = claim_of_root{root_gives, mine, c.peers_first, c.locals_first};
}

exchange_call make_exchange(communicator_object& c, const char* name) {
  exchange_call x{};
  x.c = c.shared;
  x.rank = c.own;
  x.plan.call = {name, no_root, false, 0};
  x.plan.per_reader = true;
  x.plan.known = sizes::of_each;
  return x;
}

void set_equal(exchange_call& x, const communicator_object& c, std::size_t part_bytes, int root) {
  if (c.is_inter()) return;
  x.plan.call.root = root;
  x.plan.call.same_size = true;
  x.plan.call.bytes = part_bytes;
  x.plan.known = sizes::of_all;
  x.plan.part_bytes = part_bytes;
}

void note_exchange(state& me, const communicator_object& c, const exchange_call& x) {
  if (!keeps_ledger(me)) [[likely]]
    return;
  (x.replaces ? x.take : x.give)
      .each_named([&](int taker, const datatype_object& type, MPI_Count count) {
        if (taker != c.own && (x.plan.only_reader == no_root || x.plan.only_reader == taker))
          note_given(me, c, taker, type, count);
      });
  x.take.each_named([&](int giver, const datatype_object& type, MPI_Count count) {
    if (giver != c.own && (x.plan.only_owner == no_root || x.plan.only_owner == giver))
      note_taken(me, c, x.plan.call.name, giver, type, count);
  });
  const bool gives = x.plan.only_owner == no_root || x.plan.only_owner == c.own;
  const bool takes = x.plan.only_reader == no_root || x.plan.only_reader == c.own;
  if (takes) note_use(me, x.plan.call.name, x.take.view(), true);
  if (gives && !x.replaces) note_use(me, x.plan.call.name, x.give.view(), false);
  if (gives && takes && !x.replaces && !x.plan.leaves_own)
    note_overlap(me, x.plan.call.name, x.give.view(), x.take.view());
}

}  // namespace weft::mpi
