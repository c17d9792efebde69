#include "mpi/window/race_notes.hpp"

#include <utility>

#include "mpi/datatype/data.hpp"
#include "mpi/point_to_point/transfer.hpp"

namespace weft::mpi {

using diagnosis::memory_range;
using diagnosis::race_watch;

namespace {

enum class between : std::uint8_t { exclusive_lock, shared_lock, post, completion, update };

race_watch::name name_of(const window_object& w, between what, int from, int to = 0) {
  return {std::uint64_t{w.ranks->shared->context} << 8 | static_cast<std::uint8_t>(what),
          std::uint64_t{static_cast<std::uint32_t>(from)} << 32 | static_cast<std::uint32_t>(to)};
}

int number_of(const state& me) noexcept {
  return me.rank.number;
}

void publish(const state& me, const race_watch::name& where) {
  if (race_watch* const races = races_of(me); races != nullptr)
    races->publish(number_of(me), where);
}
void take(const state& me, const race_watch::name& where) {
  if (race_watch* const races = races_of(me); races != nullptr) races->take(number_of(me), where);
}

}  // namespace

// --- Operations --------------------------------------------------------------------------------------

transfer_note::transfer_note(const state& me, const window_object& w, int target, const char* call,
                             const void* request)
    : me_(me),
      w_(w),
      races_(*races_of(me)),
      owner_{&w, target, request},
      call_(call),
      here_(diagnosis::calls_here()) {}

void transfer_note::at_target(const void* at, std::size_t bytes, diagnosis::use_kind kind,
                              const datatype_object* element) const {
  race_watch::use u{number_of(me_), kind, memory_range::of(at, bytes), 0, 1, owner_, call_, here_};
  if (element != nullptr) {
    u.element = static_cast<std::uint32_t>(element - predefined_types);
    u.element_bytes = static_cast<std::uint32_t>(element->extent);  // Pairs have gaps.
  }
  races_.start(std::move(u));
}

void transfer_note::at_origin(const void* at, std::size_t bytes, bool writes) const {
  if (bytes != 0)
    races_.begin({number_of(me_), memory_range::of(at, bytes), writes, owner_, call_, here_},
                 false);
}

void transfer_note::at_origin(const detail::segments& memory, bool writes) const {
  each_block(memory, [&](const std::byte* at, std::size_t bytes) { at_origin(at, bytes, writes); });
}

void transfer_note::update_is_message() const {
  const race_watch::name where = name_of(w_, between::update, owner_.target);
  races_.take(number_of(me_), where);
  races_.publish(number_of(me_), where);
}
void transfer_note::update_is_over() const {
  races_.take(number_of(me_), name_of(w_, between::update, owner_.target));
}

transfer_request::transfer_request(state& me, const char* call) : me_(me) {
  if (races_of(me) == nullptr) return;
  made_ = &make_request(me, 0, MPI_COMM_SELF, request_object::type::send);
  detail::operation& op = made_->own_work;
  op.what = detail::operation::kind::send;
  op.owner = &me.rank;
  op.bytes = 0;
  op.complete = true;
  watch(me, op, call);
}
transfer_request::~transfer_request() {
  if (made_ == nullptr) return;
  weft::detail::watch_end(made_->own_work);
  me_.requests.free(*made_);
}
const void* transfer_request::key() const noexcept {
  return made_ == nullptr ? nullptr : &made_->own_work;
}
MPI_Request transfer_request::give() noexcept {
  return made_ == nullptr ? handle_of(me_.done) : handle_of(*std::exchange(made_, nullptr));
}

void note_complete(race_watch& races, const state& me, const window_object& w, int target,
                   bool locally) {
  races.end(number_of(me), {&w, target});
  races.over(number_of(me), {&w, target},
             locally ? race_watch::which::reads : race_watch::which::all);
}

// --- Order -------------------------------------------------------------------------------------------

void note_locked(const state& me, const window_object& w, int target, bool is_exclusive) {
  take(me, name_of(w, between::exclusive_lock, target));
  if (is_exclusive) take(me, name_of(w, between::shared_lock, target));
}
void note_unlocks(const state& me, const window_object& w, int target, bool is_exclusive) {
  publish(me, name_of(w, is_exclusive ? between::exclusive_lock : between::shared_lock, target));
}
void note_posts(const state& me, const window_object& w, int origin) {
  publish(me, name_of(w, between::post, w.own(), origin));
}
void note_started(const state& me, const window_object& w, int target) {
  take(me, name_of(w, between::post, target, w.own()));
}
void note_completes(const state& me, const window_object& w, int target) {
  publish(me, name_of(w, between::completion, w.own(), target));
}
void note_waited(const state& me, const window_object& w, int origin) {
  take(me, name_of(w, between::completion, origin, w.own()));
}
void note_synchronised(const state& me) {
  if (race_watch* const races = races_of(me); races != nullptr) races->take_all(number_of(me));
}

// --- Memory ------------------------------------------------------------------------------------------

void note_exposed(const state& me, const void* base, std::size_t bytes) {
  if (race_watch* const races = races_of(me); races != nullptr)
    races->expose(number_of(me), memory_range::of(base, bytes), true);  // MPI_WIN_UNIFIED.
}
void note_hidden(const state& me, const void* base) {
  if (race_watch* const races = races_of(me); races != nullptr) races->hide(number_of(me), base);
}

}  // namespace weft::mpi
