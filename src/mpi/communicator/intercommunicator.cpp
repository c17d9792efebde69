// Inter-communicators. In `rank` and `collective` an inter-communicator is one communicator with the ranks of both groups.
// First come those of the group whose leader has the lower number in MPI_COMM_WORLD. Messages and collectives of a rank
// go to the part that is the other group.
#include <algorithm>

#include "collective/collectives.hpp"
#include "collective/control_messages.hpp"
#include "collective/new_communicators.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
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
  c.locals_first = first ? 0 : remotes;
  c.peers_first = first ? locals : 0;
  c.peers_count = remotes;
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
  control_messages with(me.rank, what, lengths::equal);
  with.receive(me.rank, {context, to, tag}, bytes_of(&theirs, 1));
  with.send(there, to, {context, between.own, tag}, byte_view(bytes_of(&note, 1)));
  with.wait();
  const int all = world_size();
  if (theirs.size < 1 || theirs.size > all)
    fail(MPI_ERR_OTHER, "the leader of the other group says that it has {} ranks, of a job of {}",
         theirs.size, all);
  std::vector<int> remote(static_cast<std::size_t>(theirs.size));
  with.receive(me.rank, {context, to, tag}, bytes_of(remote.data(), remote.size()));
  with.send(there, to, {context, between.own, tag}, std::as_bytes(std::span(mine)));
  with.wait();
  for (const int r : remote)
    if (r < 0 || r >= all)
      fail(MPI_ERR_OTHER,
           "the leader of the other group says that rank {} is in it, of a job of {}", r, all);
  return remote;
}

struct creation {
  MPI_Comm local_comm;
  int local_leader;
  MPI_Comm peer_comm;
  int remote_leader;
  int tag;
};

MPI_Comm create(state& me, const creation& how) {
  const char* const call = "MPI_Intercomm_create";
  communicator_object& local = checked_intracommunicator(me, how.local_comm);
  if (how.local_leader < 0 || how.local_leader >= local.locals_count())
    fail(MPI_ERR_RANK, "local_leader {}: {}", how.local_leader, ranks_of(local));
  check_tag(how.tag);
  const std::vector<int> mine = local_ranks(local);
  leader_note note{static_cast<std::int32_t>(mine.size()), me.rank.number, 0};
  leader_note notes[2];
  std::vector<int> remote;
  const bool leads = local.rank() == how.local_leader;
  if (leads) {
    const communicator_object& between = checked_communicator(me, how.peer_comm);
    check_peer(between, how.remote_leader, "remote_leader");
    note.context = me.rank.shared->take_contexts(1);
    remote = exchange_groups(me, between, how.remote_leader, how.tag, mine, note, notes[1]);
    notes[0] = note;
  }
  broadcast(*local.shared, local.own, bytes_of(notes, 2), how.local_leader, call);
  remote.resize(static_cast<std::size_t>(notes[1].size));
  broadcast(*local.shared, local.own, bytes_of(remote.data(), remote.size()), how.local_leader,
            call);
  for (const int r : remote)
    if (std::find(mine.begin(), mine.end(), r) != mine.end())
      fail(MPI_ERR_GROUP, "the two groups have rank {} of MPI_COMM_WORLD in common", r);
  const bool first = notes[0].number < notes[1].number;
  std::vector<int> all = first ? mine : remote;
  const std::vector<int>& rest = first ? remote : mine;
  all.insert(all.end(), rest.begin(), rest.end());
  communicator_object& c =
      me.communicators.make(join(*me.rank.shared, me.rank, all, notes[first ? 0 : 1].context));
  c.locals_first = first ? 0 : notes[1].size;
  c.peers_first = first ? notes[0].size : 0;
  c.peers_count = notes[1].size;
  set_error_handler(me, c, local.handler);
  return handle_of(c);
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
        *group = make_group(me, remote_ranks(checked_intercommunicator(me, comm)));
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
