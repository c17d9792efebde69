// What the machine gives, without any library: cache lines bounced between two cores, copies,
// switches, system calls. Every figure of weft is read against these.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>

#include "two_threads.hpp"

namespace {

using bench::pause;
using bench::row;
using bench::word;

void bounces() {
  word a, b;
  const auto turn = [](word& mine, std::uint64_t old, std::uint64_t next) {
    while (mine.value.load(std::memory_order_acquire) != old) {
    }
    mine.value.store(next, std::memory_order_release);
  };
  row(
      "limits/bounce/one_line",
      [&](long n) {
        a.value = 0;
        for (long i = 0; i < n; ++i) turn(a, 0, 1);
        while (a.value != 0) {
        }
      },
      [&](long n) {
        for (long i = 0; i < n; ++i) turn(a, 1, 0);
      },
      2);
  // A look at once after the last one, or after a pause, which is faster where looks in flight are
  // thrown away when the line arrives.
  const auto two_lines = [&](const char* name, auto&& between_looks) {
    const auto await = [=](word& theirs, std::uint64_t value) {
      while (theirs.value.load(std::memory_order_acquire) != value) between_looks();
    };
    row(
        name,
        [&, await](long n) {
          for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(n); ++i) {
            a.value.store(i, std::memory_order_release);
            await(b, i);
          }
          a.value = b.value = 0;
        },
        [&, await](long n) {
          for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(n); ++i) {
            await(a, i);
            b.value.store(i, std::memory_order_release);
          }
        },
        2);
  };
  two_lines("limits/bounce/two_lines", [] {});
  two_lines("limits/bounce/two_lines/pause", [] { pause(); });
  const auto swap = [](word& mine, std::uint64_t old, std::uint64_t next) {
    for (auto expected = old; !mine.value.compare_exchange_strong(expected, next); expected = old) {
    }
  };
  row(
      "limits/bounce/cas",
      [&](long n) {
        a.value = 0;
        for (long i = 0; i < n; ++i) swap(a, 0, 1);
        while (a.value != 0) {
        }
      },
      [&](long n) {
        for (long i = 0; i < n; ++i) swap(a, 1, 0);
      },
      2);
  const auto add = [&](long n) {
    for (long i = 0; i < n; ++i) a.value.fetch_add(1);
  };
  row("limits/fetch_add/alone", [&] { a.value.fetch_add(1); });
  row("limits/fetch_add/contended", add, add, 2);
}

// How fast two cores go that are both busy, by the slower: 1,000 additions that need not wait for each other. A
// virtual core does half as many while the other thread of its real core works for somebody else.
void instructions() {
  const auto add = [](long n) {
    std::uint64_t a = 0, b = 0, c = 0, d = 0;
    for (long i = 0; i < 250 * n; ++i) {
      ++a, ++b, ++c, ++d;
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
  };
  word done;
  row(
      "limits/instructions",
      [&](long n) {
        add(n);
        while (done.value.load() == 0) {
        }
        done.value = 0;
      },
      [&](long n) {
        add(n);
        done.value = 1;
      },
      1);
}

// One way of copying `size` bytes between the two threads' buffers. With two copiers each moves a
// half and both meet after every copy.
void copies() {
  for (const std::size_t size : {8u << 10, 64u << 10, 1u << 20, 16u << 20}) {
    const std::string text = bench::size_name(size);
    const auto from = std::make_unique<char[]>(size), to = std::make_unique<char[]>(size);
    std::memset(from.get(), 1, size);
    std::memset(to.get(), 2, size);
    word go, done;
    // The reader touches what arrived last time before the next copy: lines move between caches.
    row(
        "limits/copy/" + text + "/one_copier",
        [&](long n) {
          for (long i = 1; i <= n; ++i) {
            std::memset(from.get(), static_cast<int>(i), size);
            go.value.store(static_cast<std::uint64_t>(i));
            while (done.value.load() != static_cast<std::uint64_t>(i)) {
            }
          }
          go.value = done.value = 0;
        },
        [&](long n) {
          for (long i = 1; i <= n; ++i) {
            while (go.value.load() != static_cast<std::uint64_t>(i)) {
            }
            std::memcpy(to.get(), from.get(), size);
            done.value.store(static_cast<std::uint64_t>(i));
          }
        },
        1);
    row(
        "limits/copy/" + text + "/both",
        [&](long n) {
          for (long i = 1; i <= n; ++i) {
            std::memset(from.get(), static_cast<int>(i), size);
            go.value.store(static_cast<std::uint64_t>(i));
            std::memcpy(to.get(), from.get(), size / 2);
            while (done.value.load() != static_cast<std::uint64_t>(i)) {
            }
          }
          go.value = done.value = 0;
        },
        [&](long n) {
          for (long i = 1; i <= n; ++i) {
            while (go.value.load() != static_cast<std::uint64_t>(i)) {
            }
            std::memcpy(to.get() + size / 2, from.get() + size / 2, size - size / 2);
            done.value.store(static_cast<std::uint64_t>(i));
          }
        },
        1);
    row("limits/copy/" + text + "/alone", [&] {
      std::memcpy(to.get(), from.get(), size);
      asm volatile("" : : "r"(to.get()) : "memory");
    });
    row("limits/fill/" + text, [&] { std::memset(from.get(), 3, size); });
  }
}

void futex(std::atomic<std::uint32_t>& at, int operation, std::uint32_t value) {
  syscall(SYS_futex, &at, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

void kernel() {
  row("limits/pause", [] { pause(); });
  row("limits/system_call", [] { syscall(SYS_getppid); });
  std::atomic<std::uint32_t> turn{0};
  const auto take = [&](std::uint32_t mine, std::uint32_t next) {
    for (std::uint32_t seen; (seen = turn.load()) != mine;) futex(turn, FUTEX_WAIT, seen);
    turn.store(next);
    futex(turn, FUTEX_WAKE, 1);
  };
  row(
      "limits/futex_wake/two_cores",
      [&](long n) {
        for (long i = 0; i < n; ++i) take(0, 1);
      },
      [&](long n) {
        for (long i = 0; i < n; ++i) take(1, 0);
      },
      2);
}

// What the kernel copies out of another process, which sleeps. Both buffers are in the caches: the
// figure is an upper bound for messages by one copy.
void copies_of_the_kernel() {
  constexpr std::size_t largest = 16u << 20;
  void* shared = mmap(nullptr, largest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;
  std::memset(shared, 1, largest);
  const pid_t child = fork();
  if (child == 0) {
    bench::pin(1);
    std::memset(shared, 2, largest);  // Pages of its own, at the same address.
    for (;;) ::pause();
  }
  const auto to = std::make_unique<char[]>(largest);
  std::memset(to.get(), 3, largest);
  const auto read_from_child = [&](std::size_t size) {
    const iovec here{to.get(), size};
    const iovec there{shared, size};
    return process_vm_readv(child, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
  };
  while (read_from_child(1) && to[0] != 2) usleep(1000);
  for (const std::size_t size : {8u << 10, 64u << 10, 1u << 20, 16u << 20}) {
    if (!read_from_child(size)) {
      std::fprintf(stderr, "limits: process_vm_readv is forbidden here\n");
      break;
    }
    row("limits/process_vm_readv/" + bench::size_name(size), [&] { (void)read_from_child(size); });
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  munmap(shared, largest);
}

}  // namespace

int main() {
  bench::raise_priority();
  bench::print_header();
  bounces();
  instructions();
  copies();
  copies_of_the_kernel();
  kernel();
}
