#include "rma/initiator.hpp"

#include <utility>

#include "base/format.hpp"
#include "rma/far.hpp"
#include "rma/memory.hpp"
#include "weft/error.hpp"

namespace weft::rma {
namespace {

// A word that is awaited has so many bytes at most.
constexpr std::uint64_t mark_granule = 8;

}  // namespace

initiator::initiator(detail::rank_state& me, memory& shared)
    : watches_(shared.watches()),
      me_(me),
      shared_(shared),
      has_silent_writers_(shared.own_signs().has_silent_writers()) {
  if (shared.between() != nullptr) far_ = std::make_unique<far_operations>(*this, shared);
  me.home->set_memory_watch(*watches_[me.number]);
  shared.add(*this);
}

initiator::~initiator() {
  shared_.remove(*this);
}

initiator& initiator::attach(detail::rank_state& me) {
  if (initiator* const existing = of(me); existing != nullptr) return *existing;
  memory& shared = memory::of(me);
  shared.begin();
  auto made = std::make_unique<initiator>(me, shared);
  initiator& one = *made;
  me.faces[face_slot] = std::move(made);
  return one;
}

// --- For reports -----------------------------------------------------------------------------------

// Sleepers look at the flag as at their words: so they are woken as by any writer, and sleep for short times then.
void initiator::note_silent_writers() {
  if (std::exchange(noted_silent_writers_, true)) return;
  for (const int rank : shared_.note_silent_writers())
    if (watches_[rank]->is_asleep()) wake_worker(rank);
}

void initiator::note_writer(const location& where, std::size_t bytes) noexcept {
  const int rank = where.in->number_in_job(where.rank);
  const std::uint64_t name = where.in->name_of(where);
  const std::uint64_t first = name / mark_granule;
  const std::uint64_t last = (name + bytes - 1) / mark_granule;
  // Long data are no flags: their ends are enough.
  for (const std::uint64_t word : {first, last})
    if (writer_mark* const mark = shared_.mark_of(rank, word); mark != nullptr) {
      mark->word.store(word + 1, std::memory_order_relaxed);
      mark->writer.store(static_cast<std::uint64_t>(me_.number), std::memory_order_relaxed);
    }
}

int initiator::last_writer(const location& own) const noexcept {
  const std::uint64_t name = own.in->name_of(own) / mark_granule;
  const writer_mark* const mark = shared_.mark_of(me_.number, name);
  if (mark == nullptr || mark->word.load(std::memory_order_relaxed) != name + 1) return -1;
  return static_cast<int>(mark->writer.load(std::memory_order_relaxed));
}

// --- Out of line ---------------------------------------------------------------------------------

void initiator::wake(const location& written) {
  note_writer(written, 1);
  wake_worker(written.in->number_in_job(written.rank));
}

void initiator::wake_worker(int rank) {
  const detail::rank_place& there = me_.of->places[static_cast<std::size_t>(rank)];
  if (there.rank != nullptr) return there.rank->home->notify();
  // One writer is enough: the message comes in any case, and the worker looks at all its words then. Within the
  // process the flag stays, since the worker may be about to park for another word than was written: nobody would
  // wake it when that one is.
  if (!watches_[rank]->take()) return;
  const shared_section in(*me_.home);  // A put by the fast path has come here without it.
  far_->wake(rank);
}

void initiator::throw_not_there(const location& where, std::size_t bytes, const char* what) const {
  throw error(formatted(
      "rank {}: {} of {} bytes, {} bytes behind the begin of rank {}'s part of a region, which has {} bytes",
      me_.number, what, bytes, where.offset, where.rank, where.in->extent_of(where.rank).bytes));
}

void initiator::put_far(context& c, const location& to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (std::byte* const at = to.in->reached_or_attached(to, bytes); at != nullptr) {
    copy(at, from, bytes);
    return tell(to);
  }
  if (far_ == nullptr || !to.in->has(to, bytes) || to.in->attaches_here(to.rank)) [[unlikely]]
    throw_not_there(to, bytes, "put");
  far_->put(c, to, from, bytes);
}
void initiator::get_far(context& c, void* to, const location& from, std::size_t bytes, bool waits) {
  if (bytes == 0) return;
  if (const std::byte* const at = from.in->reached_or_attached(from, bytes); at != nullptr)
    return copy(to, at, bytes);
  if (far_ == nullptr || !from.in->has(from, bytes) || from.in->attaches_here(from.rank))
      [[unlikely]]
    throw_not_there(from, bytes, "get");
  far_->get(c, to, from, bytes, waits);
}
void initiator::update_far(context& c, update what, number type, const location& at,
                           const void* operand, const void* expected, void* old, bool waits) {
  const std::size_t bytes = type == number::bits32 || type == number::float32 ? 4 : 8;
  if (far_ == nullptr || !at.in->has(at, bytes)) [[unlikely]]
    throw_not_there(at, bytes, "update");
  far_->change(c, what, type, at, operand, expected, old, waits);
}
void initiator::change_elements(context& c, const location& at, const element_update& what,
                                const void* operand, void* old, std::size_t count, bool waits) {
  if (count == 0) return;
  const std::size_t bytes = count * what.element_bytes;
  if (std::byte* const there = at.in->reached_or_attached(at, bytes); there != nullptr) [[likely]]
    return change_elements_at(there, at, what, operand, old, count);
  if (far_ == nullptr || !at.in->has(at, bytes) || at.in->attaches_here(at.rank)) [[unlikely]]
    throw_not_there(at, bytes, "update of elements");
  far_->change_elements(c, at, what, static_cast<const std::byte*>(operand),
                        static_cast<std::byte*>(old), count, waits);
}
void initiator::change_elements_at(std::byte* there, const location& at, const element_update& what,
                                   const void* operand, void* old, std::size_t count) {
  shared_.change_elements(*me_.home, at.in->number_in_job(at.rank), at.offset, there, what,
                          static_cast<const std::byte*>(operand), static_cast<std::byte*>(old),
                          count);
  tell(at);
}
void initiator::change_element_at(std::byte* there, const location& at, const element_update& what,
                                  const void* operand, void* old) {
  shared_.change_element(*me_.home, at.in->number_in_job(at.rank), at.offset, there, what,
                         static_cast<const std::byte*>(operand), static_cast<std::byte*>(old));
  tell(at);
}
void initiator::quiet_far(context& c) {
  if (far_ != nullptr)
    far_->quiet(c);
  else
    c.is_busy_ = false;
}
void initiator::fence_far(context& c) {
  if (far_ != nullptr) far_->fence(c);
}
void initiator::begin_gathering(context& c) {
  if (far_ != nullptr && c.gathers_ == nullptr)
    c.gathers_ =
        std::make_unique<remote::gathering<context::gathered_bytes_max>>(me_.of->places.size());
}
void initiator::end_gathering(context& c) {
  send_gathered(c);
  c.gathers_ = nullptr;
}
void initiator::send_gathered(context& c) {
  if (c.gathers_ != nullptr) far_->send_gathered(c);
}
void initiator::quiet(context& c, std::span<const int> ranks) {
  if (!c.is_quiet() && far_ != nullptr) far_->quiet(c, ranks);
  asymmetric::full_fence();
}

namespace {

// Returns the first of these blocks when loads and stores reach all of them, else null.
std::byte* reached_blocks(const location& first, std::ptrdiff_t stride, std::size_t bytes,
                          std::size_t count) noexcept {
  if (count == 0) return nullptr;
  location last = first;
  last.offset += static_cast<std::uint64_t>(stride) * (count - 1);
  return first.in->reached(last, bytes) != nullptr ? first.in->reached(first, bytes) : nullptr;
}

void copy_blocks(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                 std::ptrdiff_t from_stride, std::size_t bytes, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i, to += to_stride, from += from_stride)
    std::memmove(to, from, bytes);
}

}  // namespace

