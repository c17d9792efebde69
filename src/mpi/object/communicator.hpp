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
      : ranks(std::move(c)), shared(&ranks.state()), own(ranks.rank()), peers_count(ranks.size()) {}

  // Of an inter-communicator: the ranks of both groups.
  weft::communicator ranks;
  detail::communicator_state* shared;  // That of `ranks`.
  int own;                             // This rank's number there.
  // Where among `ranks` those are that messages go to: all, or the remote group of an
  // inter-communicator; and where the local group begins.
  int peers_first = 0;
  int peers_count;
  int locals_first = 0;
  [[nodiscard]] int locals_count() const noexcept {
    return peers_first == locals_first ? peers_count : ranks.size() - peers_count;
  }

  attribute_list attributes;
  std::shared_ptr<const struct topology> topology;  // Null: none.
  std::string name;
  info_entries hints;  // That the program has given; none means anything here.
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
  bool needed = false;  // Of a retired one, while those are looked for that are not.

  [[nodiscard]] int rank() const noexcept { return own - locals_first; }
  [[nodiscard]] bool is_inter() const noexcept { return peers_first != locals_first; }
  // As the message path wants it, and back.
  [[nodiscard]] int peer(int rank) const noexcept { return peers_first + rank; }
};

struct state;

// A communicator made from `parent`, with its error handler; MPI_COMM_NULL when there is none.
[[nodiscard]] MPI_Comm add_communicator(state& me, std::optional<weft::communicator> made,
                                        const communicator_object& parent);
// Its groups are those of `parent`, an inter-communicator, as far as they are in `made`;
// MPI_COMM_NULL when one of them is empty.
[[nodiscard]] MPI_Comm add_intercommunicator(state& me, std::optional<weft::communicator> made,
                                             const communicator_object& parent);
// The same groups, topology and name in a context of its own; no handle of the program's refers to it.
[[nodiscard]] std::shared_ptr<communicator_object> with_own_context(state& me,
                                                                    const communicator_object& c,
                                                                    const char* call);
// MPI_COMM_NULL for a color of MPI_UNDEFINED.
[[nodiscard]] MPI_Comm split_by_color(state& me, communicator_object& c, int color, int key,
                                      const char* call);
// Refuses inter-communicators.
[[nodiscard]] communicator_object& checked_intracommunicator(state& me, MPI_Comm comm);
void check_root(const communicator_object& c, int root);

}  // namespace weft::mpi
