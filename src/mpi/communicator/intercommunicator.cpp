// Inter-communicators. In `rank` and `collective` an inter-communicator is one communicator with the ranks of both groups.
// First come those of the group whose leader has the lower number in MPI_COMM_WORLD. Messages and collectives of a rank
// go to the part that is the other group.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "collective/collectives.hpp"
#include "collective/control_messages.hpp"
#include "collective/joining.hpp"
#include "collective/new_communicators.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "rank/remote.hpp"
#include "weft/run.hpp"

namespace weft::mpi {

using namespace detail;

MPI_Comm add_intercommunicator(state& me, std::optional<weft::communicator> made,
                               const communicator_object& parent) {
  if (!made) return MPI_COMM_NULL;
  const std::vector<int> own_group = local_ranks(parent);
  int locals = 0;
  for (const peer& p : made->state().peers)
    locals += std::find(own_group.begin(), own_group.end(), p.number) != own_group.end();
  const int remotes = made->size() - locals;
  if (locals == 0 || remotes == 0) return MPI_COMM_NULL;
  communicator_object& c = me.communicators.make(std::move(*made));
  const bool first = parent.locals_first == 0;
  c.set_peers(first ? locals : 0, remotes, first ? 0 : remotes);
  c.session = parent.session;
  set_error_handler(me, c, parent.handler);
  return handle_of(c);
}

namespace {

// What the two leaders tell each other about their groups; each then broadcasts both to its own group.
struct leader_note {
  std::int32_t size = 0;    // Of the group.
  std::int32_t number = 0;  // Of the leader in MPI_COMM_WORLD.
  // A context id that the leader has taken. The new communicator uses that of the group that comes first.
  std::uint32_t context = 0;
};

template <class T>
std::span<std::byte> bytes_of(T* first, std::size_t count) {
  return std::as_writable_bytes(std::span(first, count));
}

constexpr std::uint64_t text_bytes_max = std::uint64_t{1} << 28;
// The size of a group whose leader says: the other one may be of another job, so the groups tell each other more.
constexpr std::int32_t by_joining = -1;

// Called by each of the two leaders: sends its note and its group to the other one, and receives those of the other.
// Returns the other group.
std::vector<int> exchange_groups(state& me, const communicator_object& between, int remote_leader,
                                 int tag, const std::vector<int>& mine, leader_note& note,
                                 leader_note& theirs) {
  const char* const call = "MPI_Intercomm_create";
  const int to = between.peers_first + remote_leader;
  const peer& there = between.shared->to(to);
  const std::uint32_t context = between.shared->context | group_context;
  const wait_description what{call, context, to, tag, 0};
  std::vector<int> remote;
  control_messages with(me.rank, what, lengths::equal);
  with.receive(me.rank, {context, to, tag}, bytes_of(&theirs, 1));
  with.send(there, to, {context, between.own, tag}, byte_view(bytes_of(&note, 1)));
  with.wait();
  const int all = world_size();
  if (theirs.size < 1 || theirs.size > all)
    fail(MPI_ERR_OTHER, "the leader of the other group says that it has {} ranks, of a job of {}",
         theirs.size, all);
  remote.resize(static_cast<std::size_t>(theirs.size));
  with.receive(me.rank, {context, to, tag}, bytes_of(remote.data(), remote.size()));
  with.send(there, to, {context, between.own, tag}, std::as_bytes(std::span(mine)));
  with.wait();
  for (const int r : remote)
    if (r < 0 || r >= all)
      fail(MPI_ERR_OTHER,
           "the leader of the other group says that rank {} is in it, of a job of {}", r, all);
  return remote;
}

// The leaders' exchange of texts of any length, for join_jobs().
std::string exchange_texts(state& me, const communicator_object& between, int remote_leader,
                           int tag, const std::string& mine) {
  const int to = between.peers_first + remote_leader;
  const peer& there = between.shared->to(to);
  const std::uint32_t context = between.shared->context | group_context;
  const wait_description what{"MPI_Intercomm_create", context, to, tag, 0};
  std::uint64_t size = mine.size(), other = 0;
  std::string theirs;
  control_messages with(me.rank, what, lengths::equal);
  with.receive(me.rank, {context, to, tag}, bytes_of(&other, 1));
  with.send(there, to, {context, between.own, tag}, byte_view(bytes_of(&size, 1)));
  with.wait();
  if (other > text_bytes_max)
    fail(MPI_ERR_OTHER,
         "the leader of the other group says {} bytes of its ranks: at most {} are right", other,
         text_bytes_max);
  theirs.resize(other);
  with.receive(me.rank, {context, to, tag}, bytes_of(theirs.data(), theirs.size()));
  with.send(there, to, {context, between.own, tag}, std::as_bytes(std::span(mine)));
  with.wait();
  return theirs;
}

struct creation {
  MPI_Comm local_comm;
  int local_leader;
  MPI_Comm peer_comm;
  int remote_leader;
  int tag;
};

// What the leader of each group knows of both.
struct both_groups {
  leader_note own, theirs;
  bool beyond_host = false;  // Of groups that are joined: the other one may be on other hosts.
  std::vector<int> remote;
};

// Called by all ranks of `local`, the ranks `mine`: the leader tells the others. Only then the new communicator is made.
MPI_Comm join_groups(state& me, const weft::communicator& local, int leader,
                     const std::vector<int>& mine, both_groups all, std::uint32_t session,
                     MPI_Errhandler handler, const char* call,
                     const std::function<std::string(std::string)>& tell = {}) {
  leader_note notes[2] = {all.own, all.theirs};
  std::vector<int>& remote = all.remote;
  broadcast(local.state(), local.rank(), bytes_of(notes, 2), leader, call);
  if (notes[0].size == 0)
    fail(MPI_ERR_OTHER, "the call of the group's leader, rank {} of it, has failed", leader);
  if (notes[0].size == by_joining) {
    const auto awaited = std::make_shared<const other_job_awaited>(*me.rank.of);
    joined_groups made =
        join_jobs(local.state(), local.rank(), leader, all.beyond_host, tell, call);
    communicator_object& c = me.communicators.make(std::move(made.all));
    c.locals_first = made.is_first ? 0 : made.other;
    c.peers_first = made.is_first ? made.own : 0;
    c.peers_count = made.other;
    c.session = session;
    hold_other_job(me, awaited);
    set_error_handler(me, c, handler);
    return handle_of(c);
  }
  remote.resize(static_cast<std::size_t>(notes[1].size));
  broadcast(local.state(), local.rank(), bytes_of(remote.data(), remote.size()), leader, call);
  for (const int r : remote)
    if (std::find(mine.begin(), mine.end(), r) != mine.end())
      fail(MPI_ERR_GROUP, "the two groups have rank {} of MPI_COMM_WORLD in common", r);
  const bool first = notes[0].number < notes[1].number;
  std::vector<int> members = first ? mine : remote;
  const std::vector<int>& rest = first ? remote : mine;
  members.insert(members.end(), rest.begin(), rest.end());
  communicator_object& c =
      me.communicators.make(join(*me.rank.shared, me.rank, members, notes[first ? 0 : 1].context));
  c.set_peers(first ? notes[0].size : 0, notes[1].size, first ? 0 : notes[1].size);
  c.session = session;
  set_error_handler(me, c, handler);
  return handle_of(c);
}

leader_note note_of(state& me, const std::vector<int>& mine) {
  return {static_cast<std::int32_t>(mine.size()), me.rank.number, me.rank.shared->take_contexts(1)};
}

MPI_Comm create(state& me, const creation& how) {
  communicator_object& local = checked_intracommunicator(me, how.local_comm);
  if (how.local_leader < 0 || how.local_leader >= local.locals_count())
    fail(MPI_ERR_RANK, "local_leader {}: {}", how.local_leader, ranks_of(local));
  check_tag(how.tag);
  // The other side would learn the numbers that this job alone has for them.
  if (reaches_other_jobs(*local.shared))
    fail(
        MPI_ERR_COMM,
        "local_comm has ranks of several jobs: take one of ranks of one job, whose leader peer_comm has");
  const std::vector<int> mine = local_ranks(local);
  both_groups all;
  const communicator_object* other_leaders = nullptr;
  if (local.rank() == how.local_leader) {
    const communicator_object& between = checked_communicator(me, how.peer_comm);
    check_peer(between, how.remote_leader, "remote_leader");
    if (reaches_other_jobs(*between.shared)) {
      all.own.size = by_joining;
      all.beyond_host = is_reached_beyond_host(
          me.rank, between.shared->to(between.peer(how.remote_leader)).number);
      other_leaders = &between;
    }
  }
  if (all.own.size == 0 && local.rank() == how.local_leader) {
    const communicator_object& between = checked_communicator(me, how.peer_comm);
    all.own = note_of(me, mine);
    all.remote =
        exchange_groups(me, between, how.remote_leader, how.tag, mine, all.own, all.theirs);
  }
  const auto tell = [&](const std::string& text) {
    return exchange_texts(me, *other_leaders, how.remote_leader, how.tag, text);
  };
  return join_groups(me, local.ranks, how.local_leader, mine, std::move(all), local.session,
                     local.handler, "MPI_Intercomm_create", tell);
}

// --- Out of groups -------------------------------------------------------------------------------

struct creation_from_groups {
  MPI_Group local_group;
  int local_leader;
  MPI_Group remote_group;
  int remote_leader;
  const char* stringtag;
  MPI_Errhandler handler;
};

// As exchange_groups(), between leaders that have no communicator in common. Each sends its note with its group behind it.
void exchange_by_name(state& me, int other, const std::string& name, const std::vector<int>& mine,
                      both_groups& all, const char* call) {
  const auto world = static_cast<std::size_t>(world_size());
  std::vector<std::byte> data(sizeof all.own + mine.size() * sizeof(int));
  std::memcpy(data.data(), &all.own, sizeof all.own);
  std::memcpy(data.data() + sizeof all.own, mine.data(), mine.size() * sizeof(int));
  // The send of a large group ends when it is taken: two leaders that both sent first would wait for each other.
  const auto send = [&] { send_named(me.rank, other, name, data, call); };
  if (me.rank.number < other) send();
  const std::vector<std::byte> came =
      me.named.receive(me.rank, other, name, sizeof all.theirs + world * sizeof(int), call);
  if (me.rank.number > other) send();
  if (came.size() >= sizeof all.theirs) std::memcpy(&all.theirs, came.data(), sizeof all.theirs);
  if (came.size() == sizeof all.theirs && all.theirs.size == 0)
    fail(MPI_ERR_OTHER, "the call of the other group's leader, rank {}, has failed", other);
  if (came.size() < sizeof all.theirs || all.theirs.size < 1 ||
      came.size() - sizeof all.theirs != static_cast<std::size_t>(all.theirs.size) * sizeof(int))
    fail(MPI_ERR_OTHER, "the leader of the other group, rank {}, says {} bytes of its {} ranks",
         other, came.size(), all.theirs.size);
  all.remote.resize(static_cast<std::size_t>(all.theirs.size));
  std::memcpy(all.remote.data(), came.data() + sizeof all.theirs, all.remote.size() * sizeof(int));
  for (const int r : all.remote)
    if (r < 0 || static_cast<std::size_t>(r) >= world)
      fail(MPI_ERR_OTHER,
           "the leader of the other group says that rank {} is in it, of a job of {}", r, world);
}

void check_leader(const group_object& g, int leader, const char* what) {
  if (leader < 0 || static_cast<std::size_t>(leader) >= g.ranks.size())
    fail(MPI_ERR_RANK, "{} {}: the group has ranks 0 to {}", what, leader,
         static_cast<int>(g.ranks.size()) - 1);
}

// What the leader finds wrong all ranks of its group are told.
both_groups exchanged_by_leader(state& me, const creation_from_groups& how,
                                const std::vector<int>& mine, const std::string& name,
                                const char* call) {
  both_groups all;
  const group_object& remote = checked_group(me, how.remote_group);
  check_leader(remote, how.remote_leader, "remote_leader");
  const int other = remote.ranks[static_cast<std::size_t>(how.remote_leader)];
  try {
    for (const int r : remote.ranks)
      if (std::find(mine.begin(), mine.end(), r) != mine.end())
        fail(MPI_ERR_GROUP, "the two groups have rank {} of the job in common", r);
    all.own = note_of(me, mine);
  } catch (const std::exception&) {
    // The other leader would wait for this one.
    if (other != me.rank.number) send_named(me.rank, other, name, bytes_of(&all.own, 1), call);
    throw;
  }
  exchange_by_name(me, other, name, mine, all, call);
  return all;
}

MPI_Comm create(state& me, const creation_from_groups& how) {
  const char* const call =
      "MPI_Intercomm_create";  // The begin of the name: so many letters travel.
  const group_object& local = group_with_caller(me, how.local_group);
  check_leader(local, how.local_leader, "local_leader");
  const std::vector<int> mine = local.ranks;
  const std::uint32_t session = local.session;
  const std::string name = checked_name("between groups", how.stringtag);
  const weft::communicator together = create_named(me.rank, me.named, mine, name, call);
  both_groups all;
  if (mine[static_cast<std::size_t>(how.local_leader)] == me.rank.number) {
    try {
      all = exchanged_by_leader(me, how, mine, name, call);
    } catch (const std::exception&) {
      leader_note none[2];
      broadcast(together.state(), together.rank(), bytes_of(none, 2), how.local_leader, call);
      throw;
    }
  }
  return join_groups(me, together, how.local_leader, mine, std::move(all), session, how.handler,
                     call);
}

communicator_object& checked_intercommunicator(state& me, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  if (!c.is_inter())
    fail(MPI_ERR_COMM, "{} has one group: the call needs an inter-communicator", text_of(comm));
  return c;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Comm_test_inter, (MPI_Comm comm, int* flag)) {
  return in_call(
      "MPI_Comm_test_inter", comm,
      [&](state& me) {
        check_not_null(flag, "flag");
        *flag = checked_communicator(me, comm).is_inter();
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_remote_size, (MPI_Comm comm, int* size)) {
  return in_call(
      "MPI_Comm_remote_size", comm,
      [&](state& me) {
        check_not_null(size, "size");
        *size = checked_intercommunicator(me, comm).peers_count;
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_remote_group, (MPI_Comm comm, MPI_Group* group)) {
  return in_call(
      "MPI_Comm_remote_group", comm,
      [&](state& me) {
        check_not_null(group, "group");
        const communicator_object& c = checked_intercommunicator(me, comm);
        *group = make_group(me, remote_ranks(c), c.session);
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Intercomm_create,
                  (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
                   int tag, MPI_Comm* newintercomm)) {
  return in_call(
      "MPI_Intercomm_create", local_comm,
      [&](state& me) {
        check_not_null(newintercomm, "newintercomm");
        *newintercomm = create(me, {local_comm, local_leader, peer_comm, remote_leader, tag});
      },
      local_comm, local_leader, peer_comm, remote_leader, tag);
}

WEFT_MPI_FUNCTION(int, MPI_Intercomm_create_from_groups,
                  (MPI_Group local_group, int local_leader, MPI_Group remote_group,
                   int remote_leader, const char* stringtag, MPI_Info info,
                   MPI_Errhandler errhandler, MPI_Comm* newintercomm)) {
  return in_call(
      "MPI_Intercomm_create_from_groups", errhandler,
      [&](state& me) {
        check_not_null(newintercomm, "newintercomm");
        check_handler_of_communicators(errhandler);
        info_entries hints = checked_hints(me, info);
        *newintercomm = MPI_COMM_NULL;
        if (local_group == MPI_GROUP_EMPTY) return;  // As MPI_Comm_create_from_group.
        const MPI_Comm made = create(
            me, {local_group, local_leader, remote_group, remote_leader, stringtag, errhandler});
        checked_communicator(me, made).hints = std::move(hints);
        *newintercomm = made;
      },
      local_group, local_leader, remote_group, remote_leader, stringtag, info, errhandler);
}

WEFT_MPI_FUNCTION(int, MPI_Intercomm_merge,
                  (MPI_Comm intercomm, int high, MPI_Comm* newintracomm)) {
  return in_call(
      "MPI_Intercomm_merge", intercomm,
      [&](state& me) {
        check_not_null(newintracomm, "newintracomm");
        communicator_object& c = checked_intercommunicator(me, intercomm);
        // Of two groups that pass the same `high`, the one goes first whose ranks come first in the inter-communicator.
        *newintracomm = add_communicator(
            me, weft::detail::split(*c.shared, c.own, 0, high != 0 ? 1 : 0, "MPI_Intercomm_merge"),
            c);
      },
      intercomm, high);
}
