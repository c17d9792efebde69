#include "profile/accounts.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "profile/experiment.hpp"
#include "profile/live_account.hpp"
#include "profile/worker_accounts.hpp"
#include "trace/event_file.hpp"
#include "trace/noted_caller.hpp"
#include "trace/timeline.hpp"
#include "weft/error.hpp"

namespace weft::profile {

constinit process_accounts here;
constinit thread_local live* running = nullptr;
constinit thread_local live* ran_last = nullptr;
constinit thread_local std::uint64_t engaged_from = 0, engaged_until = 0;
constinit thread_local const void* noted_address = nullptr;

namespace {

constinit thread_local std::uint64_t nobody_since = 0;

struct descriptor {
  const int number;
  explicit descriptor(int of) : number(of) {}
  ~descriptor() {
    const int reason = errno;
    if (number >= 0) ::close(number);
    errno = reason;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
};

// On another host, or in another namespace of processes, the path leads nowhere, or to somebody else's file.
bool leads_to_accounts(const std::string& path) {
  char name[64] = {};
  return ::readlink(path.c_str(), name, sizeof name - 1) > 0 &&
         std::string_view(name).starts_with(formatted("/memfd:{} ", file_name));
}

// A program may start other jobs, which find the same file: it belongs to the job that came first, and no other
// one changes it.
enum class claim { failed, lost, joined, first };
claim claim_of(int file, std::uint64_t job) {
  void* const memory = ::mmap(nullptr, header_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return claim::failed;
  std::uint64_t owner = 0;
  // Relaxed: each process fills in what is its own.
  const bool is_first = static_cast<file_header*>(memory)->job.compare_exchange_strong(
      owner, job, std::memory_order_relaxed);
  ::munmap(memory, header_bytes);
  return is_first ? claim::first : owner == job ? claim::joined : claim::lost;
}

}  // namespace

// --- What the timeline shows too -----------------------------------------------------------------

namespace {

// The program's own part of a process has ended, and its worker runs tasks for others: the rank that ran last there goes on
// in its account.
void serve(live& p, bool begins, std::uint64_t now) noexcept {
  account& a = *p.a;
  if (p.is_serving == begins) return;
  p.is_serving = begins;
  if (begins) {
    const std::uint64_t idle = now - std::min(now, a.ended);
    a.times[static_cast<std::size_t>(share::waiting)] += idle;
    add_idle(p, idle);
    a.current = share::tasks;
    a.mark = now;
  } else {
    settle(p, now);
  }
  a.ended = now;
}

// Takes each event of the timeline: some concern accounts as well.
void note_event(trace_phase phase, trace_kind kind, int rank, std::uint64_t now) noexcept {
  const bool begins = phase == trace_phase::begin;
  const auto switch_share = [&](live* p, share s) {
    if (p == nullptr || p->a->state != life::running) return;
    if (begins)
      enter(*p, s, now);
    else
      leave(*p, now);
  };
  switch (kind) {
    case trace_kind::run: {
      live* const p = find(rank);
      running = begins ? p : nullptr;
      if (p != nullptr) ran_last = p;
      if (p == nullptr || p->a->state != life::running) return;
      if (begins && std::exchange(p->is_off, false)) {
        if (p->a->current == share::queued)
          p->a->could_run_elsewhere += free_between(p->queued_since, now);
        leave(*p, now);
      } else if (!begins && !p->is_off) {
        p->is_off = p->was_off = true;
        const share s = p->a->current;
        if (s != share::waiting && s != share::asleep) p->queued_since = now;
        enter(*p, s == share::waiting || s == share::asleep ? s : share::queued, now);
      }
      return;
    }
    case trace_kind::chunk_stolen:
      if (running == nullptr) {
        if (!begins && here.header != nullptr)  // Relaxed: a sum.
          here.header->stolen_by_nobody.fetch_add(now - nobody_since, std::memory_order_relaxed);
        nobody_since = now;
        return;
      }
      if (begins) ++running->a->chunks_taken;
      return switch_share(running, share::stealing);
    case trace_kind::task:
      return ran_last != nullptr && ran_last->a->state == life::ended
                 ? serve(*ran_last, begins, now)
                 : switch_share(ran_last, share::tasks);
    case trace_kind::beside:
      return switch_share(ran_last, share::in_calls);
    case trace_kind::copy:
      return switch_share(running, share::copying);
    case trace_kind::sleep:
      return switch_share(find(rank), share::asleep);
    case trace_kind::wait_chunks:
      return begins ? begin_chunks_wait(rank, now) : end_chunks_wait(rank, now);
    default:
      return;
  }
}

}  // namespace

// --- The life of a file --------------------------------------------------------------------------

beginning start(const std::string& path, const job_shape& shape) {
  if (std::exchange(here.had_job, true)) return beginning::other_job;
  const auto fail = [&](const char* what) {
    throw error(formatted("cannot {} the accounts of --breakdown in {}: {}", what, path,
                          std::strerror(errno)));
  };
  if (!leads_to_accounts(path)) return beginning::elsewhere;
  const descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
  if (file.number < 0) fail("open");
  const claim taken = claim_of(file.number, shape.job);
  if (taken == claim::failed) fail("map");
  if (taken == claim::lost) return beginning::other_job;
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const std::size_t bytes_of_ranks = bytes_of_accounts(ranks, shape.has_call_paths);
  const std::size_t bytes = bytes_of_ranks + tables_bytes;
  // All processes of a job say the same, and whoever comes first makes the file that long.
  struct stat of_file {};
  void* const memory = ::fstat(file.number, &of_file) != 0 ||
                               (of_file.st_size < static_cast<off_t>(bytes) &&
                                ::ftruncate(file.number, static_cast<off_t>(bytes)) != 0)
                           ? MAP_FAILED
                           : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_NORESERVE, file.number, 0);
  if (memory == MAP_FAILED) fail("map");
  auto* const header = static_cast<file_header*>(memory);
  if (taken == claim::first) {
    header->magic = file_magic;
    header->account_bytes = sizeof(account);
    header->ranks = shape.ranks;
    header->processes = shape.processes;
    header->workers = shape.workers;
    header->has_callers = shape.has_call_paths ? 1 : 0;
    header->ns_per_tick = ns_per_tick();
    header->start_ticks = ticks();
    copy_text(header->program, shape.program);
    copy_text(header->settings, shape.settings);
  }
  here.header = header;
  here.bytes = bytes;
  here.rank_count = ranks;
  here.threads = shape.threads;
  auto* at = static_cast<std::byte*>(memory) + header_bytes;
  here.ranks = reinterpret_cast<account*>(at);
  at += ranks * sizeof(account);
  here.callers = shape.has_call_paths ? reinterpret_cast<caller*>(at) : nullptr;
  at = static_cast<std::byte*>(memory) + bytes_of_ranks;
  here.stamps = reinterpret_cast<stamp_slot*>(at);
  here.meetings = reinterpret_cast<meeting_slot*>(at + stamps_count * sizeof(stamp_slot));
  here.has_other_hosts = shape.has_other_hosts;
  here.lives.resize(ranks);
  forget_free_cores();
  here.on.store(true, std::memory_order_relaxed);
  listen_to_events(&note_event);
  return beginning::begun;
}

void stop() noexcept {
  if (!here.on.exchange(false, std::memory_order_relaxed)) return;
  listen_to_events(nullptr);
  here.lives.clear();
  ::munmap(here.header, here.bytes);
  here.header = nullptr;
}

bool are_on() noexcept {
  return here.on.load(std::memory_order_relaxed);
}

namespace {
// When the first rank of this thread's worker began.
constinit thread_local std::uint64_t first_begun = 0;
}  // namespace

void exchange_accounts(worker_accounts& with) noexcept {
  const worker_accounts before{running,      ran_last,      nobody_since, first_begun,
                               engaged_from, engaged_until, paid};
  running = with.running;
  ran_last = with.ran_last;
  nobody_since = with.nobody_since;
  first_begun = with.first_begun;
  engaged_from = with.engaged_from;
  engaged_until = with.engaged_until;
  paid = with.paid;
  with = before;
}

void note_engaged(std::uint64_t from, std::uint64_t until) noexcept {
  engaged_from = from;
  engaged_until = until;
}

void begin_rank(int rank, int process, int worker) {
  if (!are_on() || static_cast<std::size_t>(rank) >= here.lives.size()) return;
  auto p = std::make_unique<live>();
  p->a = new (&here.ranks[rank]) account{};
  account& a = *p->a;
  if (here.callers != nullptr) {
    p->callers = {here.callers + std::size_t{callers_max} * static_cast<std::size_t>(rank),
                  callers_max};
    std::ranges::fill(p->callers, caller{});
  }
  a.rank = rank;
  a.process = process;
  here.process = static_cast<std::uint32_t>(process);
  a.worker = worker;
  a.threads = here.threads;
  // Until now other ranks of its worker ran.
  a.mark = ticks();
  if (first_begun == 0) first_begun = a.mark;
  a.begun = first_begun;
  a.times[static_cast<std::size_t>(share::queued)] = a.mark - a.begun;
  note_could_run(*p, a.begun, a.mark);
  a.partners.back().rank = no_rank;
  a.state = life::running;
  running = ran_last = p.get();
  here.lives[static_cast<std::size_t>(rank)] = std::move(p);
}

void end_rank(int rank) {
  live* const p = find(rank);
  if (p == nullptr || p->a->state != life::running) return;
  const std::uint64_t now = ticks();
  if (p->a->current == share::computing) note_engaged(p->a->mark, now);
  settle(*p, now);
  // What it computed after its last call.
  if (p->computed != 0) {
    site& last = p->a->sites[static_cast<std::size_t>(site_of(*p, 0, "end"))];
    last.computing += std::exchange(p->computed, 0);
  }
  p->a->ended = now;
  if (has_experiment()) [[unlikely]] {
    pay(*p, true);
    p->a->ended = ticks();
  }
  p->a->state = life::ended;
  if (running == p) running = nullptr;
}

// --- Calls ---------------------------------------------------------------------------------------

void begin_call(int rank, const char* call, const void* return_address) {
  const void* const noted = std::exchange(noted_address, nullptr);
  const void* const caller = take_noted_caller();
  auto address = reinterpret_cast<std::uintptr_t>(caller != nullptr  ? caller
                                                  : noted != nullptr ? noted
                                                                     : return_address);
  // A return address may be the first of the next function; the call lies before it.
  if (address != 0) --address;
  live* const p = find(rank);
  const bool is_first = p != nullptr && p->call_depth++ == 0;
  const std::uint64_t now = ticks();
  int call_site = 0;
  if (is_first) {
    if (p->a->current == share::computing) note_engaged(p->a->mark, now);
    enter(*p, share::in_calls, now);
    call_site = site_of(*p, address, call);
  }
  if (is_event_file_on()) {
    // A call within another one has the place of the outer.
    const call_paths::program_call at =
        p != nullptr ? call_paths::program_call{p->site_address, p->site_path}
                     : place_of_call(address);
    timeline::keep_event({now, static_cast<std::int64_t>(at.address == 0 ? 0 : at.address + 1),
                          at.path, call, rank, trace_kind::call, trace_phase::begin});
  }
  if (!is_first) return;
  p->call_event = now;
  p->asks_again = false;
  open_call(*p, call_site, now);
}

void end_call(int rank) {
  const std::uint64_t now = ticks();
  live* const p = find(rank);
  // One call stands for a row of questions in vain, which may be thousands.
  const bool is_another = p != nullptr && p->call_depth == 1 && p->asks_again &&
                          timeline::take_back_call(rank, p->call_event);
  if (is_event_file_on() && !is_another)
    timeline::keep_event({now, 0, 0, nullptr, rank, trace_kind::call, trace_phase::end});
  if (p == nullptr || p->call_depth == 0 || --p->call_depth > 0) return;
  leave(*p, now);
  close_call(*p, now);
}

}  // namespace weft::profile
