// Regions that the program names, in the accounts and in event files.
#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "profile/experiment.hpp"
#include "profile/live_account.hpp"
#include "trace/event_file.hpp"

namespace weft::profile {
namespace {

region_times times_of(const account& a) noexcept {
  const auto of = [&](share s) { return a.times[static_cast<std::size_t>(s)]; };
  return {0,
          of(share::computing) + of(share::asleep) + of(share::tasks),
          of(share::stealing),
          of(share::waiting),
          a.critical,
          of(share::asleep)};
}
void add_passed(region_times& to, const region_times& before, const region_times& now,
                std::uint64_t elapsed) noexcept {
  to.elapsed += elapsed;
  to.computing += now.computing - std::min(before.computing, now.computing);
  to.stealing += now.stealing - before.stealing;
  to.waiting += now.waiting - std::min(before.waiting, now.waiting);
  to.critical += now.critical - before.critical;
  to.asleep += now.asleep - before.asleep;
}

int region_row_of(account& a, const char* name) noexcept {
  for (int i = 0; i + 1 < regions_max; ++i) {
    region_row& row = a.regions[static_cast<std::size_t>(i)];
    if (row.name[0] == '\0') copy_text(row.name, name);
    if (std::strncmp(row.name, name, sizeof row.name - 1) == 0) return i;
  }
  copy_text(a.regions.back().name, "others");
  ++a.beyond;
  return regions_max - 1;
}

}  // namespace

void begin_region(int rank, const char* name) {
  if (is_event_file_on()) trace_begin(trace_kind::region, rank, 0, 0, event_file::kept_name(name));
  live* const p = find(rank);
  if (p == nullptr) return;
  const auto depth = static_cast<std::size_t>(p->region_depth++);
  if (depth >= p->regions.size()) return;
  const std::uint64_t now = ticks();
  settle(*p, now);
  p->regions[depth] = {region_row_of(*p->a, *name == '\0' ? "region" : name), now, times_of(*p->a)};
}

void end_region(int rank) {
  if (is_event_file_on()) trace_end(trace_kind::region, rank);
  live* const p = find(rank);
  if (p == nullptr || p->region_depth == 0) return;
  const auto depth = static_cast<std::size_t>(--p->region_depth);
  if (depth >= p->regions.size()) return;
  const std::uint64_t now = ticks();
  settle(*p, now);
  account& a = *p->a;
  const live::open_region& open = p->regions[depth];
  region_row& row = a.regions[static_cast<std::size_t>(open.row)];
  const region_times after = times_of(a);
  add_passed(row.times, open.before, after, now - open.begun);
  const std::uint64_t number = row.entries++;
  if (has_experiment() && here.header->experiment.of == causal_experiment::part::region &&
      std::strncmp(row.name, here.header->experiment.region, sizeof row.name - 1) == 0)
    contribute(after.computing - open.before.computing);
  if (p->iterations == a.iterations.size()) return;
  iteration_row& one = a.iterations[p->iterations++];
  one.region = open.row;
  one.number = static_cast<std::uint32_t>(number);
  add_passed(one.times, open.before, after, now - open.begun);
}

}  // namespace weft::profile
