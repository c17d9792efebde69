#include "rma/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::rma {
namespace {

// The beginning of an arena: who it is, then a line for each worker.
struct alignas(padding_bytes) head {
  std::uint64_t cookie[2];
  std::atomic<std::uint32_t> has_silent_writers;
};
struct alignas(padding_bytes) watch_line {
  memory_watch<> watch;
};
static_assert(sizeof(head) == sizeof(watch_line));
constexpr std::size_t heap_alignment = arena::heap_alignment;
constexpr std::size_t rounded(std::size_t bytes) noexcept {
  return (bytes + heap_alignment - 1) / heap_alignment * heap_alignment;
}

// At a multiple of heap_alignment, which `size` is as well.
std::byte* map(std::size_t size, int file) noexcept {
  // Room for that, of which the ends are given back.
  const std::size_t room = size + heap_alignment;
  void* const reserved =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(reserved);
  std::byte* const at = begin + (rounded(reinterpret_cast<std::uintptr_t>(begin)) -
                                 reinterpret_cast<std::uintptr_t>(begin));
  const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  // The heaps of all ranks are reserved, and only what is touched takes memory.
  if (mmap(at, size, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE | MAP_FIXED, file, 0) ==
      MAP_FAILED) {
    const int why = errno;
    munmap(begin, room);
    errno = why;
    return nullptr;
  }
  if (at != begin) munmap(begin, static_cast<std::size_t>(at - begin));
  if (at + size != begin + room)
    munmap(at + size, static_cast<std::size_t>(begin + room - (at + size)));
  return at;
}

[[noreturn]] void throw_no_room(const arena_layout& layout, const char* what) {
  throw error(formatted(
      "no room for the symmetric heaps of {} ranks with {} bytes each: {} ({}); ask for smaller heaps",
      layout.ranks, layout.heap_bytes, what, std::strerror(errno)));
}

}  // namespace

std::size_t arena_layout::first_heap() const noexcept {
  const std::size_t signs = sizeof(watch_line) * (1 + std::size_t{workers});
  return rounded(signs);
}

// An odd number of large pages. Where an object's address at one rank differs from that at another by a large power
// of two, processors that guess a line's place in the cache by some bits of its address take the one for the other: on
// AMD's Zen a wait for a word that a partner writes, whose own is written between, took 250 ns in place of 185.
std::size_t arena_layout::stride() const noexcept {
  return (rounded(heap_bytes) / heap_alignment | 1) * heap_alignment;
}

memory_watch<>& arena::watch(std::size_t worker) const noexcept {
  return reinterpret_cast<watch_line*>(begin_)[1 + worker].watch;
}

std::atomic<std::uint32_t>& arena::has_silent_writers() const noexcept {
  return reinterpret_cast<head*>(begin_)->has_silent_writers;
}

arena::arena(const arena_layout& layout, bool shared) : is_shared_(shared) {
  int file = -1;
  const std::size_t size = layout.size();
  if (shared) {
    rlimit files{};
    if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < size) {
      errno = EFBIG;
      throw_no_room(layout, "ulimit -f is smaller");
    }
    file = memfd_create("weft-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    // Not shrunk: whoever uses it would be killed.
    if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
      if (file >= 0) close(file);
      throw_no_room(layout, "memfd_create");
    }
  }
  begin_ = map(size, file);
  if (begin_ == nullptr) {
    if (file >= 0) close(file);
    throw_no_room(layout, "mmap");
  }
  if (!shared) (void)madvise(heap(0), size - layout.first_heap(), MADV_HUGEPAGE);
  address_.layout = layout;
  new (begin_) head{};
  for (std::size_t i = 0; i < layout.workers; ++i)
    new (&reinterpret_cast<watch_line*>(begin_)[1 + i]) watch_line;
  if (!shared) return;
  if (getrandom(address_.cookie, sizeof address_.cookie, 0) != sizeof address_.cookie)
    return;  // Nobody can be sure that it is this one: the others use messages.
  std::memcpy(begin_, address_.cookie, sizeof address_.cookie);
  address_.process = static_cast<std::int32_t>(getpid());
  address_.descriptor = file;
}

std::optional<arena> arena::open(const arena_address& at) noexcept {
  if (at.process <= 0 || at.descriptor < 0) return {};
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", at.process, at.descriptor);
  // Not what waits when it is opened, as a pipe: the number may mean anything by now.
  const int file = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return {};
  std::optional<arena> found;
  struct stat what {};
  const int seals = fcntl(file, F_GET_SEALS);
  if (fstat(file, &what) == 0 && S_ISREG(what.st_mode) &&
      static_cast<std::uint64_t>(what.st_size) == at.layout.size() && seals >= 0 &&
      (seals & F_SEAL_SHRINK) != 0) {
    if (std::byte* const begin = map(at.layout.size(), file); begin != nullptr) {
      found.emplace(arena());
      found->begin_ = begin;
      found->address_ = at;
      found->address_.descriptor = -1;
      found->is_shared_ = true;
      if (std::memcmp(begin, at.cookie, sizeof at.cookie) != 0) found.reset();
    }
  }
  ::close(file);
  return found;
}

arena::arena(arena&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)),
      address_(std::exchange(other.address_, {})),
      is_shared_(other.is_shared_) {}

arena::~arena() {
  if (begin_ != nullptr) munmap(begin_, address_.layout.size());
  if (address_.descriptor >= 0) close(address_.descriptor);
}

void arena::discard(std::span<std::byte> pages) const noexcept {
  (void)madvise(pages.data(), pages.size(), is_shared_ ? MADV_REMOVE : MADV_DONTNEED);
}

}  // namespace weft::rma
