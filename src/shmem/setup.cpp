// shmem_init, shmem_finalize and queries of a PE about itself and others.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/log.hpp"
#include "base/reasons.hpp"
#include "collective/collectives.hpp"
#include "collective/new_communicators.hpp"
#include "process/life/foreign_thread.hpp"
#include "shmem/am_steps.hpp"
#include "shmem/core.hpp"
#include "shmem/race_notes.hpp"
#include "weft/run.hpp"

namespace weft::shmem {
namespace {

constexpr const char* level_names[] = {"SHMEM_THREAD_SINGLE", "SHMEM_THREAD_FUNNELED",
                                       "SHMEM_THREAD_SERIALIZED", "SHMEM_THREAD_MULTIPLE"};

// Address space that each PE's heap may grow in: as much as the machine has memory, unless there are very many.
std::size_t reserve_bytes(const detail::job& j) {
  const auto memory = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t step = std::size_t{1} << 30;
  const std::size_t share = symmetric_reserve_bytes_max / j.places.size();
  return std::max(step, std::min(memory, share) / step * step);
}

std::size_t page_rounded(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return std::max(page, (bytes + page - 1) / page * page);
}

void print_what_was_asked_for(const pe_state& me) {
  if (me.number != 0) return;
  if (me.settings.version)
    std::fprintf(stderr, "weft %s, OpenSHMEM %d.%d\n", WEFT_VERSION, SHMEM_MAJOR_VERSION,
                 SHMEM_MINOR_VERSION);
  if (me.settings.info)
    std::fprintf(stderr, "weft %s, OpenSHMEM %d.%d, %d PEs; variables of the environment:\n%s",
                 WEFT_VERSION, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION, me.size,
                 settings_text().c_str());
}

std::unique_ptr<team> make_team(communicator ranks) {
  auto t = std::make_unique<team>();
  t->ranks.emplace(std::move(ranks));
  return t;
}

// A heap whose size nobody has chosen is as large as there is room for.
void attach(pe_state& me, const communicator& all) {
  std::size_t bytes = 0;
  me.memory = &rma::initiator::attach(me.rank);
  if (me.settings.symmetric_bytes) {
    bytes = page_rounded(*me.settings.symmetric_bytes);
  } else {
    const std::size_t wanted = reserve_bytes(*me.rank.of);
    bytes = page_rounded(me.memory->bytes_at_most(all, wanted, symmetric_bytes_least));
    if (bytes < wanted) {
      const std::string limit = limit_of_memory();
      me.heap_is_small_for = limit.empty() ? "the system has room for no more" : limit;
    }
  }
  try {
    const rma::region& heap = me.memory->allocate(all, bytes);
    me.symmetric.set(heap, me.memory->expose_globals(all));
  } catch (const error& e) {
    fail("{}; SHMEM_SYMMETRIC_SIZE{} says how many bytes each PE's has", e.what(),
         me.settings.symmetric_bytes ? "" : ", which is not set,");
  }
}

void open(pe_state& me, int level) {
  detail::job& j = *me.rank.of;
  worker& here = *me.rank.home;
  me.thread_level = level;
  me.settings = read_settings();
  me.number = me.rank.number;
  me.size = static_cast<int>(j.places.size());
  // Until this call returns the worker's thread holds the hand-off lock, wherever a PE of the worker asks for it.
  if (level >= SHMEM_THREAD_SERIALIZED) here.share();
  const communicator all(me.rank.shared->world, me.number);
  me.teams.clear();
  me.teams.push_back(make_team(all.dup()));
  if (me.memory == nullptr) attach(me, all);
  if (!me.blocks) me.blocks.emplace(me.symmetric.heap().size());
  // Loads and stores of this PE reach the heaps of these.
  std::vector<int> near;
  for (int pe = 0; pe < me.size; ++pe)
    if (me.symmetric.reaches_heap_of(pe)) near.push_back(pe);
  auto shared = all.create(near);
  if (!shared) fail("the PEs of this node were not found");
  me.teams.push_back(make_team(std::move(*shared)));
  if (static_cast<int>(near.size()) != me.size) me.teams.back()->in_world = std::move(near);
  auto& process = static_cast<process_state&>(*j.faces[face_slot]);
  process.pes[static_cast<std::size_t>(me.number)] = &me;
  me.pes = process.pes.data();
  // Queues and counts stay from one time to the next: messages may be under way.
  if (me.messages.from.empty()) {
    me.messages.from =
        std::vector<published<am_queue*>>(static_cast<std::size_t>(j.workers->worker_count()));
    me.messages.storage.resize(me.messages.from.size());
  }
  share_out_queue(me);  // A PE that leaves the meeting first may send.
  detail::meet(me.teams[0]->ranks->state(), me.number, "shmem_init");
  me.open();
  note_symmetric(me, true);
  me.rank.tell_faces_if_shared();
  print_what_was_asked_for(me);
  here.leave_shared();
}

int opened_with(pe_state& me, int level) {
  if (me.opened++ == 0) open(me, level);
  return me.thread_level;
}

}  // namespace

void init(const char* call, int level) {
  in_call_at_any_time(call, [&](pe_state& me) { (void)opened_with(me, level); });
}

int init_thread(const char* call, int requested, int* provided) {
  return in_call_at_any_time(call, [&](pe_state& me) {
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
      fail("requested is {}: pass one of {}, {}, {} and {}", requested, level_names[0],
           level_names[1], level_names[2], level_names[3]);
    const int level = opened_with(me, requested);
    if (provided != nullptr) *provided = level;
    return 0;
  });
}

void query_thread(const char* call, int* provided) {
  in_call(call, [&](pe_state& me) {
    check_place("provided", provided);
    *provided = me.thread_level;
  });
}

void start(const char* call, int) {
  in_call_at_any_time(call, [](pe_state& me) {
    if (me.opened == 0) (void)opened_with(me, SHMEM_THREAD_SINGLE);
  });
}

void finalize(const char* call) {
  // Some programs call it once more than needed; nothing is left to be done then.
  const auto is_over = [](pe_state& me) { return me.finalized && me.opened == 0; };
  if (in_call_at_any_time(call, is_over)) return;
  in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    if (--me.opened > 0) return;
    end_session(me, call, nullptr);
    quiet(call, SHMEM_CTX_DEFAULT);
    for (const auto& c : me.contexts)
      if (c->of != nullptr) {
        end_session(me, call, c.get());
        me.memory->quiet(c->operations);
        note_quiet(me, c->operations);
      }
    meet(me, world_team(me), "shmem_finalize");
    note_symmetric(me, false);
    me.close();
    me.finalized = true;
    me.contexts.clear();
    me.active_sets.clear();
    me.teams.clear();
  });
}

