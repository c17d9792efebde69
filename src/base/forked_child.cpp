#include "base/forked_child.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace weft {
namespace {

std::atomic<pid_t> own_process{::getpid()};  // Relaxed: ranks start later.
// Where the kernel writes zeros in a forked child. Null: nobody watches. Relaxed: written before ranks start.
constinit std::atomic<std::atomic<int>*> mark{nullptr};
thread_local constinit bool is_child_of_vfork = false;

}  // namespace

bool is_forked_child() noexcept {
  if (const std::atomic<int>* const here = mark.load(std::memory_order_relaxed); here != nullptr)
    return here->load(std::memory_order_relaxed) == 0 || is_child_of_vfork;
  return ::getpid() != own_process.load(std::memory_order_relaxed);
}

void note_process_of_job() noexcept {
  own_process.store(::getpid(), std::memory_order_relaxed);
  if (std::atomic<int>* const here = mark.load(std::memory_order_relaxed); here != nullptr)
    here->store(1, std::memory_order_relaxed);
}

void watch_forks() noexcept {
  constexpr std::size_t page = 4096;
  void* const made =
      ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return;
  if (::madvise(made, page, MADV_WIPEONFORK) != 0) {
    ::munmap(made, page);
    return;
  }
  auto* const here = new (made) std::atomic<int>(1);
  mark.store(here, std::memory_order_relaxed);
}

void note_vfork(bool begins) noexcept {
  is_child_of_vfork = begins;
}

}  // namespace weft
