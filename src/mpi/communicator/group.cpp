// Groups: lists of ranks, by their numbers in MPI_COMM_WORLD. No function here communicates.
#include "mpi/object/group.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {

group_object& checked_group(state& me, MPI_Group group) {
  if (group == MPI_GROUP_EMPTY) return me.empty_group;
  if (auto* const g = find_object<group_object>(group); g != nullptr) return *g;
  if (group == MPI_GROUP_NULL) fail(MPI_ERR_GROUP, "the group is MPI_GROUP_NULL");
  fail(MPI_ERR_GROUP, "{} is no group, or has been freed", text_of(group));
}

MPI_Group make_group(state& me, std::vector<int> ranks, std::uint32_t session) {
  if (ranks.empty()) return MPI_GROUP_EMPTY;
  return handle_of(me.groups.make(std::move(ranks), session));
}

namespace {

// The numbers in MPI_COMM_WORLD of `count` ranks of a communicator, from `first` on.
std::vector<int> numbers(const communicator_object& c, int first, int count) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(count));
  for (int r = first; r < first + count; ++r) ranks.push_back(c.shared->to(r).number);
  return ranks;
}

// The place in the list of each number. With it a union or an intersection takes time in proportion to the lengths of the
// groups, not to their product.
std::unordered_map<int, int> place_of_each(const std::vector<int>& list) {
  std::unordered_map<int, int> places;
  places.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) places.emplace(list[i], static_cast<int>(i));
  return places;
}

// The ranks of `from` that are in `other` (`in_both`), or that are not, in the order of `from`.
std::vector<int> chosen(const std::vector<int>& from, const std::vector<int>& other, bool in_both) {
  const auto places = place_of_each(other);
  std::vector<int> result;
  for (const int r : from)
    if (places.contains(r) == in_both) result.push_back(r);
  return result;
}

// Checks the places in the group that a call names one by one: each exists, none is named twice.
std::vector<int> listed(const group_object& g, int n, const int ranks[]) {
  if (n < 0) fail(MPI_ERR_ARG, "n is {}: it is the number of ranks", n);
  if (n > 0) check_not_null(ranks, "ranks");
  std::vector<int> named(ranks, ranks + n);
  std::vector<bool> seen(g.ranks.size());
  for (const int r : named) {
    if (r < 0 || static_cast<std::size_t>(r) >= g.ranks.size())
      fail(MPI_ERR_RANK, "rank {}: the group has ranks 0 to {}", r,
           static_cast<int>(g.ranks.size()) - 1);
    if (seen[static_cast<std::size_t>(r)]) fail(MPI_ERR_RANK, "rank {} is named twice", r);
    seen[static_cast<std::size_t>(r)] = true;
  }
  return named;
}

// The places in the group that triples (first, last, stride) name, checked likewise.
std::vector<int> in_ranges(const group_object& g, int n, int ranges[][3]) {
  if (n < 0) fail(MPI_ERR_ARG, "n is {}: it is the number of ranges", n);
  if (n > 0) check_not_null(ranges, "ranges");
  std::vector<int> named;
  for (int i = 0; i < n; ++i) {
    const auto [first, last, stride] = std::tuple{ranges[i][0], ranges[i][1], ranges[i][2]};
    if (stride == 0) fail(MPI_ERR_ARG, "range {} has stride 0", i);
    const auto size = static_cast<int>(g.ranks.size());
    if (first < 0 || first >= size)
      fail(MPI_ERR_RANK, "range {} begins with rank {}: the group has ranks 0 to {}", i, first,
           size - 1);
    for (long r = first; stride > 0 ? r <= last : r >= last; r += stride) {
      if (r < 0 || r >= size)
        fail(MPI_ERR_RANK, "range {} comes to rank {}: the group has ranks 0 to {}", i, r,
             size - 1);
      named.push_back(static_cast<int>(r));
    }
  }
  return listed(g, static_cast<int>(named.size()), named.data());
}

