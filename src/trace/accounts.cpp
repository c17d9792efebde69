#include "trace/accounts.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/own_executable.hpp"
#include "base/stack_trace.hpp"
#include "weft/error.hpp"

namespace weft::accounts {
namespace {

// --- Tables of stamps ----------------------------------------------------------------------------

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = (a ^ std::rotl(b, 29)) * 0x9e37'79b9'7f4a'7c15;
  x ^= x >> 32;
  x *= 0xd6e8'feb8'6659'fd93;
  return x ^ x >> 29;
}

struct stamp {
  std::uint64_t time = 0;
  std::uint64_t critical = 0;
  std::int32_t rank = no_rank;
  std::int32_t site = -1;
};
constexpr std::uint64_t packed(int rank, int site) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(rank)} << 32 | static_cast<std::uint32_t>(site);
}

// Any rank may write a slot that another one reads: a check word over the others tells whether they
// belong together, so that no access need be ordered. All are relaxed for that reason.
struct stamp_slot {
  std::atomic<std::uint64_t> check, time, who, critical;

  static std::uint64_t check_of(std::uint64_t key, std::uint64_t time, std::uint64_t who,
                                std::uint64_t critical) noexcept {
    return mixed(key, time) ^ std::rotl(who, 17) ^ std::rotl(critical, 41);
  }
  void put(std::uint64_t key, const stamp& s) noexcept {
    const std::uint64_t by = packed(s.rank, s.site);
    check.store(check_of(key, s.time, by, s.critical), std::memory_order_relaxed);
    time.store(s.time, std::memory_order_relaxed);
    who.store(by, std::memory_order_relaxed);
    critical.store(s.critical, std::memory_order_relaxed);
  }
  bool get(std::uint64_t key, stamp& s) const noexcept {
    s.time = time.load(std::memory_order_relaxed);
    s.critical = critical.load(std::memory_order_relaxed);
    const std::uint64_t by = who.load(std::memory_order_relaxed);
    s.rank = static_cast<std::int32_t>(by >> 32);
    s.site = static_cast<std::int32_t>(by);
    return check.load(std::memory_order_relaxed) == check_of(key, s.time, by, s.critical);
  }
};

// Of one communicator: who comes last to a collective knows it from the count. Counts go on from turn
// to turn of a slot; so do the lengths of chains, which only grow. Relaxed: the collective itself orders
// what its ranks did before against what they read after it.
struct meeting_block {
  static constexpr std::uint64_t turns = 64;
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> arrivals[turns];
  std::atomic<std::uint64_t> critical[turns];
};

constexpr std::size_t stamps_count = std::size_t{1} << 16;
constexpr std::size_t meetings_count = 512;
constexpr std::size_t tables_bytes =
    stamps_count * sizeof(stamp_slot) + meetings_count * sizeof(meeting_block);

// --- What a process keeps of its ranks ---------------------------------------------------------

// How many messages of each name a rank has sent and received: both sides count alike.
class stream_counts {
 public:
  // The number of the next one, from 1; 0 when there are too many names.
  std::uint64_t next(std::uint64_t name, std::uint32_t step = 1) noexcept {
    if (places_.empty()) places_.resize(places_count);
    for (std::size_t probe = 0; probe < 64; ++probe) {
      place& at = places_[(name + probe) % places_count];
      if (at.name == 0) at.name = name;
      if (at.name != name) continue;
      at.count += step;
      return step == 0 ? at.count + 1 : at.count;
    }
    return 0;
  }

 private:
  struct place {
    std::uint64_t name = 0;
    std::uint64_t count = 0;
  };
  static constexpr std::size_t places_count = 8192;
  std::vector<place> places_;
};

struct live {
  account* a = nullptr;
  std::array<share, 16> outer{};  // What goes on when the current share ends.
  int depth = 0;
  int call_depth = 0;
  int call_site = -1;
  std::uint64_t call_begun = 0;
  std::uint64_t computed = 0;  // Ticks since the last call.
  bool is_off = false;         // Another fiber of the worker runs.
  // A wait or collective.
  int waits = 0;  // Nested ones belong to the outermost.
  bool owns_call = false;
  std::uint64_t wait_begun = 0;
  std::uint64_t used_before = 0;  // Ticks of other shares until then.
  std::uint64_t arrived = 0;
  bool was_off = false;
  stamp latest;
  meeting_name meeting{};
  meeting_block* block = nullptr;
  std::uint64_t meeting_key = 0;
  // Site by return address.
  struct known {
    std::uintptr_t address = 0;
    int site = 0;
  };
  std::vector<known> sites = std::vector<known>(256);
  stream_counts streams;
};

