#include "rma/shared_statics.hpp"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "sched/attached_thread.hpp"
#include "sched/worker.hpp"

namespace weft::rma {
namespace {

std::size_t page_bytes() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}
std::uintptr_t page_down(std::uintptr_t address) noexcept {
  return address & ~(page_bytes() - 1);
}
std::uintptr_t page_up(std::uintptr_t address) noexcept {
  return page_down(address + page_bytes() - 1);
}
std::byte* at_address(std::uintptr_t address) noexcept {
  return reinterpret_cast<std::byte*>(address);
}

// Whole pages of a segment, as the loader has laid it out.
struct loaded_segment {
  std::uintptr_t begin, end;
  std::uintptr_t constant_end;  // Only the loader writes in front of it.
  std::uintptr_t file_end;      // A page behind it is zero until it is touched.
};

std::optional<loaded_segment> find_segment(std::span<const std::byte> wanted) noexcept {
  struct search {
    std::uintptr_t address;
    std::optional<loaded_segment> found;
  } looked{reinterpret_cast<std::uintptr_t>(wanted.data()), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* into) {
        auto& s = *static_cast<search*>(into);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& load = object->dlpi_phdr[i];
          const std::uintptr_t begin = object->dlpi_addr + load.p_vaddr;
          if (load.p_type != PT_LOAD || begin != s.address) continue;
          s.found = loaded_segment{page_down(begin), page_up(begin + load.p_memsz),
                                   page_down(begin), page_up(begin + load.p_filesz)};
        }
        if (!s.found) return 0;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& relro = object->dlpi_phdr[i];
          const std::uintptr_t begin = object->dlpi_addr + relro.p_vaddr;
          if (relro.p_type == PT_GNU_RELRO && page_down(begin) == s.found->begin)
            s.found->constant_end =
                std::clamp(page_down(begin + relro.p_memsz), s.found->begin, s.found->end);
        }
        return 1;
      },
      &looked);
  return looked.found;
}

// Tells which pages have been touched, of those that the kernel makes then.
class touched_pages {
 public:
  touched_pages() noexcept : map_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~touched_pages() {
    if (map_ >= 0) ::close(map_);
  }
  touched_pages(const touched_pages&) = delete;
  touched_pages& operator=(const touched_pages&) = delete;
  [[nodiscard]] bool has(std::uintptr_t page) noexcept {
    if (map_ < 0) return true;
    const std::uintptr_t number = page / page_bytes();
    if (number - first_ >= count_) {
      const ssize_t got =
          ::pread(map_, words_, sizeof words_, static_cast<off_t>(number * sizeof words_[0]));
      if (got < static_cast<ssize_t>(sizeof words_[0])) return true;
      first_ = number;
      count_ = static_cast<std::size_t>(got) / sizeof words_[0];
    }
    constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62;
    return (words_[number - first_] & present_or_swapped) != 0;
  }

 private:
  const int map_;
  std::uintptr_t first_ = 0;
  std::size_t count_ = 0;
  std::uint64_t words_[512];
};

// Copies the pages that are not zero; those of a new file are.
void copy_pages(std::byte* to, const loaded_segment& from) noexcept {
  touched_pages touched;
  for (std::uintptr_t page = from.begin; page < from.end; page += page_bytes()) {
    if (page >= from.file_end && !touched.has(page)) continue;
    const std::byte* const bytes = at_address(page);
    // Every byte is as the one before it, and the first is zero.
    const bool is_zero =
        bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, page_bytes() - 1) == 0;
    if (!is_zero) std::memcpy(to + (page - from.begin), bytes, page_bytes());
  }
}

// This variable lies beside weft's others.
int weft_lies_here = 0;

// --- Forks ------------------------------------------------------------------------------------------

struct moved_segment {
  std::byte* at;
  std::size_t size;
  int file;
  off_t offset;
  const void* owner;
  std::byte* for_child = nullptr;  // While the process forks.
};
struct moved_segments {
  std::mutex lock;
  std::vector<moved_segment> all;
};
moved_segments& moved() noexcept {
  static auto& all = *new moved_segments;  // Threads may fork while the process ends.
  return all;
}

