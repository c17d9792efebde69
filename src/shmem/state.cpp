#include "shmem/state.hpp"

#include <limits>

#include "collective/collectives.hpp"
#include "shmem/core.hpp"

namespace weft::shmem {
namespace {

std::unique_ptr<detail::face_job> begin_process(detail::job& j, detail::handler_numbers& handlers) {
  auto process = std::make_unique<process_state>(j);
  if (handlers.between() != nullptr) add_am_handlers(handlers, *process);
  return process;
}

constexpr detail::face as_face{face_slot, "OpenSHMEM", {}, &begin_process};
[[maybe_unused]] const std::size_t registered = detail::register_face(as_face);

// Returns the state of the calling rank, which its first call makes; null when the caller is no rank.
pe_state* find_or_make() {
  void* const caller = worker::caller();
  if (caller == nullptr) return nullptr;
  auto& rank = *static_cast<detail::rank_state*>(caller);
  auto& face = rank.faces[face_slot];
  if (face == nullptr) face = std::make_unique<pe_state>(rank);
  return static_cast<pe_state*>(face.get());
}

}  // namespace

process_state::process_state(detail::job& j) : of(j), pes(j.places.size()) {}

entrance::entrance() {
  if (worker* const here = worker::current(); here != nullptr) {
    if (worker::caller() == nullptr) return;
    entered_ = here->enter_shared();
    me_ = find_or_make();
    return;
  }
  const thread_origin& origin = origin_of_this_thread();
  if (origin.identity == nullptr || !origin.way_in->enter()) return;
  auto* const s = static_cast<pe_state*>(
      static_cast<detail::rank_state*>(origin.identity)->faces[face_slot].get());
  if (s == nullptr || !s->usable || s->thread_level < SHMEM_THREAD_SERIALIZED) {
    origin.way_in->leave();
    return;
  }
  attached_thread_.emplace(origin);
  me_ = s;
}

entrance::~entrance() {
  if (entered_) worker::current()->leave_shared();
}

pe_state& entrance::any_state() const {
  if (me_ != nullptr) return *me_;
  if (worker::current() == nullptr) {
    const thread_origin& origin = origin_of_this_thread();
    if (origin.identity != nullptr)
      fail(
          "a thread that PE {} has made called: ask for SHMEM_THREAD_MULTIPLE in shmem_init_thread, and "
          "call between that and shmem_finalize",
          origin.number);
    fail("this process has no PEs: link the program with oshcc or oshc++, start it with oshrun");
  }
  fail(
      "the caller is no PE: a chunk of a loop, a task, or code outside of ranks may not call this");
}

pe_state& entrance::open_state() const {
  pe_state& me = any_state();
  if (me.usable) [[likely]]
    return me;
  if (me.failed) throw rank_failure("the job ends after an error", 1);
  if (me.finalized) fail("OpenSHMEM has been finalised: call shmem_finalize after everything else");
  fail("OpenSHMEM is not initialised yet: call shmem_init first");
}

team& checked_team(pe_state& me, shmem_team_t handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const std::size_t index = (value & 0xffff'ffff) - 1;
  if (index < me.teams.size() && me.teams[index] != nullptr &&
      me.teams[index]->generation == value >> 32) [[likely]]
    return *me.teams[index];
  if (handle == SHMEM_TEAM_INVALID)
    fail("team is SHMEM_TEAM_INVALID: this PE is no member of it, or it was not made");
  fail("team 0x{:x} is no team of this PE, or has been destroyed", value);
}

context* checked_context(pe_state& me, shmem_ctx_t handle) {
  if (handle == SHMEM_CTX_DEFAULT) return nullptr;
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const std::size_t index = (value & 0xffff'ffff) - 2;
  if (index < me.contexts.size() && me.contexts[index]->of != nullptr &&
      me.contexts[index]->generation == value >> 32) [[likely]]
    return me.contexts[index].get();
  if (handle == SHMEM_CTX_INVALID)
    fail("ctx is SHMEM_CTX_INVALID: shmem_ctx_create did not make it; look at what that returned");
  fail("ctx 0x{:x} is no context of this PE, or has been destroyed", value);
}

int checked_pe(pe_state& me, const context* c, int pe) {
  const int size = c == nullptr ? me.size : c->of->size();
  if (pe < 0 || pe >= size) [[unlikely]]
    fail("pe {}: {} {} PEs, which are 0 to {}", pe,
         c == nullptr ? "there are" : "the context's team has", size, size - 1);
  return c == nullptr ? pe : c->of->world_number(pe);
}

rma::context& operations_of(pe_state& me, context* c) noexcept {
  return c == nullptr ? me.operations : c->operations;
}

void check_symmetric(const pe_state& me, const char* argument, const void* address,
                     std::size_t bytes) {
  (void)checked_location(me, argument, address, bytes, me.number);
}

rma::location checked_location(const pe_state& me, const char* argument, const void* address,
                               std::size_t bytes, int pe) {
  const rma::location found = me.symmetric.find(address, bytes, pe);
  if (bytes == 0 || found.in != nullptr) [[likely]]
    return found;
  if (address == nullptr)
    fail("{} is a null pointer: pass an address that shmem_malloc returned, or that of a global",
         argument);
  if (me.symmetric.has(address))
    fail("{} {} with {} bytes goes beyond the end of the symmetric memory", argument, address,
         bytes);
  fail(
      "{} {} is not symmetric: pass an address that shmem_malloc returned, or that of a global or static "
      "variable of a program of oshcc, not one on the stack or from malloc",
      argument, address);
}

void note_write(pe_state& me, int pe, const void* symmetric, std::size_t bytes) {
  if (bytes == 0) return;
  if (me.rank.of->checks != nullptr) me.memory->note_writer(me.symmetric.at(symmetric, pe), bytes);
  if (!tracing()) return;
  profile::put(me.number, pe, bytes);
  // A PE waits for words of at most 8 bytes. Long data are no flags: their ends are enough.
  constexpr std::uint64_t granule = 8, granules_max = 8;
  const std::uint64_t begin = me.symmetric.name_of(symmetric);
  const std::uint64_t first = begin / granule, last = (begin + bytes - 1) / granule;
  const auto leave = [&](std::uint64_t word) {
    profile::leave_cause(me.number, profile::key_of_word(pe, word));
  };
  if (last - first < granules_max) {
    for (std::uint64_t word = first; word <= last; ++word) leave(word);
  } else {
    leave(first);
    leave(last);
  }
}

void check_place(const char* argument, const void* place) {
  if (place == nullptr) fail("{} is a null pointer: pass the address of a variable", argument);
}

const void* this_thread() noexcept {
  static thread_local char mark;
  return &mark;
}

void check_not_in_handler(const pe_state& me) {
  if (me.in_handler != 0 &&
      (me.messages.handled_by == nullptr || me.messages.handled_by == this_thread())) [[unlikely]]
    fail(
        "called in a handler of an active message, which may put, get, use atomics, fence, quiet and send: call "
        "this where shmemx_am_poll or shmemx_am_wait has returned");
}

std::size_t checked_bytes(std::size_t count, std::size_t element) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, element, &bytes) ||
      bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) [[unlikely]]
    fail("{} elements of {} bytes are beyond all memory", count, element);
  return bytes;
}

void meet(pe_state&, const team& t, const char* name) {
  detail::meet(t.ranks->state(), t.ranks->rank(), name);
}

void note_look(pe_state& me) {
  if (--me.looks_left > 0) return;
  me.looks_left = looks_in_a_row_max;
  send_all_gathered(me, "what a session has gathered");
  me.rank.home->check_stopped();
  me.memory->poll();
}

void pe_state::ended() {
  if (opened == 0 || failed) return;
  opened = 1;
  finalize("shmem_finalize at the end of the program");
}

}  // namespace weft::shmem