struct process_state {
  std::atomic<bool> on{false};  // Relaxed: changes while no worker runs.
  file_header* header = nullptr;
  std::size_t bytes = 0;
  account* ranks = nullptr;
  std::size_t rank_count = 0;
  stamp_slot* stamps = nullptr;
  meeting_block* meetings = nullptr;
  std::vector<std::unique_ptr<live>> lives;
  const void* own_file = nullptr;     // Where weft's own code was loaded.
  std::atomic<bool> is_apart{false};  // The program is in other files. Relaxed: found out by each.
  bool had_job = false;
};
constinit process_state here;

constinit thread_local live* running = nullptr;
constinit thread_local const void* noted_address = nullptr;
constinit thread_local std::uint64_t nobody_since = 0;

live* find(int rank) noexcept {
  if (!here.on.load(std::memory_order_relaxed)) return nullptr;
  const auto at = static_cast<std::size_t>(rank);
  return at < here.lives.size() ? here.lives[at].get() : nullptr;
}

void settle(live& p, std::uint64_t now) noexcept {
  account& a = *p.a;
  if (now <= a.mark) return;
  const std::uint64_t passed = now - a.mark;
  a.times[static_cast<std::size_t>(a.current)] += passed;
  if (a.current == share::computing || a.current == share::asleep) {
    a.critical += passed;
    p.computed += passed;
  }
  a.mark = now;
}
void enter(live& p, share next, std::uint64_t now) noexcept {
  settle(p, now);
  const auto depth = static_cast<std::size_t>(p.depth++);
  if (depth < p.outer.size()) p.outer[depth] = p.a->current;
  p.a->current = next;
}
void leave(live& p, std::uint64_t now) noexcept {
  settle(p, now);
  if (p.depth == 0) return;
  const auto depth = static_cast<std::size_t>(--p.depth);
  if (depth < p.outer.size()) p.a->current = p.outer[depth];
}
// Ticks of a wait that were used for something else.
std::uint64_t used(const account& a) noexcept {
  const auto of = [&](share s) { return a.times[static_cast<std::size_t>(s)]; };
  return of(share::stealing) + of(share::copying) + of(share::queued) + of(share::computing) +
         of(share::asleep);
}

// --- Call sites ----------------------------------------------------------------------------------

template <std::size_t Size>
void copy_text(char (&to)[Size], std::string_view from) noexcept {
  const std::size_t length = std::min(from.size(), Size - 1);
  std::memcpy(to, from.data(), length);
  std::memset(to + length, 0, Size - length);
}

int object_of(account& a, const Dl_info& found) {
  std::error_code failed;
  std::string path = found.dli_fname == nullptr ? "" : found.dli_fname;
  // The program that was started goes by whatever name it was called; copies of files of ranks do not.
  if (path.empty() || (path == program_invocation_name && found.dli_fbase == here.own_file))
    path = own_executable();
  else
    path = std::filesystem::absolute(path, failed).string();
  for (int i = 0; i < objects_max; ++i) {
    if (a.objects[i][0] == '\0') copy_text(a.objects[i], path);
    if (a.objects[i] == path.substr(0, sizeof a.objects[i] - 1)) return i;
  }
  return -1;
}

bool is_own(std::uintptr_t address) noexcept {
  Dl_info found{};
  return dladdr(reinterpret_cast<const void*>(address), &found) == 0 ||
         found.dli_fbase == here.own_file;
}

// The innermost call of the program, of those that are under way.
std::uintptr_t walked_to_program() noexcept {
  if (!here.is_apart.load(std::memory_order_relaxed)) return 0;
  std::array<std::uintptr_t, 24> calls;
  const std::size_t count = capture_calls(calls);
  for (std::size_t i = 0; i < count; ++i)
    if (!is_own(calls[i])) return calls[i];
  return 0;
}

