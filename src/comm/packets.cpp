#include "comm/packets.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace weft::comm {

namespace {

constexpr std::size_t page_bytes = 4096;

// The kernel copies page by page, and more slowly where its pieces begin in the middle of a line: 1 MiB
// from 16 bytes behind the start of a page, where malloc puts it, comes to the start of one in 79 us and
// to 64 bytes behind it in 84.
std::align_val_t alignment_of(std::size_t capacity) noexcept {
  return std::align_val_t{std::clamp(capacity, cache_line, page_bytes)};
}

}  // namespace

packet_pool::packet_pool(local_device& owner, std::size_t count, std::size_t bytes)
    : owner_(owner),
      packet_bytes_(bytes),
      bytes_(std::make_unique_for_overwrite<std::byte[]>(count * bytes)),
      packets_(count) {
  // Each is taken once to be told where its bytes are.
  place* taken = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    place* one = packets_.try_take();
    one->home = this;
    one->storage = bytes_.get() + i * bytes;
    one->capacity = bytes;
    one->is_packet = true;
    one->behind = taken;
    taken = one;
  }
  while (taken != nullptr) {
    place* const one = taken;
    taken = one->behind;
    packets_.give_back(one);
  }
}

packet_pool::~packet_pool() {
  while (newest_ != nullptr) free_buffer(newest_);
}

place* packet_pool::take(std::size_t bytes) noexcept {
  if (bytes <= packet_bytes_) [[likely]]
    if (place* one = packets_.try_take(); one != nullptr) [[likely]]
      return one;
  return take_buffer(bytes);
}

void packet_pool::begin_waiting(place& filled) noexcept {
  if (filled.is_packet || std::exchange(filled.is_waiting, true)) return;
  buffer_bytes_.fetch_add(filled.capacity, std::memory_order_relaxed);
}

place* packet_pool::take_copy(std::span<const std::byte> content) noexcept {
  place* const to = take(content.size());
  if (to == nullptr) return nullptr;
  if (!content.empty()) std::memcpy(to->storage, content.data(), content.size());
  to->size = content.size();
  begin_waiting(*to);
  return to;
}

// Relaxed, here and above: a measure.
void packet_pool::end_waiting(place& given) noexcept {
  if (std::exchange(given.is_waiting, false))
    buffer_bytes_.fetch_sub(given.capacity, std::memory_order_relaxed);
}

void packet_pool::give_back(place* given) noexcept {
  if (given->is_packet) [[likely]] {
    packets_.give_back(given);
    return;
  }
  end_waiting(*given);
  keep_or_free(static_cast<buffer*>(given));
}

void packet_pool::give_back_remote(place* given) noexcept {
  packet_pool& home = *given->home;
  if (given->is_packet) {
    home.packets_.give_back_remote(given);
    return;
  }
  home.end_waiting(*given);
  home.returned_.push(static_cast<buffer*>(given));
}

[[gnu::noinline]] place* packet_pool::take_buffer(std::size_t bytes) noexcept {
  for (buffer* each = returned_.take_all(); each != nullptr;) {
    buffer* const freed = each;
    each = each->next.get();
    keep_or_free(freed);
  }
  // A spare one that is not more than four times too large.
  buffer* found = nullptr;
  for (buffer*& spare : spare_) {
    if (spare == nullptr || spare->capacity < bytes || spare->capacity / 4 > bytes) continue;
    found = spare;
    spare = nullptr;
    break;
  }
  if (found == nullptr) {
    if (bytes > (std::size_t{1} << 62)) return nullptr;
    const std::size_t capacity = std::bit_ceil(bytes | 1);
    found = new (std::nothrow) buffer;
    if (found == nullptr) return nullptr;
    found->home = this;
    found->capacity = capacity;
    found->storage =
        static_cast<std::byte*>(::operator new(capacity, alignment_of(capacity), std::nothrow));
    if (found->storage == nullptr) {
      delete found;
      return nullptr;
    }
    found->older = newest_;
    if (newest_ != nullptr) newest_->newer = found;
    newest_ = found;
  }
  return found;
}

void packet_pool::keep_or_free(buffer* freed) noexcept {
  for (buffer*& spare : spare_) {
    if (spare != nullptr) continue;
    spare = freed;
    return;
  }
  // The smallest goes: it is the cheapest to make again.
  buffer** smallest = &spare_[0];
  for (buffer*& spare : spare_)
    if (spare->capacity < (*smallest)->capacity) smallest = &spare;
  if ((*smallest)->capacity < freed->capacity) std::swap(*smallest, freed);
  free_buffer(freed);
}

void packet_pool::free_buffer(buffer* freed) noexcept {
  (freed->newer != nullptr ? freed->newer->older : newest_) = freed->older;
  if (freed->older != nullptr) freed->older->newer = freed->newer;
  ::operator delete(freed->storage, alignment_of(freed->capacity));
  delete freed;
}

}  // namespace weft::comm
