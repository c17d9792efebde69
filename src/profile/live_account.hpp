// What a process keeps of its ranks while their accounts are open. For the sources of accounts alone; each rank's is
// touched by its home worker.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "profile/accounts.hpp"
#include "profile/call_paths.hpp"
#include "profile/free_cores.hpp"
#include "profile/stamps.hpp"
#include "trace/message_numbers.hpp"

namespace weft::profile {

struct live {
  account* a = nullptr;
  std::span<caller> callers;
  std::array<share, 16> outer{};  // What goes on when the current share ends.
  int depth = 0;
  int call_depth = 0;
  int call_site = -1;
  std::uintptr_t site_address = 0;
  std::uint32_t site_path = 0;  // 0: not known.
  std::uint64_t call_begun = 0;
  std::uint64_t computed = 0;  // Ticks since the last call.
  bool is_off = false;         // Another fiber of the worker runs.
  bool is_serving = false;     // It has ended, and its worker runs tasks.
  // A wait or collective.
  int waits = 0;  // Nested ones belong to the outermost.
  bool owns_call = false;
  const char* wait_call = "";
  std::uint64_t wait_begun = 0;
  std::uint64_t used_before = 0;  // Ticks of other shares until then.
  const void* counter = nullptr;  // That the messages count at which it waits for; null: for none.
  std::uint64_t arrived = 0;
  bool was_off = false;
  std::uint64_t queued_since = 0;
  // What has come last of what it waits for.
  bool has_come = false;
  stamp latest;
  wait_state latest_state = wait_state::late_sender;
  // A row of questions in vain.
  struct question {
    std::uint64_t what = 0;  // 0: none is open.
    std::uint64_t begun = 0;
    std::uint64_t in_calls_before = 0, computing_before = 0, computing_last = 0;
    std::uint64_t times = 0, at_once = 0;  // How often it has asked again, and at once.
    stamp latest;
    wait_state state = wait_state::late_sender;
  };
  question asked;
  bool asks_again = false;       // The call is another one of that row.
  std::uint64_t call_event = 0;  // When the call that is under way began, as its event says.
  // What goes on beside its own code.
  struct beside {
    const void* flow = nullptr;
    stamp started;
    std::uint64_t meeting = 0;
    bool has_come = false;
    stamp cause;
    stamp cause_started;
    wait_state state = wait_state::unknown;
  };
  std::vector<beside> flows;
  collective_name meeting{};
  std::uint64_t meeting_key = 0;
  // Site by return address.
  struct known {
    std::uintptr_t address = 0;
    int site = 0;
  };
  std::array<known, 256> sites{};
  std::array<bool, sites_max> is_in_experiment{};  // One for each site.
  std::uint64_t in_calls_before = 0;
  message_numbers messages;
  struct open_region {
    int row = 0;
    std::uint64_t begun = 0;
    region_times before;
  };
  std::array<open_region, 16> regions{};
  int region_depth = 0;
  std::size_t iterations = 0;
};

struct process_accounts {
  std::atomic<bool> on{false};  // Relaxed: changes while no worker runs.
  file_header* header = nullptr;
  std::size_t bytes = 0;
  account* ranks = nullptr;
  caller* callers = nullptr;  // Those of all ranks; null: none are kept.
  std::size_t rank_count = 0;
  std::uint32_t process = 0;  // The number in the job.
  stamp_slot* stamps = nullptr;
  meeting_slot* meetings = nullptr;
  bool has_other_hosts = false;  // The job.
  std::vector<std::unique_ptr<live>> lives;
  bool had_job = false;
  int threads = 0;  // As in the accounts.
};

extern constinit process_accounts here;
// The rank whose code this thread runs.
extern constinit thread_local live* running;
// The rank that ran last, whose wait gives the thread its time.
extern constinit thread_local live* ran_last;
// When this thread's worker has looked at no mail last.
extern constinit thread_local std::uint64_t engaged_from, engaged_until;

inline live* find(int rank) noexcept {
  if (!here.on.load(std::memory_order_relaxed)) return nullptr;
  const auto at = static_cast<std::size_t>(rank);
  return at < here.lives.size() ? here.lives[at].get() : nullptr;
}

inline void settle(live& p, std::uint64_t now) noexcept {
  account& a = *p.a;
  if (now <= a.mark) return;
  const std::uint64_t passed = now - a.mark;
  a.times[static_cast<std::size_t>(a.current)] += passed;
  if (a.current == share::computing || a.current == share::asleep) {
    a.critical += passed;
    p.computed += passed;
  } else if (a.current == share::tasks) {
    a.critical += passed;
  }
  a.mark = now;
}
inline void enter(live& p, share next, std::uint64_t now) noexcept {
  settle(p, now);
  const auto depth = static_cast<std::size_t>(p.depth++);
  if (depth < p.outer.size()) p.outer[depth] = p.a->current;
  p.a->current = next;
}
inline void leave(live& p, std::uint64_t now) noexcept {
  settle(p, now);
  if (p.depth == 0) return;
  const auto depth = static_cast<std::size_t>(--p.depth);
  if (depth < p.outer.size()) p.a->current = p.outer[depth];
}
// The rank could run from then until now, and did not.
inline void note_could_run(live& p, std::uint64_t from, std::uint64_t until) noexcept {
  if (until > from) p.a->could_run_elsewhere += free_between(from, until);
}
// Ticks of a wait that were used for something else.
inline std::uint64_t used(const account& a) noexcept {
  const auto of = [&](share s) { return a.times[static_cast<std::size_t>(s)]; };
  return of(share::stealing) + of(share::tasks) + of(share::copying) + of(share::queued) +
         of(share::computing) + of(share::asleep) + of(share::in_calls);
}

template <std::size_t Size>
void copy_text(char (&to)[Size], std::string_view from) noexcept {
  const std::size_t length = std::min(from.size(), Size - 1);
  std::memcpy(to, from.data(), length);
  std::memset(to + length, 0, Size - length);
}

// A rank has ended, and its worker was idle until a task came (waits.cpp).
void add_idle(live& p, std::uint64_t ticks) noexcept;

// --- Call sites (call_sites.cpp) -----------------------------------------------------------------

// The number of the site of a call; `address` 0: not known. The caller counts it. `site_address` becomes that of the
// program's own call, where `address` lies in weft, and `site_path` its path.
[[nodiscard]] int site_of(live& p, std::uintptr_t address, const char* call);
// The site of something that has no call, but a place: "function at file:line", or where no file is known the function
// alone. All texts stay.
[[nodiscard]] int site_of_source(live& p, const char* what, const char* file, std::uint32_t line,
                                 const char* function);
// The innermost call of the program, of those that are under way; 0: not known.
[[nodiscard]] std::uintptr_t walked_to_program() noexcept;
// Whether that is weft's code, and not the program's; without a file of its own no code is.
[[nodiscard]] bool is_in_weft(std::uintptr_t address) noexcept;
// The place of the call that begin_call() was given; where that lies in weft, the innermost call of the program. The path is
// known with --call-paths.
[[nodiscard]] call_paths::program_call place_of_call(std::uintptr_t address) noexcept;
// The program called weft, and weft returns.
void open_call(live& p, int call_site, std::uint64_t now);
void close_call(live& p, std::uint64_t now) noexcept;

}  // namespace weft::profile
