// Counts instructions, and lines of the cache that move between threads, by stepping through code: the processor traps after
// each instruction while its trap flag is set. Exact, and about a microsecond an instruction. x86-64 Linux.
//
// What an instruction touches is known from a table that bench/scale_counts.py makes of the disassembly. A line moves when a
// thread reads it that another has written since, or writes it while others have it; a thread has what it has touched. Lines
// that no other thread has touched never move. Stacks that push, pop, call and ret touch, and thread-locals, are left out.
//
// Instructions of a pass of worker::block() that leads back to where it began, and in which no line has moved, are waiting:
// they are counted apart.
#pragma once
#if defined(__x86_64__) && defined(__linux__)
#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

inline constexpr std::size_t stepped_threads_max = 256;

// One memory operand, as the table has it. Registers are the indices of ucontext's gregs; 255: none.
struct operand {
  std::uint64_t address;  // Of the instruction, in its file.
  std::int64_t displacement;
  std::uint8_t file, base, index, scale, size, writes, repeats, unused;
};
static_assert(sizeof(operand) == 24);

// A range of code, and where it is entered.
struct code_range {
  std::uint64_t begin = 0, end = 0;
  bool holds(std::uint64_t at) const noexcept { return at >= begin && at < end; }
};

class stepped_lines {
 public:
  stepped_lines() {
    void* const made = ::mmap(nullptr, sizeof(entry) * entries, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) throw std::runtime_error("no memory for lines");
    table_ = static_cast<entry*>(made);
  }
  // Whether the line had to come from, or to be taken away from, another thread.
  bool touch(std::uint64_t line, unsigned thread, bool writes) noexcept {
    entry& e = find(line);
    while (e.lock.exchange(true, std::memory_order_acquire)) ::sched_yield();
    const std::uint64_t bit = std::uint64_t{1} << (thread % 64);
    std::uint64_t others = 0;
    for (unsigned i = 0; i < e.holders.size(); ++i)
      others |= e.holders[i] & (i == thread / 64 ? ~bit : ~std::uint64_t{0});
    const bool has = (e.holders[thread / 64] & bit) != 0;
    const bool moves = others != 0 && (writes || !has);
    if (writes) e.holders = {};
    e.holders[thread / 64] |= bit;
    e.lock.store(false, std::memory_order_release);
    return moves;
  }

 private:
  struct entry {
    std::atomic<std::uint64_t> line;  // 0: free.
    std::atomic<bool> lock;
    std::array<std::uint64_t, stepped_threads_max / 64> holders;
  };
  static constexpr std::size_t entries = std::size_t{1} << 20;
  entry& find(std::uint64_t line) noexcept {
    for (std::size_t at = (line * 0x9e3779b97f4a7c15u) >> 44;; at = (at + 1) % entries) {
      std::uint64_t found = table_[at].line.load(std::memory_order_acquire);
      if (found == 0 && table_[at].line.compare_exchange_strong(found, line)) return table_[at];
      if (found == line) return table_[at];
    }
  }
  entry* table_ = nullptr;
};

// What one thread has done since it was last set to zero.
struct stepped_counts {
  std::uint64_t work = 0;                     // Instructions outside of waiting.
  std::uint64_t waiting = 0;                  // Instructions of passes that brought nothing.
  std::uint64_t moved = 0;                    // Lines.
  std::uint64_t probes = 0, probe_steps = 0;  // Calls of worker::steal().
};

