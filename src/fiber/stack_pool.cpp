#include "fiber/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <string>

#include "base/reasons.hpp"
#include "weft/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(low, high) 0
#define VALGRIND_STACK_DEREGISTER(id) (void)(id)
#endif

namespace weft {
namespace {

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// How far below the end of its memory the n-th stack begins. Stacks a power of two apart would all begin
// in the same cache sets, and neighbours a few lines apart would mistake each other's addresses, of
// which processors compare the lower bits first: so the first two are half a page apart, the next
// two a quarter, and so on.
constexpr std::size_t colour_of(std::size_t n) noexcept {
  std::size_t lines = 0;
  for (std::size_t step = 32; step >= 4; step /= 2, n /= 2)
    if (n % 2 != 0) lines += step;
  return lines * 64;
}

// A gap splits its mapping in two, and the kernel limits a process to vm.max_map_count mappings. Stacks beyond three
// quarters of that go without.
std::size_t guarded_stacks_max() noexcept {
  static const std::size_t limit = [] {
    std::size_t mappings = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
    return mappings / 2 * 3 / 4;
  }();
  return limit;
}

// A frame may be as large as a stack, and larger by mistake: what it touches first is to be no neighbour's. Programs, whose
// stacks are larger, have large frames: arrays of Fortran's, say.
std::size_t gap_below(std::size_t stack_bytes) noexcept {
  constexpr std::size_t programs_min = std::size_t{1} << 20, programs_gap = std::size_t{64} << 20;
  return stack_bytes < programs_min ? stack_bytes : std::max(stack_bytes, programs_gap);
}

std::atomic<std::size_t> guarded_stacks{0};  // In this process, of all pools.

}  // namespace

stack_pool::stack_pool(std::size_t stack_bytes)
    : stack_bytes_((std::max(stack_bytes, min_stack_bytes) + page_bytes() - 1) / page_bytes() *
                   page_bytes()),
      pitch_(stack_bytes_ + gap_below(stack_bytes_)) {}

stack_pool::~stack_pool() {
  for (const unsigned id : valgrind_ids_) VALGRIND_STACK_DEREGISTER(id);
  for (const block& b : blocks_) {
    if (b.guarded) guarded_stacks.fetch_sub(b.bytes / pitch_, std::memory_order_relaxed);
#if defined(__SANITIZE_ADDRESS__)
    // Red zones of frames that were left stand in the shadow still, and whoever maps this memory
    // next, a debugger's library say, would be blamed for reading it.
    for (std::byte* at = b.base; at < b.base + b.bytes; at += pitch_)
      __asan_unpoison_memory_region(at + (pitch_ - stack_bytes_), stack_bytes_);
#endif
    munmap(b.base, b.bytes);
  }
}

std::span<std::byte> stack_pool::take() {
  if (free_.empty()) map_block();
  const auto stack = free_.back();
  free_.pop_back();
  return stack;
}

void stack_pool::map_block() {
  std::size_t count = next_block_stacks_;
  next_block_stacks_ = std::min<std::size_t>(next_block_stacks_ * 2, 256);
  // Where a limit allows no address space for many, it may for few.
  const auto reserve = [&] {
    return mmap(nullptr, count * pitch_, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  };
  void* base = reserve();
  while (base == MAP_FAILED && count > 1) {
    count /= 2;
    base = reserve();
  }
  if (base == MAP_FAILED && blocks_.empty()) {
    pitch_ = stack_bytes_ + page_bytes();
    base = reserve();
  }
  const std::size_t bytes = count * pitch_;
  if (base == MAP_FAILED)
    throw error("cannot map a stack of " + std::to_string(stack_bytes_) + " bytes after " +
                std::to_string(made_) +
                " on this worker: use smaller stacks (WEFT_STACK): " + reason_with_limit(errno));
  madvise(base, bytes, MADV_NOHUGEPAGE);  // One touched page must not commit 2 MiB.
  // Relaxed: counts and no more.
  bool guarded =
      guarded_stacks.fetch_add(count, std::memory_order_relaxed) + count <= guarded_stacks_max();
  if (!guarded) guarded_stacks.fetch_sub(count, std::memory_order_relaxed);
  auto* low = static_cast<std::byte*>(base);
  blocks_.push_back({low, bytes, guarded});
  const std::size_t gap = pitch_ - stack_bytes_;
  const auto open = [&](std::byte* from, std::size_t size) {
    if (mprotect(from, size, PROT_READ | PROT_WRITE) != 0)
      throw error("cannot use " + std::to_string(size) + " bytes of stacks after " +
                  std::to_string(made_) +
                  " on this worker: use smaller stacks (WEFT_STACK): " + reason_with_limit(errno));
  };
  if (!guarded) open(low, bytes);
  for (std::size_t i = count; i-- > 0;) {
    std::byte* usable = low + i * pitch_ + gap;
    if (guarded) open(usable, stack_bytes_);
    free_.emplace_back(usable, stack_bytes_ - std::min(colour_of(made_ + i), stack_bytes_ / 8));
    valgrind_ids_.push_back(VALGRIND_STACK_REGISTER(usable, usable + stack_bytes_));
  }
  made_ += count;
}

bool stack_pool::in_guard_page(const void* address) const noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  for (const block& b : blocks_)
    if (b.guarded && at >= b.base && at < b.base + b.bytes)
      return static_cast<std::size_t>(at - b.base) % pitch_ < pitch_ - stack_bytes_;
  return false;
}

}  // namespace weft