constexpr int site_by_walk = -2;  // A return address in weft itself says nothing.

int new_site(account& a, std::uintptr_t address, const char* call) {
  Dl_info found{};
  int object = -1;
  std::uint64_t offset = 0;
  if (address != 0 && dladdr(reinterpret_cast<const void*>(address), &found) != 0) {
    object = object_of(a, found);
    offset = address - reinterpret_cast<std::uintptr_t>(found.dli_fbase);
  }
  for (int i = 0; i < sites_max; ++i) {
    site& at = a.sites[static_cast<std::size_t>(i)];
    const bool is_free = at.call[0] == '\0';
    if (is_free && i + 1 < sites_max) {
      at.object = object;
      at.offset = offset;
      copy_text(at.call, call);
    } else if (i + 1 < sites_max && (at.object != object || at.offset != offset ||
                                     (object < 0 && std::strcmp(at.call, call) != 0))) {
      continue;
    }
    if (i + 1 == sites_max) {
      copy_text(at.call, "others");
      ++a.beyond;
    }
    return i;
  }
  return 0;
}

int site_of(live& p, std::uintptr_t address, const char* call) {
  // Without an address the name of the call is the best that is known.
  const std::uintptr_t key = address != 0 ? address : reinterpret_cast<std::uintptr_t>(call);
  const std::size_t first = (key ^ key >> 9) * 0x9e37'79b9 >> 3;
  for (std::size_t probe = 0; probe < 8; ++probe) {
    live::known& at = p.sites[(first + probe) % p.sites.size()];
    if (at.address == 0) {
      at.address = key;
      const bool in_weft = address != 0 && is_own(address);
      // Then whatever lies in weft's own file is weft's.
      if (address != 0 && !in_weft) here.is_apart.store(true, std::memory_order_relaxed);
      at.site = in_weft && here.is_apart.load(std::memory_order_relaxed)
                    ? site_by_walk
                    : new_site(*p.a, address, call);
    }
    if (at.address != key) continue;
    if (at.site != site_by_walk) return at.site;
    const std::uintptr_t walked = walked_to_program();
    return walked == 0 || walked == address ? site_of(p, 0, call) : site_of(p, walked, call);
  }
  return new_site(*p.a, address, call);
}

// The program called weft.
void open_call(live& p, std::uintptr_t address, const char* call, std::uint64_t now) {
  p.call_site = site_of(p, address, call);
  site& at = p.a->sites[static_cast<std::size_t>(p.call_site)];
  ++at.calls;
  at.computing += std::exchange(p.computed, 0);
  p.call_begun = now;
  p.a->current_site = p.call_site;
}
void close_call(live& p, std::uint64_t now) noexcept {
  if (p.call_site < 0) return;
  p.a->sites[static_cast<std::size_t>(p.call_site)].in_calls += now - p.call_begun;
  p.a->current_site = p.call_site = -1;
}

// --- Waits ---------------------------------------------------------------------------------------

partner& partner_of(account& a, int rank) noexcept {
  const auto first = static_cast<std::size_t>(rank) % (partners_max - 1);
  for (std::size_t probe = 0; probe < 32; ++probe) {
    partner& at = a.partners[(first + probe) % (partners_max - 1)];
    if (at.rank == no_rank) at.rank = rank;
    if (at.rank == rank) return at;
  }
  ++a.beyond;
  return a.partners.back();
}

void add_wait(live& p, wait_state state, std::uint64_t ticks, const stamp& cause) noexcept {
  if (ticks == 0) return;
  account& a = *p.a;
  const int site = std::max(p.call_site, 0);
  const auto first = static_cast<std::size_t>(
      mixed(static_cast<std::uint64_t>(state) << 40 | static_cast<std::uint64_t>(site) << 20,
            packed(cause.rank, cause.site)) %
      (wait_rows_max - 1));
  wait_row* row = &a.waits.back();
  for (std::size_t probe = 0; probe < 24; ++probe) {
    wait_row& at = a.waits[(first + probe) % (wait_rows_max - 1)];
    const bool is_this = at.used && at.state == state && at.at == site && at.cause == cause.rank &&
                         at.cause_site == cause.site;
    if (!at.used)
      at = {state, true, static_cast<std::int16_t>(site), static_cast<std::int16_t>(cause.site),
            cause.rank};
    else if (!is_this)
      continue;
    row = &at;
    break;
  }
  if (row == &a.waits.back()) {
    row->used = true;
    ++a.beyond;
  }
  ++row->count;
  row->ticks += ticks;
  row->longest = std::max(row->longest, ticks);
  if (cause.rank >= 0) partner_of(a, cause.rank).waiting += ticks;
}

