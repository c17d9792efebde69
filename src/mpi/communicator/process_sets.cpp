// The sets of processes of a session: which there are, and groups of them. Two are the standard's; the others are the ranks
// that share a host, and those that share a process, with the calling rank.
#include "mpi/communicator/process_sets.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/object/profiling.hpp"
#include "mpi/object/session.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

struct named_set {
  const char* name;
  process_set set;
};
constexpr std::array<named_set, 4> sets{{{"mpi://WORLD", process_set::world},
                                         {"mpi://SELF", process_set::self},
                                         {"weft://node", process_set::node},
                                         {"weft://process", process_set::process}}};

// Small and large letters are the same.
bool is_same_name(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](char a, char b) {
    const auto small = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    };
    return small(a) == small(b);
  });
}

process_set checked_set(const char* name) {
  check_not_null(name, "pset_name");
  if (const auto set = find_process_set(name); set) return *set;
  fail(
      MPI_ERR_ARG,
      "there is no set of processes {}: ask MPI_Session_get_num_psets and MPI_Session_get_nth_pset",
      text_of(name));
}

int node_of(const detail::job& j, const detail::rank_place& p) {
  return j.node_of_process.empty() ? 0 : j.node_of_process[static_cast<std::size_t>(p.process)];
}

std::vector<int> ranks_of(const state& me, process_set set) {
  const detail::job& j = *me.rank.of;
  const detail::rank_place& mine = j.places[static_cast<std::size_t>(me.rank.number)];
  std::vector<int> ranks;
  for (int r = 0; r < static_cast<int>(j.places.size()); ++r) {
    const detail::rank_place& p = j.places[static_cast<std::size_t>(r)];
    if (set == process_set::world || (set == process_set::self && r == me.rank.number) ||
        (set == process_set::node && node_of(j, p) == node_of(j, mine)) ||
        (set == process_set::process && p.process == mine.process))
      ranks.push_back(r);
  }
  return ranks;
}

}  // namespace

std::optional<process_set> find_process_set(std::string_view name) {
  for (const named_set& s : sets)
    if (is_same_name(name, s.name)) return s.set;
  return std::nullopt;
}

int number_of_set(const state& me, process_set set) {
  const detail::job& j = *me.rank.of;
  const detail::rank_place& mine = j.places[static_cast<std::size_t>(me.rank.number)];
  switch (set) {
    case process_set::self:
      return me.rank.number;
    case process_set::node:
      return node_of(j, mine);
    case process_set::process:
      return mine.process;
    default:
      return 0;
  }
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Session_get_num_psets,
                  (MPI_Session session, MPI_Info info, int* npset_names)) {
  return in_call(
      "MPI_Session_get_num_psets", session,
      [&](state& me) {
        (void)checked_session(session);
        check_hints(me, info);
        check_not_null(npset_names, "npset_names");
        *npset_names = static_cast<int>(sets.size());
      },
      session, info);
}

// A length of 0 asks for that of the name, with the zero byte at its end.
WEFT_MPI_FUNCTION(int, MPI_Session_get_nth_pset,
                  (MPI_Session session, MPI_Info info, int n, int* pset_len, char* pset_name)) {
  return in_call(
      "MPI_Session_get_nth_pset", session,
      [&](state& me) {
        (void)checked_session(session);
        check_hints(me, info);
        check_not_null(pset_len, "pset_len");
        if (n < 0 || static_cast<std::size_t>(n) >= sets.size())
          fail(MPI_ERR_ARG, "set {}: there are sets 0 to {}", n, sets.size() - 1);
        if (*pset_len < 0) fail(MPI_ERR_ARG, "pset_len is {}: pass 0 or more", *pset_len);
        const char* const name = sets[static_cast<std::size_t>(n)].name;
        const std::size_t size = std::strlen(name);
        if (const auto room = static_cast<std::size_t>(*pset_len); room != 0) {
          check_not_null(pset_name, "pset_name");
          const std::size_t copied = size < room ? size : room - 1;
          std::memcpy(pset_name, name, copied);
          pset_name[copied] = '\0';
        }
        *pset_len = static_cast<int>(size) + 1;
      },
      session, info, n);
}

WEFT_MPI_FUNCTION(int, MPI_Session_get_pset_info,
                  (MPI_Session session, const char* pset_name, MPI_Info* info)) {
  return in_call(
      "MPI_Session_get_pset_info", session,
      [&](state& me) {
        (void)checked_session(session);
        check_not_null(info, "info");
        const std::size_t size = ranks_of(me, checked_set(pset_name)).size();
        info_object& made = me.infos.make();
        made.set("mpi_size", std::to_string(size));
        *info = handle_of(made);
      },
      session, pset_name);
}

WEFT_MPI_FUNCTION(int, MPI_Group_from_session_pset,
                  (MPI_Session session, const char* pset_name, MPI_Group* newgroup)) {
  return in_call(
      "MPI_Group_from_session_pset", session,
      [&](state& me) {
        const session_object& s = checked_session(session);
        check_not_null(newgroup, "newgroup");
        *newgroup = MPI_GROUP_NULL;
        *newgroup = make_group(me, ranks_of(me, checked_set(pset_name)), s.number);
      },
      session, pset_name);
}