std::vector<int> members(const group_object& g, const std::vector<int>& places) {
  std::vector<int> ranks;
  for (const int r : places) ranks.push_back(g.ranks[static_cast<std::size_t>(r)]);
  return ranks;
}
std::vector<int> members_but(const group_object& g, const std::vector<int>& places) {
  std::vector<bool> left_out(g.ranks.size());
  for (const int r : places) left_out[static_cast<std::size_t>(r)] = true;
  std::vector<int> ranks;
  for (std::size_t i = 0; i < g.ranks.size(); ++i)
    if (!left_out[i]) ranks.push_back(g.ranks[i]);
  return ranks;
}

struct group_pair {
  const group_object& one;
  const group_object& other;
  std::uint32_t session;  // Of what is made of the two.
};
// MPI_GROUP_EMPTY comes of no session.
group_pair checked_groups(state& me, MPI_Group one, MPI_Group other) {
  const group_object& a = checked_group(me, one);
  const group_object& b = checked_group(me, other);
  return {a, b, a.ranks.empty() ? b.session : a.session};
}

}  // namespace

std::vector<int> local_ranks(const communicator_object& c) {
  return numbers(c, c.locals_first, c.locals_count());
}
std::vector<int> remote_ranks(const communicator_object& c) {
  return numbers(c, c.peers_first, c.peers_count);
}

std::vector<int> places_in(const std::vector<int>& list, const std::vector<int>& ranks) {
  const auto places = place_of_each(list);
  std::vector<int> result;
  for (const int r : ranks) {
    const auto at = places.find(r);
    result.push_back(at == places.end() ? static_cast<int>(MPI_UNDEFINED) : at->second);
  }
  return result;
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Group_size, (MPI_Group group, int* size)) {
  return in_call(
      "MPI_Group_size", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(size, "size");
        *size = static_cast<int>(checked_group(me, group).ranks.size());
      },
      group);
}

WEFT_MPI_FUNCTION(int, MPI_Group_rank, (MPI_Group group, int* rank)) {
  return in_call(
      "MPI_Group_rank", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(rank, "rank");
        const std::vector<int>& ranks = checked_group(me, group).ranks;
        const auto at = std::find(ranks.begin(), ranks.end(), me.rank.number);
        *rank = at == ranks.end() ? static_cast<int>(MPI_UNDEFINED)
                                  : static_cast<int>(at - ranks.begin());
      },
      group);
}

WEFT_MPI_FUNCTION(int, MPI_Group_translate_ranks,
                  (MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[])) {
  return in_call(
      "MPI_Group_translate_ranks", MPI_COMM_SELF,
      [&](state& me) {
        const group_object& from = checked_group(me, group1);
        const group_object& to = checked_group(me, group2);
        if (n < 0) fail(MPI_ERR_ARG, "n is {}: it is the number of ranks", n);
        if (n == 0) return;
        check_not_null(ranks1, "ranks1");
        check_not_null(ranks2, "ranks2");
        const auto places = place_of_each(to.ranks);
        for (int i = 0; i < n; ++i) {
          const int r = ranks1[i];
          if (r == MPI_PROC_NULL) {
            ranks2[i] = MPI_PROC_NULL;
            continue;
          }
          if (r < 0 || static_cast<std::size_t>(r) >= from.ranks.size())
            fail(MPI_ERR_RANK, "ranks1[{}] is {}: the group has ranks 0 to {}", i, r,
                 static_cast<int>(from.ranks.size()) - 1);
          const auto at = places.find(from.ranks[static_cast<std::size_t>(r)]);
          ranks2[i] = at == places.end() ? static_cast<int>(MPI_UNDEFINED) : at->second;
        }
      },
      group1, n, static_cast<const void*>(ranks1), group2, static_cast<const void*>(ranks2));
}

