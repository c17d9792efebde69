#include "mpi/datatype/overlap.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "diagnosis/checks.hpp"
#include "mpi/datatype/data.hpp"
#include "rank/request_watch.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

struct stretch {
  const std::byte* begin;
  const std::byte* end;
};

std::vector<stretch> stretches_of(const parts& all) {
  std::vector<stretch> found;
  for (int r = all.first; r < all.first + all.count; ++r)
    if (const segments part = all.at(r); part.contiguous() && part.size() != 0)
      found.push_back({part.flat().data(), part.flat().data() + part.size()});
  return found;
}

}  // namespace

void note_overlap(state& me, const char* call, const parts& given, const parts& taken) {
  std::vector<stretch> from = stretches_of(given);
  std::ranges::sort(from, std::less<>(), &stretch::begin);
  // What is sent may overlap: each one ends where those up to it end at last.
  for (std::size_t i = 1; i < from.size(); ++i)
    from[i].end = std::max(from[i].end, from[i - 1].end);
  for (const stretch& into : stretches_of(taken)) {
    const auto behind = std::ranges::lower_bound(from, into.end, std::less<>(), &stretch::begin);
    if (behind == from.begin() || std::prev(behind)->end <= into.begin) continue;
    me.rank.of->checks->add(
        {diagnosis::finding::kind::error,
         formatted(
             "rank {} called {} with {} bytes to receive into, at {}, that are in part what it "
             "sends: give what is received memory of its own, or pass MPI_IN_PLACE",
             me.rank.number, call, into.end - into.begin, static_cast<const void*>(into.begin)),
         {}});
    return;
  }
}

// Calls visit(races, range, place) for each block.
template <class Visit>
static void each_range(state& me, const segments& memory, const Visit& visit) {
  diagnosis::race_watch* const races = races_of(me);
  if (races == nullptr || memory.size() == 0) return;
  const diagnosis::call_list here = diagnosis::calls_here();
  each_block(memory, [&](const std::byte* at, std::size_t bytes) {
    visit(*races, diagnosis::memory_range::of(at, bytes), here);
  });
}

void note_use(state& me, const char* call, const segments& memory, bool writes) {
  // A persistent collective uses it when it is started.
  const bool is_only_made = std::string_view(call).ends_with("_init");
  if (me.rank.watch == nullptr || is_only_made) return;
  me.rank.watch->used(*me.rank.of->checks, me.rank.number, call, memory, writes);
  // Of these names only non-blocking collectives come here.
  if (std::string_view(call).starts_with("MPI_I")) return me.rank.watch->will_use(memory, writes);
  each_range(me, memory, [&](auto& races, const auto& where, const auto& here) {
    // What it writes is written when it ends, after it has met others.
    if (writes)
      races.look(me.rank.number, where, writes, call, here);
    else
      races.touch(me.rank.number, where, writes, call, here);
  });
}

void forget_uses(state& me) noexcept {
  me.rank.watch->will_use_nothing();
}

void note_written(state& me, const char* call, const segments& memory) {
  each_range(me, memory, [&](auto& races, const auto& where, const auto& here) {
    races.touch(me.rank.number, where, true, call, here);
  });
}

void note_use(state& me, const char* call, const parts& all, bool writes) {
  for (int r = all.first; r < all.first + all.count; ++r) note_use(me, call, all.at(r), writes);
}

}  // namespace weft::mpi