// The rank whose code forks; null where that is not known.
const void* forking_rank() noexcept {
  if (worker::current() != nullptr) return worker::caller();
  return origin_of_this_thread().identity;
}

// What a child of this process is to find there. The pages of the file that are not there are zero.
void prepare_for_child(moved_segment& s) noexcept {
  void* const fresh =
      ::mmap(nullptr, s.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return;
  s.for_child = static_cast<std::byte*>(fresh);
  const off_t end = s.offset + static_cast<off_t>(s.size);
  for (off_t from = s.offset; from < end;) {
    const off_t begin = ::lseek(s.file, from, SEEK_DATA);
    if (begin < 0 && errno != ENXIO) {  // The program has closed the file: all is copied.
      std::memcpy(s.for_child, s.at, s.size);
      return;
    }
    if (begin < 0 || begin >= end) break;
    from = std::min(end, ::lseek(s.file, begin, SEEK_HOLE));
    std::memcpy(s.for_child + (begin - s.offset), s.at + (begin - s.offset),
                static_cast<std::size_t>(from - begin));
  }
}

void before_fork() {
  moved_segments& all = moved();
  all.lock.lock();
  const void* const rank = forking_rank();
  for (moved_segment& s : all.all)
    if (rank == nullptr || s.owner == nullptr || rank == s.owner) prepare_for_child(s);
}
void after_fork() {
  moved_segments& all = moved();
  for (moved_segment& s : all.all)
    if (s.for_child != nullptr) ::munmap(std::exchange(s.for_child, nullptr), s.size);
  all.lock.unlock();
}
void in_child() {
  moved_segments& all = moved();
  for (moved_segment& s : all.all) {
    if (s.for_child != nullptr &&
        ::mremap(s.for_child, s.size, s.size, MREMAP_MAYMOVE | MREMAP_FIXED, s.at) != MAP_FAILED)
      continue;
    // There is no room for a copy, or the rank did not fork: what the child writes is its own, and of the rest it may see
    // what its parent writes later.
    (void)::mmap(s.at, s.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, s.file, s.offset);
  }
  all.all.clear();
  all.lock.unlock();
}

// This runs before the program's constructors: so its own handlers see the child's globals, and prepare before these are copied.
[[gnu::constructor]] void watch_forks_of_statics() {
  ::pthread_atfork(&before_fork, &after_fork, &in_child);
}

}  // namespace

std::size_t bytes_of_pages(std::span<const std::byte> range) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(range.data());
  return page_up(begin + range.size()) - page_down(begin);
}

std::size_t offset_in_page(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) & (page_bytes() - 1);
}

bool move_statics(std::span<std::byte> segment, int file, std::uint64_t offset,
                  const void* owner) noexcept {
  const auto found = find_segment(segment);
  if (!found) return false;
  // A program that is linked with weft itself has variables there that other threads of weft's use.
  const auto own = reinterpret_cast<std::uintptr_t>(&weft_lies_here);
  if (own >= found->begin && own < found->end) return false;
  const std::size_t size = found->end - found->begin;
  void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                              file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return false;
  auto* const fresh = static_cast<std::byte*>(mapped);
  const std::size_t constant = found->constant_end - found->begin;
  std::byte* const target = at_address(found->constant_end);
  bool is_moved = false;
  try {
    moved_segments& all = moved();
    const std::lock_guard hold(all.lock);
    all.all.push_back(
        {target, size - constant, file, static_cast<off_t>(offset + constant), owner, nullptr});
    copy_pages(fresh, *found);
    // The kernel replaces the pages at once: no instruction finds none there.
    is_moved = ::mremap(fresh + constant, size - constant, size - constant,
                        MREMAP_MAYMOVE | MREMAP_FIXED, target) != MAP_FAILED;
    if (!is_moved) all.all.pop_back();
  } catch (const std::bad_alloc&) {
  }
  if (const std::size_t left = is_moved ? constant : size; left != 0) ::munmap(fresh, left);
  return is_moved;
}

void forget_statics_in(int file) noexcept {
  moved_segments& all = moved();
  const std::lock_guard hold(all.lock);
  std::erase_if(all.all, [&](const moved_segment& s) { return s.file == file; });
}

}  // namespace weft::rma
