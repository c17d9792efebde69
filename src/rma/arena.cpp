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
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::rma {
namespace {

constexpr std::size_t rounded(std::size_t bytes) noexcept {
  return (bytes + arena::alignment - 1) / arena::alignment * arena::alignment;
}

// Maps `size` bytes at a multiple of arena::alignment.
std::byte* map(std::size_t size, int file) noexcept {
  // Reserves more, and gives the ends back.
  const std::size_t room = size + arena::alignment;
  void* const reserved =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(reserved);
  std::byte* const at = begin + (rounded(reinterpret_cast<std::uintptr_t>(begin)) -
                                 reinterpret_cast<std::uintptr_t>(begin));
  const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
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

[[noreturn]] void throw_no_room(std::size_t bytes, const char* what) {
  throw error(formatted("no room for {} bytes of memory that ranks share: {} ({}); ask for less",
                        bytes, what, std::strerror(errno)));
}

}  // namespace

bool arena::has_room(std::size_t bytes, bool shared, std::size_t arenas) noexcept {
  const std::size_t size = rounded(bytes);
  rlimit files{};
  if (shared && getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < size) return false;
  rlimit space{};
  const bool is_bounded = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  // The program keeps some of the address space where that is bounded.
  const std::size_t room = is_bounded ? (arenas + 1) * size : size;
  void* const reserved =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return false;
  munmap(reserved, room);
  if (!shared) return true;
  const int file = memfd_create("weft-memory", MFD_CLOEXEC);
  const bool has = file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0;
  if (file >= 0) close(file);
  return has;
}

arena::arena(std::size_t bytes, bool shared) : is_shared_(shared) {
  int file = -1;
  const std::size_t size = rounded(bytes);
  if (shared) {
    rlimit files{};
    if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < size) {
      errno = EFBIG;
      throw_no_room(size, "ulimit -f is smaller");
    }
    file = memfd_create("weft-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    // The seal keeps the file from being shrunk, which would kill whoever uses it.
    if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
      if (file >= 0) close(file);
      throw_no_room(size, "memfd_create");
    }
  }
  begin_ = map(size, file);
  if (begin_ == nullptr) {
    if (file >= 0) close(file);
    throw_no_room(size, "mmap");
  }
  address_.bytes = size;
  if (!shared) {
    (void)madvise(begin_, size, MADV_NOHUGEPAGE);
    return;
  }
  address_.descriptor = file;
  // Nobody can be sure of an arena that has no cookie: the others use messages.
  if (getrandom(address_.cookie, sizeof address_.cookie, 0) != sizeof address_.cookie) return;
  std::memcpy(begin_, address_.cookie, sizeof address_.cookie);
  address_.process = static_cast<std::int32_t>(getpid());
}

std::optional<arena> arena::open(const arena_address& at) noexcept {
  if (at.process <= 0 || at.descriptor < 0 || at.bytes < head_bytes) return {};
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", at.process, at.descriptor);
  // The number may mean anything by now, such as a pipe, whose opening would wait.
  const int file = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return {};
  std::optional<arena> found;
  struct stat what {};
  const int seals = fcntl(file, F_GET_SEALS);
  if (fstat(file, &what) == 0 && S_ISREG(what.st_mode) &&
      static_cast<std::uint64_t>(what.st_size) == at.bytes && seals >= 0 &&
      (seals & F_SEAL_SHRINK) != 0) {
    if (std::byte* const begin = map(at.bytes, file); begin != nullptr) {
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
  if (begin_ != nullptr) munmap(begin_, address_.bytes);
  if (address_.descriptor >= 0) close(address_.descriptor);
}

void arena::allow_large_pages(std::span<std::byte> pages) const noexcept {
  if (!is_shared_) (void)madvise(pages.data(), pages.size(), MADV_HUGEPAGE);
}

}  // namespace weft::rma