// Opens the outermost wait; false for one within another.
bool open_wait(live& p, const char* call, std::uint64_t now) {
  if (p.waits++ > 0) return false;
  p.owns_call = p.call_depth == 0;
  if (p.owns_call) {
    settle(p, now);
    const void* const noted = std::exchange(noted_address, nullptr);
    open_call(p,
              noted != nullptr ? reinterpret_cast<std::uintptr_t>(noted) - 1 : walked_to_program(),
              call, now);
  }
  enter(p, share::waiting, now);
  p.wait_begun = now;
  p.used_before = used(*p.a);
  p.arrived = 0;
  p.was_off = false;
  p.latest = {};
  return true;
}
// Closes it; returns how long it waited for others, or for what they sent.
std::uint64_t close_wait(live& p, std::uint64_t now) noexcept {
  account& a = *p.a;
  leave(p, now);
  const std::uint64_t whole = now - p.wait_begun;
  std::uint64_t waited = whole - std::min(whole, used(a) - p.used_before);
  // From then on it could run, and another rank of its worker did.
  if (p.was_off && p.arrived != 0 && p.arrived < now) {
    const std::uint64_t queued = std::min(now - std::max(p.arrived, p.wait_begun), waited);
    a.times[static_cast<std::size_t>(share::waiting)] -= queued;
    a.times[static_cast<std::size_t>(share::queued)] += queued;
    waited -= queued;
  }
  return waited;
}
void end_owned_call(live& p, std::uint64_t now) noexcept {
  if (std::exchange(p.owns_call, false)) close_call(p, now);
}

// Of `waited` what passed before the cause came.
void split_wait(live& p, wait_state state, std::uint64_t waited, const stamp& cause) noexcept {
  std::uint64_t late = 0;
  if (cause.rank >= 0 && cause.time > p.wait_begun && cause.rank != p.a->rank)
    late = std::min(cause.time - p.wait_begun, waited);
  add_wait(p, state, late, cause);
  add_wait(p, wait_state::transfer, waited - late, {0, 0, cause.rank, cause.site});
}

stamp own_stamp(const live& p, std::uint64_t now) noexcept {
  // The call began before its message was sent.
  return {p.call_depth > 0 ? p.call_begun : now, p.a->critical, p.a->rank, p.call_site};
}
void put_stamp(std::uint64_t key, const stamp& s) noexcept {
  here.stamps[key % stamps_count].put(key, s);
}
bool get_stamp(std::uint64_t key, stamp& s) noexcept {
  return here.stamps[key % stamps_count].get(key, s) && s.rank >= 0 &&
         static_cast<std::size_t>(s.rank) < here.rank_count && s.site < sites_max;
}

std::uint64_t stream_of(const message_name& m) noexcept {
  const auto word = [](auto value) { return std::uint64_t{static_cast<std::uint32_t>(value)}; };
  return mixed(word(m.context) << 32 | word(m.source), word(m.tag) << 32 | word(m.to)) | 1;
}
std::uint64_t key_of(std::uint64_t stream, std::uint64_t number) noexcept {
  return mixed(stream, number);
}

void raise(std::atomic<std::uint64_t>& to, std::uint64_t value) noexcept {
  std::uint64_t now = to.load(std::memory_order_relaxed);
  while (now < value && !to.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
  }
}

meeting_block* block_of(std::uint64_t key) noexcept {
  for (std::size_t probe = 0; probe < 16; ++probe) {
    meeting_block& at = here.meetings[(key + probe) % meetings_count];
    std::uint64_t has = at.key.load(std::memory_order_relaxed);
    if (has == 0 && at.key.compare_exchange_strong(has, key, std::memory_order_relaxed)) return &at;
    if (has == key) return &at;
  }
  return nullptr;
}

}  // namespace

// --- The life of a file --------------------------------------------------------------------------