// Blocks of a word are words on the way, too.
void initiator::put_strided(context& c, const location& to, std::ptrdiff_t to_stride,
                            const void* from, std::ptrdiff_t from_stride, std::size_t bytes,
                            std::size_t count) {
  const auto* source = static_cast<const std::byte*>(from);
  if (std::byte* const there = reached_blocks(to, to_stride, bytes, count); there != nullptr) {
    copy_blocks(there, to_stride, source, from_stride, bytes, count);
    return tell(to);
  }
  location at = to;
  for (std::size_t i = 0; i < count; ++i, source += from_stride) {
    put(c, at, source, bytes);
    at.offset += static_cast<std::uint64_t>(to_stride);
  }
}

void initiator::get_strided(context& c, void* to, std::ptrdiff_t to_stride, const location& from,
                            std::ptrdiff_t from_stride, std::size_t bytes, std::size_t count) {
  auto* at = static_cast<std::byte*>(to);
  if (const std::byte* const there = reached_blocks(from, from_stride, bytes, count);
      there != nullptr)
    return copy_blocks(at, to_stride, there, from_stride, bytes, count);
  location source = from;
  for (std::size_t i = 0; i < count; ++i, at += to_stride) {
    get_nbi(c, at, source, bytes);
    source.offset += static_cast<std::uint64_t>(from_stride);
  }
  // The call returns when blocks that are fetched by messages are there.
  if (!c.is_quiet()) quiet_far(c);
}

}  // namespace weft::rma
