// What an MPI_Win stands for. The functions on it are in mpi/window.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpi/object/attributes.hpp"
#include "mpi/object/communicator.hpp"
#include "mpi/object/handles.hpp"
#include "mpi/object/info.hpp"
#include "rma/attached_memory.hpp"
#include "rma/context.hpp"
#include "rma/element_update.hpp"

namespace weft::rma {
class initiator;
class region;
}  // namespace weft::rma

namespace weft::mpi {

struct window_object : object {
  using handle = MPI_Win;
  static constexpr object_kind own_kind = object_kind::window;

  // Which epochs this rank has open.
  enum : std::uint8_t {
    fenced = 1,      // Between two calls of MPI_Win_fence, or before the first with others to come.
    started = 2,     // To the ranks of `targets`.
    posted = 4,      // To the ranks of `origins`.
    locked_all = 8,  // To all.
  };
  struct lock {
    int target;
    bool is_exclusive;
    bool is_checked;  // It was taken: not one of MPI_MODE_NOCHECK.
  };

  // How often this rank has told another one that it has posted and completed, and how often epochs here have taken note that
  // the other one has.
  struct epoch_counts {
    std::uint32_t posts_told = 0, posts_taken = 0;
    std::uint32_t completions_told = 0, completions_taken = 0;
  };

  // The group of an epoch, and its ranks as ranks of the window, in order. The last one is kept: programs name the same again.
  struct epoch_group {
    std::vector<int> numbers;  // As those of a group.
    std::vector<int> ranks;
  };

  explicit window_object(std::shared_ptr<communicator_object> of) : ranks(std::move(of)) {}

  // Every operation reads these.
  std::uint8_t open = 0;
  int size = 0;            // How many ranks.
  int locked_target = -1;  // One of `locks`; -1: none.
  int looks_left = 1;      // So many calls may come in a row until others of the worker run.
  rma::initiator* memory = nullptr;
  const rma::region* parts = nullptr;  // The memory of the window.
  rma::context operations;
  // The last update of one predefined element, and its handles.
  MPI_Op update_op = MPI_OP_NULL;
  MPI_Datatype update_type = MPI_DATATYPE_NULL;
  rma::element_update update;

  std::shared_ptr<communicator_object> ranks;  // With a context of its own.
  const rma::region* words = nullptr;  // The words of its synchronisation (window/words.hpp).
  std::vector<lock> locks;             // Those that are held, without locked_all.
  bool locked_all_checked = false;
  epoch_group targets;
  epoch_group origins;
  std::size_t completed = 0;         // So many of `origins` are known to have completed.
  std::vector<epoch_counts> epochs;  // With each rank; empty: none yet.
  std::unique_ptr<rma::attached_memory> attached;  // Of a dynamic window.
  std::vector<const void*> attached_empty;         // Ranges of no bytes.

  // What the predefined attributes say, or point to.
  void* base = nullptr;
  MPI_Aint bytes = 0;
  int unit = 1;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  int model = MPI_WIN_UNIFIED;

  attribute_list attributes;
  std::string name;
  info_entries hints;  // All that MPI_Win_get_info tells.
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;

  [[nodiscard]] int own() const noexcept { return ranks->own; }
};

[[noreturn, gnu::cold]] void fail_window(MPI_Win win);
[[nodiscard]] inline window_object& checked_window(MPI_Win win) {
  if (auto* const w = find_object<window_object>(win); w != nullptr) [[likely]]
    return *w;
  fail_window(win);
}

}  // namespace weft::mpi