bool start(const std::string& path, const job_shape& shape) {
  if (std::exchange(here.had_job, true)) return false;
  const auto fail = [&](const char* what) {
    throw error(formatted("cannot {} the accounts of --breakdown in {}: {}", what, path,
                          std::strerror(errno)));
  };
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) fail("open");
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  const std::size_t bytes = bytes_of_accounts(ranks) + tables_bytes;
  // All processes of a job say the same.
  void* const memory =
      ::ftruncate(file, static_cast<off_t>(bytes)) != 0
          ? MAP_FAILED
          : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  const int reason = errno;
  ::close(file);
  errno = reason;
  if (memory == MAP_FAILED) fail("map");
  auto* const header = static_cast<file_header*>(memory);
  // Relaxed: each process fills in what is its own.
  const std::uint32_t place = header->claimed.fetch_add(1, std::memory_order_relaxed);
  if (place >= static_cast<std::uint32_t>(shape.processes) ||
      (place != 0 && header->ranks != 0 && header->ranks != shape.ranks)) {
    ::munmap(memory, bytes);
    return false;
  }
  if (place == 0) {
    header->magic = file_magic;
    header->account_bytes = sizeof(account);
    header->ranks = shape.ranks;
    header->processes = shape.processes;
    header->workers = shape.workers;
    header->ns_per_tick = ns_per_tick();
    header->start_ticks = ticks();
    copy_text(header->program, shape.program);
    copy_text(header->settings, shape.settings);
  }
  here.header = header;
  here.bytes = bytes;
  here.rank_count = ranks;
  auto* at = static_cast<std::byte*>(memory) + header_bytes;
  here.ranks = reinterpret_cast<account*>(at);
  at += ranks * sizeof(account);
  here.stamps = reinterpret_cast<stamp_slot*>(at);
  here.meetings = reinterpret_cast<meeting_block*>(at + stamps_count * sizeof(stamp_slot));
  here.lives.resize(ranks);
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&start), &own) != 0) here.own_file = own.dli_fbase;
  here.on.store(true, std::memory_order_relaxed);
  trace_accounts(true);
  return true;
}

void stop() noexcept {
  if (!here.on.exchange(false, std::memory_order_relaxed)) return;
  trace_accounts(false);
  here.lives.clear();
  ::munmap(here.header, here.bytes);
  here.header = nullptr;
}

bool are_on() noexcept {
  return here.on.load(std::memory_order_relaxed);
}

void begin_rank(int rank, int process, int worker) {
  if (!are_on() || static_cast<std::size_t>(rank) >= here.lives.size()) return;
  auto p = std::make_unique<live>();
  p->a = new (&here.ranks[rank]) account{};
  account& a = *p->a;
  a.rank = rank;
  a.process = process;
  a.worker = worker;
  a.begun = a.mark = ticks();
  a.partners.back().rank = no_rank;
  a.state = life::running;
  running = p.get();
  here.lives[static_cast<std::size_t>(rank)] = std::move(p);
}

void end_rank(int rank) {
  live* const p = find(rank);
  if (p == nullptr || p->a->state != life::running) return;
  const std::uint64_t now = ticks();
  settle(*p, now);
  // What it computed after its last call.
  if (p->computed != 0) {
    site& last = p->a->sites[static_cast<std::size_t>(site_of(*p, 0, "end"))];
    last.computing += std::exchange(p->computed, 0);
  }
  p->a->ended = now;
  p->a->state = life::ended;
  if (running == p) running = nullptr;
}

// --- Calls ---------------------------------------------------------------------------------------

void note_return_address(const void* address) noexcept {
  noted_address = address;
}

void begin_call(int rank, const char* call, const void* return_address) {
  const void* const noted = std::exchange(noted_address, nullptr);
  live* const p = find(rank);
  if (p == nullptr || p->call_depth++ > 0) return;
  const std::uint64_t now = ticks();
  enter(*p, share::in_calls, now);
  const auto address = reinterpret_cast<std::uintptr_t>(noted != nullptr ? noted : return_address);
  // A return address may be the first of the next function; the call lies before it.
  open_call(*p, address == 0 ? 0 : address - 1, call, now);
}

