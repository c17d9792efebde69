// In a checked job of one process: what operations on windows use, and what orders them (diagnosis/races.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

#include "mpi/datatype/overlap.hpp"
#include "mpi/window/window.hpp"

namespace weft::mpi {

// What one call uses. Made only where races_of() is not null.
class transfer_note {
 public:
  // `request`: null where the call makes none.
  transfer_note(const state& me, const window_object& w, int target, const char* call,
                const void* request = nullptr);
  // What it uses at the target. Of an update also which datatype, so that those of one are atomic to each other.
  void at_target(const void* at, std::size_t bytes, diagnosis::use_kind kind,
                 const datatype_object* element = nullptr) const;
  // What it reads or writes at the origin until it is complete there.
  void at_origin(const detail::segments& memory, bool writes) const;
  void at_origin(const void* at, std::size_t bytes, bool writes) const;
  // An update is also a message between those that update the same rank's memory. Called before it; when it is over, what those
  // before it have told is known.
  void update_is_message() const;
  void update_is_over() const;

 private:
  const state& me_;
  const window_object& w_;
  diagnosis::race_watch& races_;
  diagnosis::use_owner owner_;
  const char* call_;
  diagnosis::call_list here_;
};

// The request of an operation that is complete when it is made; in a job that looks for races each has its own, since its wait
// tells when the memory is free.
class transfer_request {
 public:
  transfer_request(state& me, const char* call);
  ~transfer_request();
  transfer_request(const transfer_request&) = delete;
  transfer_request& operator=(const transfer_request&) = delete;
  // For transfer_note; null where nobody asks.
  [[nodiscard]] const void* key() const noexcept;
  [[nodiscard]] MPI_Request give() noexcept;

 private:
  state& me_;
  request_object* made_ = nullptr;
};

// The operations of this rank at a target (-1: all) are complete; `locally`: what they use here is free, and what they read has been
// read.
[[gnu::noinline, gnu::cold]] void note_complete(diagnosis::race_watch& races, const state& me,
                                                const window_object& w, int target, bool locally);
inline void note_complete(const state& me, const window_object& w, int target,
                          bool locally = false) {
  if (diagnosis::race_watch* const races = races_of(me); races != nullptr) [[unlikely]]
    note_complete(*races, me, w, target, locally);
}

// --- What orders -----------------------------------------------------------------------------------
void note_locked(const state& me, const window_object& w, int target, bool is_exclusive);
void note_unlocks(const state& me, const window_object& w, int target, bool is_exclusive);
void note_posts(const state& me, const window_object& w, int origin);
void note_started(const state& me, const window_object& w, int target);
void note_completes(const state& me, const window_object& w, int target);
void note_waited(const state& me, const window_object& w, int origin);
// The rank may see by its own loads what any other has done.
void note_synchronised(const state& me);

// --- Memory ----------------------------------------------------------------------------------------
void note_exposed(const state& me, const void* base, std::size_t bytes);
void note_hidden(const state& me, const void* base);

}  // namespace weft::mpi
