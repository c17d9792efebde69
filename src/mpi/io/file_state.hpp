// What a rank knows of a file that it has open: the group, the view, the pointers, the hints. The rank's own code and the
// fibers of its non-blocking calls share it; all of them run on the rank's worker.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mpi/io/file_view.hpp"
#include "mpi/io/open_file.hpp"
#include "mpi/io/shared_pointer.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "weft/communicator.hpp"

namespace weft::mpi {

// How basic elements are stored in a file.
struct file_representation {
  enum class type : std::uint8_t { native, external32, registered };
  type what = type::native;
  std::string name = "native";
  registered_representation functions;  // Of a registered one.
};

// Numbers that hints set; hints.cpp reads and reports them.
struct file_hints {
  enum class choice : std::uint8_t { automatic, enable, disable };
  std::uint64_t buffer_bytes = std::uint64_t{4} << 20;  // cb_buffer_size
  int aggregators = 0;                                  // cb_nodes; 0: as many as workers.
  choice collective_writes = choice::automatic;         // romio_cb_write
  choice collective_reads = choice::automatic;          // romio_cb_read
  unsigned mode = 0666;                                 // file_perm
  info_object others;                                   // Known, and reported as they were given.
};

// The routine of a split collective that has begun.
enum class split_routine : std::uint8_t {
  read_all,
  read_at_all,
  read_ordered,
  write_all,
  write_at_all,
  write_ordered
};

struct file_state {
  MPI_File handle = MPI_FILE_NULL;
  std::string name;  // As the program gave it: for messages.
  std::string path;
  int amode = 0;
  // The ranks that have it open, with a context of its own.
  std::shared_ptr<communicator_object> group;
  std::shared_ptr<open_file> file;
  std::shared_ptr<shared_pointer> pointer;
  std::vector<int> aggregators;  // In rank order; the same on all ranks.
  file_hints hints;
  bool atomic = false;

  std::shared_ptr<const file_view> view = std::make_shared<const file_view>();
  std::shared_ptr<const file_representation> representation =
      std::make_shared<const file_representation>();
  datatype_object* etype = nullptr;  // Both are held.
  datatype_object* filetype = nullptr;
  std::uint64_t position = 0;  // Of the individual pointer, in etypes.

  // Collective calls take turns, in the order in which they were called (file_turn).
  std::uint64_t called = 0;
  std::uint64_t ended = 0;

  struct split_access {
    split_routine routine;
    const void* buffer;
    weft::request started;
    std::shared_ptr<const std::uint64_t> moved_bytes;
  };
  std::optional<split_access> split;

  [[nodiscard]] const weft::communicator& ranks() const noexcept { return group->ranks; }
  [[nodiscard]] detail::communicator_state& shared() const noexcept { return *group->shared; }
  [[nodiscard]] int own() const noexcept { return group->own; }
  // The first rank of this process speaks for it.
  [[nodiscard]] int leader() const noexcept { return shared().local()[0]; }
  [[nodiscard]] bool is_here(int rank) const noexcept { return shared().at(rank).rank != nullptr; }
};

// The object of a handle; throws when it is MPI_FILE_NULL, closed, or no file.
[[nodiscard]] file_object& checked_file(MPI_File file);

// The frame of functions of files: errors go to the file's handler. `body(state, file_state)`.
template <class Body, class... Arguments>
[[gnu::always_inline]] inline int in_file_call(const char* name, MPI_File file, const Body& body,
                                               const Arguments&... arguments) {
  return in_call(
      name, file,
      [&](state& me) {
        const std::shared_ptr<file_state> kept = checked_file(file).file;
        body(me, *kept);
      },
      file, arguments...);
}

// A turn among the collective calls of the file. A blocking call takes one and begins; a non-blocking one takes its number in the
// call and begins on its own fiber.
class file_turn {
 public:
  [[nodiscard]] static std::uint64_t take_number(file_state& f) noexcept { return f.called++; }
  file_turn(state& me, file_state& f, const char* call) : file_turn(me, f, call, take_number(f)) {}
  file_turn(state& me, file_state& f, const char* call, std::uint64_t number) : of_(f) {
    me.rank.home->wait_until(looks{[&] { return f.ended == number; }}, {call, f.shared().context});
  }
  ~file_turn() { ++of_.ended; }
  file_turn(const file_turn&) = delete;
  file_turn& operator=(const file_turn&) = delete;

 private:
  file_state& of_;
};

// --- Agreement ---------------------------------------------------------------------------------------------------------
// What a rank brings to a collective call: its failure, if it has one, so that all ranks fail and nobody waits for it.
struct contribution_of_rank {
  int code = MPI_SUCCESS;
  std::string text;

  // Runs `check`, and keeps its failure.
  template <class Check>
  void note(const Check& check) {
    try {
      check();
    } catch (...) {
      const failure why = current_failure();
      if (code == MPI_SUCCESS) {
        code = why.code();
        text = why.what();
      }
    }
  }
  void note(const file_state& f, const file_outcome& outcome);
};
// Every rank of the group calls it, when all know that `rank` has failed: throws this rank's own failure, or else that one's.
[[noreturn]] void fail_as(const weft::communicator& ranks, int rank, int code,
                          const contribution_of_rank& mine);
// Every rank of the group calls it. Throws on all ranks when one has failed: its own failure, or another's.
void agree(const weft::communicator& ranks, const contribution_of_rank& mine);
// The same, and all ranks must have given the same value; `what` names it.
void agree_on(const weft::communicator& ranks, contribution_of_rank mine, std::uint64_t value,
              const char* what);
// Throws what a failed operation means.
void check_outcome(const file_state& f, const file_outcome& outcome);

// --- Hints (hints.cpp) ---------------------------------------------------------------------------------------------------
// Takes the hints that are known from an info; values that mean nothing are left out.
void take_hints(file_hints& to, const info_entries& from);
[[nodiscard]] info_entries told_hints(const file_state& f);

// --- Views (views.cpp) ---------------------------------------------------------------------------------------------------
void reset_view(file_state& f);  // The one that a file is opened with.
void release_view(state& me, file_state& f);
// The bytes of one element in the file.
[[nodiscard]] std::uint64_t bytes_in_file(const file_representation& r,
                                          const datatype_object& type);
// The only basic element of which the datatype is made; throws when there are several.
[[nodiscard]] const datatype_object& only_basic(const datatype_object& type);

// --- Pointers (pointers.cpp) -----------------------------------------------------------------------------------------------
// From the arguments of a seek to a position in etypes.
[[nodiscard]] std::uint64_t position_after_seek(state& me, file_state& f, MPI_Offset offset,
                                                int whence, std::uint64_t current,
                                                const char* call);
// The position behind the last etype of which a byte is in the file.
[[nodiscard]] std::uint64_t end_position(state& me, file_state& f, const char* call);

}  // namespace weft::mpi