void end_call(int rank) {
  live* const p = find(rank);
  if (p == nullptr || p->call_depth == 0 || --p->call_depth > 0) return;
  const std::uint64_t now = ticks();
  leave(*p, now);
  close_call(*p, now);
}

// --- Messages ------------------------------------------------------------------------------------

void sent(int rank, int to_rank, const message_name& name, std::size_t bytes) {
  live* const p = find(rank);
  if (p == nullptr) return;
  account& a = *p->a;
  const std::uint64_t now = ticks();
  settle(*p, now);
  ++a.sent;
  a.sent_bytes += bytes;
  size_class& size = a.sizes[std::min<std::size_t>(std::bit_width(bytes), size_classes - 1)];
  ++size.messages;
  size.bytes += bytes;
  partner& to = partner_of(a, to_rank);
  ++to.messages;
  to.bytes += bytes;
  const std::uint64_t stream = stream_of(name);
  if (const std::uint64_t number = p->streams.next(stream); number != 0)
    put_stamp(key_of(stream, number), own_stamp(*p, now));
}

void received(int rank, const message_name& name, std::size_t bytes) {
  live* const p = find(rank);
  if (p == nullptr) return;
  account& a = *p->a;
  ++a.received;
  a.received_bytes += bytes;
  const std::uint64_t now = ticks();
  settle(*p, now);
  const std::uint64_t stream = stream_of(name);
  const std::uint64_t number = p->streams.next(~stream);
  p->arrived = now;
  stamp from;
  if (number == 0 || !get_stamp(key_of(stream, number), from)) {
    ++a.causes_lost;
    return;
  }
  a.critical = std::max(a.critical, from.critical);
  if (p->waits > 0 && from.time >= p->latest.time) p->latest = from;
}

void came_unexpected(int rank) {
  if (live* const p = find(rank)) ++p->a->unexpected;
}
void kept_for_rendezvous(int rank) {
  if (live* const p = find(rank)) ++p->a->rendezvous;
}

void took_rts(int rank, const message_name& name) {
  live* const p = find(rank);
  if (p == nullptr) return;
  const std::uint64_t stream = stream_of(name);
  stamp from;
  const std::uint64_t number = p->streams.next(~stream, 0);
  if (number == 0 || !get_stamp(key_of(stream, number), from)) return;
  account& sender = here.ranks[from.rank];
  const stamp mine = own_stamp(*p, ticks());
  sender.taken_by.store(packed(mine.rank, mine.site), std::memory_order_relaxed);
  sender.taken_at.store(mine.time, std::memory_order_relaxed);
}

// --- Waits ---------------------------------------------------------------------------------------

void begin_wait(int rank, const char* call) {
  if (live* const p = find(rank)) open_wait(*p, call, ticks());
}

void end_wait(int rank, bool of_send) {
  live* const p = find(rank);
  if (p == nullptr || p->waits == 0 || --p->waits > 0) return;
  const std::uint64_t now = ticks();
  const std::uint64_t waited = close_wait(*p, now);
  stamp cause = p->latest;
  wait_state state = wait_state::late_sender;
  if (cause.rank < 0 && of_send) {
    state = wait_state::late_receiver;
    const std::uint64_t at = p->a->taken_at.load(std::memory_order_relaxed);
    const std::uint64_t by = p->a->taken_by.load(std::memory_order_relaxed);
    if (at > p->wait_begun && at <= now)
      cause = {at, 0, static_cast<std::int32_t>(by >> 32), static_cast<std::int32_t>(by)};
  }
  // The receive of a long message was there before: it is moved.
  if (cause.rank < 0 && !of_send)
    add_wait(*p, wait_state::unknown, waited, {});
  else
    split_wait(*p, state, waited, cause);
  end_owned_call(*p, now);
}

void begin_chunks_wait(int rank) {
  if (live* const p = find(rank)) open_wait(*p, "loop", ticks());
}
void end_chunks_wait(int rank) {
  live* const p = find(rank);
  if (p == nullptr || p->waits == 0 || --p->waits > 0) return;
  const std::uint64_t now = ticks();
  add_wait(*p, wait_state::chunks, close_wait(*p, now), {});
  end_owned_call(*p, now);
}