class single_steps {
 public:
  // `table` is what scale_counts.py has written.
  explicit single_steps(const std::string& table) {
    std::ifstream file(table, std::ios::binary);
    std::array<std::uint64_t, 6> head{};
    file.read(reinterpret_cast<char*>(head.data()), sizeof head);
    for (std::uint64_t i = 0; i < head[0]; ++i) {
      operand one{};
      file.read(reinterpret_cast<char*>(&one), sizeof one);
      auto& of_file = by_address_[one.file];
      if (one.address >= of_file.size()) of_file.resize(one.address + 65536);
      operands_.push_back(one);
      of_file[one.address] = static_cast<std::uint32_t>(operands_.size());
    }
    if (!file) throw std::runtime_error(table + " is no table of operands");
    find_files();
    block_ = {bases_[0] + head[1], bases_[0] + head[2]};
    probe_ = {bases_[0] + head[3], bases_[0] + head[4]};
    the_one = this;
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t*, void* context) { the_one->step(context); };
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigfillset(&action.sa_mask);
    ::sigaction(SIGTRAP, &action, nullptr);
  }

  // How long a thread rests that waits, for as many threads as the machine has no cores for.
  void rest_ms(long ms) { rest_.tv_nsec = ms * 1'000'000; }

  // The calling thread is number `thread`. Called once by each thread.
  void join(unsigned thread) {
    state& s = states_[thread];
    s.thread = thread;
    s.visits.resize(block_.end - block_.begin);
    mine = &s;
  }
  // Called by the thread itself.
  [[gnu::noinline]] static void begin() {
    mine->on = true;
    asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  }
  [[gnu::noinline]] static void end() { mine->on = false; }

  stepped_counts take(unsigned thread) { return std::exchange(states_[thread].counts, {}); }

 private:
  struct visit {
    std::uint64_t entry = 0, work = 0, moved = 0;
  };
  struct state {
    unsigned thread = 0;
    volatile bool on = false;
    stepped_counts counts;
    std::uint64_t entries = 0;  // Into block().
    std::uint64_t last_repeat = 0;
    std::uint64_t probe_stack = 0, probe_began = 0;
    std::vector<visit> visits;
  };

  void find_files() {
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          auto& self = *static_cast<single_steps*>(to);
          const std::string name = info->dlpi_name;
          const bool is_program = name.empty() && self.sizes_[0] == 0;
          const bool is_libc = name.find("/libc.so") != name.npos;
          if (!is_program && !is_libc) return 0;
          const std::size_t at = is_libc ? 1 : 0;
          self.bases_[at] = info->dlpi_addr;
          for (int i = 0; i < info->dlpi_phnum; ++i)
            self.sizes_[at] = std::max<std::uint64_t>(
                self.sizes_[at], info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
          return 0;
        },
        this);
  }

  const operand* operand_at(std::uint64_t rip) const noexcept {
    for (std::size_t file = 0; file < 2; ++file) {
      const std::uint64_t offset = rip - bases_[file];
      if (offset < by_address_[file].size() && by_address_[file][offset] != 0)
        return &operands_[by_address_[file][offset] - 1];
    }
    return nullptr;
  }

  // The registers are those before the instruction at RIP.
  void step(void* context) noexcept {
    auto& regs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    state* const me = mine;
    if (me == nullptr || !me->on) {
      regs[REG_EFL] &= ~0x100LL;
      return;
    }
    stepped_counts& c = me->counts;
    const auto rip = static_cast<std::uint64_t>(regs[REG_RIP]);
    const operand* const o = operand_at(rip);
    // A repeated instruction traps once for each element.
    if (o == nullptr || !o->repeats || me->last_repeat != rip) ++c.work;
    me->last_repeat = o != nullptr && o->repeats ? rip : 0;
    if (o != nullptr) {
      auto at = static_cast<std::uint64_t>(o->displacement);
      if (o->base == REG_RIP)
        at += bases_[o->file];  // The table has the address itself.
      else if (o->base != 255)
        at += static_cast<std::uint64_t>(regs[o->base]);
      if (o->index != 255) at += static_cast<std::uint64_t>(regs[o->index]) * o->scale;
      for (std::uint64_t line = at / 64; line <= (at + o->size - 1) / 64; ++line)
        c.moved += lines_.touch(line, me->thread, o->writes != 0);
    }
    if (block_.holds(rip)) {
      if (rip == block_.begin) ++me->entries;
      visit& v = me->visits[rip - block_.begin];
      if (v.entry == me->entries && v.work < c.work && v.moved == c.moved) {
        c.waiting += c.work - v.work;
        c.work = v.work;
        // Those that others wait for are to have the cores.
        ::nanosleep(&rest_, nullptr);
      } else {
        v = {me->entries, c.work, c.moved};
      }
    }
    const std::uint64_t all = c.work + c.waiting;
    const auto stack = static_cast<std::uint64_t>(regs[REG_RSP]);
    if (rip == probe_.begin) {
      me->probe_stack = stack;
      me->probe_began = all;
    } else if (me->probe_stack != 0 && stack > me->probe_stack && !probe_.holds(rip)) {
      me->probe_stack = 0;
      ++c.probes;
      c.probe_steps += all - me->probe_began;
    }
  }

  static inline single_steps* the_one = nullptr;
  static inline thread_local state* mine = nullptr;
  std::array<std::vector<std::uint32_t>, 2> by_address_;
  std::vector<operand> operands_;
  timespec rest_{0, 200'000};
  std::array<std::uint64_t, 2> bases_{}, sizes_{};
  code_range block_, probe_;
  stepped_lines lines_;
  std::array<state, stepped_threads_max> states_;
};

}  // namespace bench
#endif