void global_exit(const char* call, int status) {
  in_call(call, [&](pe_state& me) {
    const std::string text = formatted("shmem_global_exit({}) ends the job", status);
    if (!process::called_by_own_thread()) process::end_foreign_thread("PE", text, status & 0xff);
    me.close();
    me.failed = true;
    throw rank_failure(text, status & 0xff);
  });
}

int my_pe(const char* call) {
  if (const pe_state* const me = usable_state(); me != nullptr) [[likely]]
    return me->number;
  return in_call(call, [](pe_state& me) { return me.number; });
}

int n_pes(const char* call) {
  if (const pe_state* const me = usable_state(); me != nullptr) [[likely]]
    return me->size;
  return in_call(call, [](pe_state& me) { return me.size; });
}

int pe_accessible(const char* call, int pe) {
  return in_call(call, [&](pe_state& me) { return pe >= 0 && pe < me.size ? 1 : 0; });
}

int addr_accessible(const char* call, const void* address, int pe) {
  return in_call(call, [&](pe_state& me) {
    return pe >= 0 && pe < me.size && me.symmetric.has(address) ? 1 : 0;
  });
}

void* pointer_to(const char* call, const void* address, int pe) {
  return in_call(call, [&](pe_state& me) -> void* {
    if (pe < 0 || pe >= me.size || !me.symmetric.has(address)) return nullptr;
    std::byte* const there = me.symmetric.reached(address, 1, 1, pe);
    if (there != nullptr && pe != me.number) me.memory->note_silent_writers();
    return there;
  });
}

void* team_pointer_to(const char* call, shmem_team_t handle, const void* address, int pe) {
  const int number = in_call(call, [&](pe_state& me) {
    const team& t = checked_team(me, handle);
    return pe < 0 || pe >= t.size() ? -1 : t.world_number(pe);
  });
  return pointer_to(call, address, number);
}

void get_version(int* major, int* minor) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}

void get_name(char* name) {
  std::strncpy(name, SHMEM_VENDOR_STRING, SHMEM_MAX_NAME_LEN - 1);
  name[SHMEM_MAX_NAME_LEN - 1] = '\0';
}

void query_initialized(int* initialized) {
  const pe_state* const me = state_of_caller();
  *initialized = me != nullptr && me->usable ? 1 : 0;
  if (worker::current() != nullptr) return;
  // A thread that a PE has made.
  const thread_origin& origin = origin_of_this_thread();
  if (origin.identity == nullptr || !origin.way_in->enter()) return;
  const auto* const maker = static_cast<const pe_state*>(
      static_cast<const detail::rank_state*>(origin.identity)->faces[face_slot].get());
  *initialized = maker != nullptr && maker->usable ? 1 : 0;
  origin.way_in->leave();
}

}  // namespace weft::shmem
