// What an MPI_Comm stands for.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "mpi/object/attributes.hpp"
#include "mpi/object/handles.hpp"
#include "mpi/object/info.hpp"
#include "rank/communicator_state.hpp"
#include "weft/communicator.hpp"

namespace weft::mpi {

struct communicator_object : object {
  using handle = MPI_Comm;
  static constexpr object_kind own_kind = object_kind::communicator;

  explicit communicator_object(weft::communicator c)
      : ranks(std::move(c)), shared(&ranks.state()), own(ranks.rank()) {
    set_peers(0, ranks.size(), 0);
    if (auto*& told = shared->at(own).open_peers; told == nullptr) told = &open_peers;
  }
  communicator_object(const communicator_object&) = delete;
  communicator_object& operator=(const communicator_object&) = delete;
  ~communicator_object() {
    if (auto*& told = shared->at(own).open_peers; told == &open_peers) told = nullptr;
  }

  // All its ranks; those of an inter-communicator are both groups, one behind the other.
  weft::communicator ranks;
  detail::communicator_state* shared;  // The state of `ranks`.
  int own;                             // This rank's number in `ranks`.
  // The part of `ranks` that messages go to: all, or the remote group of an inter-communicator. And the begin of the
  // local group.
  int peers_first = 0;
  int peers_count = 0;
  int locals_first = 0;
  int open_peers = 0;  // `peers_count`; 0 once the communicator is revoked.
  void set_peers(int first, int count, int first_local) noexcept {
    peers_first = first;
    peers_count = count;
    locals_first = first_local;
    open_peers = is_revoked() ? 0 : count;
  }
  [[nodiscard]] bool is_revoked() const noexcept {
    return shared->revoked.load(
        std::memory_order_relaxed);  // Relaxed: it says only that calls fail.
  }
  [[nodiscard]] int locals_count() const noexcept {
    return peers_first == locals_first ? peers_count : ranks.size() - peers_count;
  }

  attribute_list attributes;
  std::shared_ptr<const struct topology> topology;  // Null: none.
  std::string name;
  info_entries hints;  // The program's; weft uses none.
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
  std::uint32_t session =
      0;                   // The number of the session that it comes of; no_session: of MPI_Init.
  bool has_handle = true;  // False: a window or a file has it.
  bool needed = false;     // Used while retired communicators are looked through for unused ones.

  [[nodiscard]] int rank() const noexcept { return own - locals_first; }
  [[nodiscard]] bool is_inter() const noexcept { return peers_first != locals_first; }
  // From a rank as the program gives it to its number in `ranks`, and back.
  [[nodiscard]] int peer(int rank) const noexcept { return peers_first + rank; }
};

struct state;
struct group_object;

// The handle of a communicator that was made from `parent`, with the parent's error handler; MPI_COMM_NULL when
// `made` is empty.
[[nodiscard]] MPI_Comm add_communicator(state& me, std::optional<weft::communicator> made,
                                        const communicator_object& parent);
// The same for an inter-communicator: its groups are the ranks of the parent's groups that are in `made`. MPI_COMM_NULL
// when one group is empty.
[[nodiscard]] MPI_Comm add_intercommunicator(state& me, std::optional<weft::communicator> made,
                                             const communicator_object& parent);
// A copy of `c` (groups, topology, name) with a context of its own, to which the program has no handle.
[[nodiscard]] std::shared_ptr<communicator_object> with_own_context(state& me,
                                                                    const communicator_object& c,
                                                                    const char* call);
// MPI_COMM_NULL for a color of MPI_UNDEFINED.
[[nodiscard]] MPI_Comm split_by_color(state& me, communicator_object& c, int color, int key,
                                      const char* call);
// What MPI_Comm_create_from_group and its kin check: the group, which must have the caller in it; and the name of the call,
// which is the program's tag behind what tells calls of another kind apart.
[[nodiscard]] const group_object& group_with_caller(state& me, MPI_Group group);
[[nodiscard]] std::string checked_name(const char* kind, const char* stringtag);
// Called when a session ends: frees its communicators to which the program still has handles. Returns how many these were,
// and how many more windows, files and persistent collectives have.
struct left_communicators {
  std::size_t with_handle = 0;
  std::size_t without = 0;
};
left_communicators end_communicators_of(state& me, std::uint32_t session);
// Refuses inter-communicators.
[[nodiscard]] communicator_object& checked_intracommunicator(state& me, MPI_Comm comm);
void check_root(const communicator_object& c, int root);

}  // namespace weft::mpi
