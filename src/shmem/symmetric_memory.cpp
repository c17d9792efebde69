// The symmetric heap as the program calls it. Every PE makes the same calls, so nobody sends an offset.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/log.hpp"
#include "rma/arena.hpp"
#include "shmem/core.hpp"
#include "shmem/race_notes.hpp"

namespace weft::shmem {
namespace {

std::size_t offset_of(const pe_state& me, const void* block) {
  const auto heap = me.symmetric.heap();
  const auto at = static_cast<const std::byte*>(block);
  if (at < heap.data() || at >= heap.data() + heap.size())
    fail("ptr {} is no address that shmem_malloc or its kin has returned on this PE", block);
  return static_cast<std::size_t>(at - heap.data());
}

std::size_t size_of_block(const pe_state& me, const void* block, std::size_t offset) {
  const auto size = me.blocks->size_at(offset);
  if (!size)
    fail("ptr {} is no block of the symmetric heap: it has been freed, or lies inside of one",
         block);
  return *size;
}

// Checks, when SHMEM_DEBUG is set, that all PEs pass the same.
void check_same(pe_state& me, std::size_t first, std::size_t second) {
  if (!me.settings.debug) return;
  const std::array<std::uint64_t, 2> mine{first, second};
  const communicator& all = *world_team(me).ranks;
  const auto least = [&](auto op, std::size_t i) { return all.allreduce(mine[i], op); };
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (const auto low = least(weft::min{}, i), high = least(weft::max{}, i); low != high)
      fail("PEs call it with {} to {}, this one with {}: all must pass the same", low, high,
           mine[i]);
}

// The heap is used up to there: where that is much, it may lie in large pages, but for its end.
void expect_use(pe_state& me, std::size_t bytes) noexcept {
  constexpr std::size_t large_use_bytes_min = std::size_t{8} << 20;
  const std::size_t end = bytes / rma::arena::alignment * rma::arena::alignment;
  if (bytes < large_use_bytes_min || end <= me.large_pages_until) return;
  me.symmetric.allow_large_pages(me.large_pages_until, end);
  me.large_pages_until = end;
}

std::byte* place_of_block(pe_state& me, std::size_t offset) noexcept {
  expect_use(me, me.blocks->highest_end());
  return me.symmetric.heap().data() + offset;
}

// Returns null. A heap that the system has kept small, whose size nobody has chosen, is reported in any case.
std::byte* tell_of_no_room(pe_state& me, const char* call, std::size_t bytes) {
  if (me.number != 0 || (!me.settings.debug && me.heap_is_small_for.empty())) return nullptr;
  const std::string remedy =
      me.heap_is_small_for.empty()
          ? "set SHMEM_SYMMETRIC_SIZE to more, or leave it unset"
          : formatted("{}: raise that, or ask for what there is room for with SHMEM_SYMMETRIC_SIZE",
                      me.heap_is_small_for);
  log_line(
      "PE {}: {} of {} bytes returns NULL: of {} bytes of the symmetric heap {} are taken, the largest "
      "gap has {}; {}",
      me.number, call, bytes, me.blocks->bytes(), me.blocks->taken_bytes(),
      me.blocks->largest_gap(), remedy);
  return nullptr;
}

std::byte* new_block(pe_state& me, const char* call, std::size_t bytes, std::size_t alignment) {
  const auto offset = me.blocks->take(bytes, alignment);
  return offset ? place_of_block(me, *offset) : tell_of_no_room(me, call, bytes);
}

}  // namespace

void* allocate(const char* call, std::size_t bytes, std::size_t alignment, long) {
  return in_call(call, [&](pe_state& me) -> void* {
    begin_meeting(me);
    check_same(me, bytes, alignment);
    if (bytes == 0) return nullptr;
    void* const block = new_block(me, call, bytes, alignment);
    if (block != nullptr) meet(me, world_team(me), call);
    return block;
  });
}

void* allocate_aligned(const char* call, std::size_t alignment, std::size_t bytes) {
  // Old programs ask for less than the alignment of a pointer, which the standard leaves undefined.
  if (!std::has_single_bit(alignment))
    return in_call(
        call, [&](pe_state&) -> void* { fail("alignment {}: pass a power of two", alignment); });
  // Heaps begin at multiples of that on all PEs, and offsets in them are the same.
  if (alignment > rma::arena::alignment)
    return in_call(call, [&](pe_state&) -> void* {
      fail("alignment {}: at most {} is possible", alignment, rma::arena::alignment);
    });
  return allocate(call, bytes, alignment, 0);
}

void* allocate_zeroed(const char* call, std::size_t count, std::size_t element) {
  return in_call(call, [&](pe_state& me) -> void* {
    begin_meeting(me);
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, element, &bytes)) bytes = ~std::size_t{0};
    check_same(me, count, element);
    if (bytes == 0) return nullptr;
    void* const block = new_block(me, call, bytes, 0);
    if (block == nullptr) return nullptr;
    std::memset(block, 0, bytes);
    meet(me, world_team(me), call);
    return block;
  });
}

void* reallocate(const char* call, void* block, std::size_t bytes) {
  if (block == nullptr) return allocate(call, bytes, 0, 0);
  if (bytes == 0) {
    deallocate(call, block);
    return nullptr;
  }
  return in_call(call, [&](pe_state& me) -> void* {
    begin_meeting(me);
    const std::size_t offset = offset_of(me, block);
    const std::size_t before = size_of_block(me, block, offset);
    check_same(me, offset, bytes);
    me.memory->quiet(me.operations);
    note_quiet(me, me.operations);
    // What others have put here before they called is in the block.
    meet(me, world_team(me), call);
    const auto moved = me.blocks->resize(offset, bytes);
    if (!moved) return tell_of_no_room(me, call, bytes);
    std::byte* const now = place_of_block(me, *moved);
    if (*moved != offset) std::memmove(now, block, std::min(before, bytes));
    meet(me, world_team(me), call);
    return now;
  });
}

void deallocate(const char* call, void* block) {
  in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    if (block == nullptr) return;
    const std::size_t offset = offset_of(me, block);
    const std::size_t bytes = size_of_block(me, block, offset);
    check_same(me, offset, bytes);
    me.memory->quiet(me.operations);
    note_quiet(me, me.operations);
    meet(me, world_team(me), call);  // Nobody uses it any more.
    me.blocks->give_back(offset);
  });
}

}  // namespace weft::shmem