void begin_collective(int rank, const meeting_name& name) {
  live* const p = find(rank);
  if (p == nullptr) return;
  account& a = *p->a;
  ++a.collectives;
  const std::uint64_t now = ticks();
  if (!open_wait(*p, name.call, now)) return;
  p->meeting = name;
  const std::uint64_t key =
      mixed(std::uint64_t{static_cast<std::uint32_t>(name.first)} << 32 | name.context,
            static_cast<std::uint64_t>(name.size)) |
      1;
  p->meeting_key = mixed(key, name.turn);
  p->block = block_of(key);
  stamp mine{now, a.critical, a.rank, p->call_site};
  if (name.is_root) put_stamp(mixed(p->meeting_key, 2), mine);
  if (p->block == nullptr) return;
  const std::size_t slot = name.turn % meeting_block::turns;
  raise(p->block->critical[slot], a.critical);
  const std::uint64_t before = p->block->arrivals[slot].fetch_add(1, std::memory_order_relaxed);
  if ((before + 1) % static_cast<std::uint64_t>(std::max(name.size, 1)) == 0)
    put_stamp(mixed(p->meeting_key, 1), mine);
}

void end_collective(int rank) {
  live* const p = find(rank);
  if (p == nullptr || p->waits == 0 || --p->waits > 0) return;
  account& a = *p->a;
  const std::uint64_t now = ticks();
  const std::uint64_t waited = close_wait(*p, now);
  const meeting_name& m = p->meeting;
  // Whose data it cannot do without: all ranks', or the root's. In weft others mostly wait for all as well.
  const bool takes_from_all = m.how == relation::all || (m.how == relation::to_root && m.is_root);
  const bool takes_from_root = m.how == relation::from_root && !m.is_root;
  stamp cause;
  if (!get_stamp(mixed(p->meeting_key, takes_from_root ? 2 : 1), cause)) {
    cause = {};
    // The root of a small broadcast meets nobody, nor does who reduces to another.
    a.causes_lost += takes_from_all || takes_from_root;
  }
  if (takes_from_all && p->block != nullptr)
    a.critical =
        std::max(a.critical,
                 p->block->critical[m.turn % meeting_block::turns].load(std::memory_order_relaxed));
  else if (takes_from_root && cause.rank >= 0)
    a.critical = std::max(a.critical, cause.critical);
  const wait_state state = takes_from_root                           ? wait_state::late_broadcast
                           : m.how == relation::to_root && m.is_root ? wait_state::early_reduce
                           : m.is_barrier                            ? wait_state::barrier
                                                                     : wait_state::n_by_n;
  split_wait(*p, state, waited, cause);
  end_owned_call(*p, now);
}

// --- What the timeline shows too -----------------------------------------------------------------

void note_event(trace_phase phase, trace_kind kind, int rank) noexcept {
  const bool begins = phase == trace_phase::begin;
  const auto switch_share = [&](live* p, share s) {
    if (p == nullptr || p->a->state != life::running) return;
    const std::uint64_t now = ticks();
    if (begins)
      enter(*p, s, now);
    else
      leave(*p, now);
  };
  switch (kind) {
    case trace_kind::run: {
      live* const p = find(rank);
      running = begins ? p : nullptr;
      if (p == nullptr || p->a->state != life::running) return;
      const std::uint64_t now = ticks();
      if (begins && std::exchange(p->is_off, false)) {
        leave(*p, now);
      } else if (!begins && !p->is_off) {
        p->is_off = p->was_off = true;
        const share s = p->a->current;
        enter(*p, s == share::waiting || s == share::asleep ? s : share::queued, now);
      }
      return;
    }
    case trace_kind::chunk_stolen:
      if (running == nullptr) {
        const std::uint64_t now = ticks();
        if (!begins && here.header != nullptr)  // Relaxed: a sum.
          here.header->stolen_by_nobody.fetch_add(now - nobody_since, std::memory_order_relaxed);
        nobody_since = now;
        return;
      }
      if (begins) ++running->a->chunks_taken;
      return switch_share(running, share::stealing);
    case trace_kind::copy:
      return switch_share(running, share::copying);
    case trace_kind::sleep:
      return switch_share(find(rank), share::asleep);
    case trace_kind::wait_chunks:
      return begins ? begin_chunks_wait(rank) : end_chunks_wait(rank);
    default:
      return;
  }
}

}  // namespace weft::accounts
