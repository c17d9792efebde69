// The symmetric heap as the program calls it. Every PE makes the same calls, which is why no offset need be told.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/log.hpp"
#include "rma/arena.hpp"
#include "shmem/core.hpp"

namespace weft::shmem {
namespace {

std::size_t offset_of(const pe_state& me, const void* block) {
  const auto heap = me.memory->heap();
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

// With SHMEM_DEBUG: whether all PEs pass the same.
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

void* new_block(pe_state& me, const char* call, std::size_t bytes, std::size_t alignment) {
  const auto offset = me.blocks->take(bytes, alignment);
  if (offset) return me.memory->heap().data() + *offset;
  if (me.settings.debug && me.number == 0)
    log_line(
        "PE {}: {} of {} bytes returns NULL: of {} bytes of the symmetric heap {} are taken, the largest "
        "gap has {}; set SHMEM_SYMMETRIC_SIZE to more, or leave it unset",
        me.number, call, bytes, me.blocks->bytes(), me.blocks->taken_bytes(),
        me.blocks->largest_gap());
  return nullptr;
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
  // Less than that of a pointer, which the standard leaves undefined, is asked for by old programs.
  if (!std::has_single_bit(alignment))
    return in_call(
        call, [&](pe_state&) -> void* { fail("alignment {}: pass a power of two", alignment); });
  // Where heaps begin is as even as that on all PEs, and offsets in them are the same.
  if (alignment > rma::arena::heap_alignment)
    return in_call(call, [&](pe_state&) -> void* {
      fail("alignment {}: at most {} is possible", alignment, rma::arena::heap_alignment);
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
    // What others have put here before they called is in the block.
    meet(me, world_team(me), call);
    void* const larger = new_block(me, call, bytes, 0);
    if (larger == nullptr) return nullptr;
    std::memcpy(larger, block, std::min(before, bytes));
    me.blocks->give_back(offset);
    meet(me, world_team(me), call);
    return larger;
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
    meet(me, world_team(me), call);  // Nobody uses it any more.
    me.blocks->give_back(offset);
  });
}

}  // namespace weft::shmem