WEFT_MPI_FUNCTION(int, MPI_Group_compare, (MPI_Group group1, MPI_Group group2, int* result)) {
  return in_call(
      "MPI_Group_compare", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(result, "result");
        std::vector<int> one = checked_group(me, group1).ranks;
        std::vector<int> two = checked_group(me, group2).ranks;
        if (one == two) {
          *result = MPI_IDENT;
          return;
        }
        std::sort(one.begin(), one.end());
        std::sort(two.begin(), two.end());
        *result = one == two ? MPI_SIMILAR : MPI_UNEQUAL;
      },
      group1, group2);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_group, (MPI_Comm comm, MPI_Group* group)) {
  return in_call(
      "MPI_Comm_group", comm,
      [&](state& me) {
        check_not_null(group, "group");
        const communicator_object& c = checked_communicator(me, comm);
        *group = make_group(me, local_ranks(c), c.session);
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Group_union, (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup)) {
  return in_call(
      "MPI_Group_union", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newgroup, "newgroup");
        const group_pair of = checked_groups(me, group1, group2);
        std::vector<int> all = of.one.ranks;
        const std::vector<int> more = chosen(of.other.ranks, all, false);
        all.insert(all.end(), more.begin(), more.end());
        *newgroup = make_group(me, std::move(all), of.session);
      },
      group1, group2);
}

WEFT_MPI_FUNCTION(int, MPI_Group_intersection,
                  (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup)) {
  return in_call(
      "MPI_Group_intersection", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newgroup, "newgroup");
        const group_pair of = checked_groups(me, group1, group2);
        *newgroup = make_group(me, chosen(of.one.ranks, of.other.ranks, true), of.session);
      },
      group1, group2);
}

WEFT_MPI_FUNCTION(int, MPI_Group_difference,
                  (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup)) {
  return in_call(
      "MPI_Group_difference", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newgroup, "newgroup");
        const group_pair of = checked_groups(me, group1, group2);
        *newgroup = make_group(me, chosen(of.one.ranks, of.other.ranks, false), of.session);
      },
      group1, group2);
}

WEFT_MPI_FUNCTION(int, MPI_Group_incl,
                  (MPI_Group group, int n, const int ranks[], MPI_Group* newgroup)) {
  return in_call(
      "MPI_Group_incl", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newgroup, "newgroup");
        const group_object& g = checked_group(me, group);
        *newgroup = make_group(me, members(g, listed(g, n, ranks)), g.session);
      },
      group, n, static_cast<const void*>(ranks));
}

WEFT_MPI_FUNCTION(int, MPI_Group_excl,
                  (MPI_Group group, int n, const int ranks[], MPI_Group* newgroup)) {
  return in_call(
      "MPI_Group_excl", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newgroup, "newgroup");
        const group_object& g = checked_group(me, group);
        *newgroup = make_group(me, members_but(g, listed(g, n, ranks)), g.session);
      },
      group, n, static_cast<const void*>(ranks));
}

WEFT_MPI_FUNCTION(int, MPI_Group_range_incl,
                  (MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup)) {
  return in_call(
      "MPI_Group_range_incl", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newgroup, "newgroup");
        const group_object& g = checked_group(me, group);
        *newgroup = make_group(me, members(g, in_ranges(g, n, ranges)), g.session);
      },
      group, n, static_cast<const void*>(ranges));
}

WEFT_MPI_FUNCTION(int, MPI_Group_range_excl,
                  (MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup)) {
  return in_call(
      "MPI_Group_range_excl", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(newgroup, "newgroup");
        const group_object& g = checked_group(me, group);
        *newgroup = make_group(me, members_but(g, in_ranges(g, n, ranges)), g.session);
      },
      group, n, static_cast<const void*>(ranges));
}

WEFT_MPI_FUNCTION(int, MPI_Group_free, (MPI_Group * group)) {
  return in_call(
      "MPI_Group_free", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(group, "group");
        group_object& g = checked_group(me, *group);
        if (&g != &me.empty_group) me.groups.free(g);
        *group = MPI_GROUP_NULL;
      },
      group == nullptr ? MPI_GROUP_NULL : *group);
}
