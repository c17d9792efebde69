// Windows: how they are made and freed, memory that is attached or shared, names, groups and hints.
#include "mpi/window/window.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "base/format.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/session.hpp"
#include "mpi/window/race_notes.hpp"
#include "mpi/window/words.hpp"
#include "rank/remote.hpp"
#include "weft/error.hpp"

namespace weft::mpi {

std::string name_of_window(const window_object& w) {
  return w.name.empty() ? formatted("a window without a name ({})", w.ranks->shared->context)
                        : "window " + printable(w.name);
}

void fail_rank_of_window(const window_object& w, int rank) {
  fail(MPI_ERR_RANK, "target rank {}: ranks of {} are 0 to {}, and MPI_PROC_NULL is nobody", rank,
       name_of_window(w), w.size - 1);
}

void fail_assertion(int assertion, int allowed) {
  fail(MPI_ERR_ASSERT, "the assertion {} has bits that this call does not take: it takes {}",
       assertion, allowed);
}

void check_access_slowly(window_object& w, int target) {
  if ((w.open & window_object::started) != 0) {
    if (std::ranges::binary_search(w.targets.ranks, target)) return;
    fail(MPI_ERR_RMA_SYNC, "rank {} is not in the group of MPI_Win_start at {}", target,
         name_of_window(w));
  }
  if (has_lock(w, target)) return;
  fail(
      MPI_ERR_RMA_SYNC,
      "no epoch is open in which this rank may access rank {} of {}: call MPI_Win_fence, MPI_Win_start "
      "or MPI_Win_lock before",
      target, name_of_window(w));
}

void fail_range(const window_object& w, int target, MPI_Aint displacement, std::uint64_t bytes) {
  if (w.flavor == MPI_WIN_FLAVOR_DYNAMIC)
    fail(MPI_ERR_RMA_RANGE,
         "{} bytes at displacement {} are not attached to {} by rank {}: attach them there first",
         bytes, displacement, name_of_window(w), target);
  const auto& extent = w.parts->extent_of(target);
  fail(MPI_ERR_RMA_RANGE,
       "{} bytes at displacement {} in units of {} bytes are beyond the {} bytes of rank {} of {}",
       bytes, displacement, extent.unit, extent.bytes, target, name_of_window(w));
}

namespace {

// --- Hints -----------------------------------------------------------------------------------------

struct hint {
  const char* key;
  const char* value;  // The default.
};
constexpr std::array hints_of_all{hint{"no_locks", "false"},
                                  hint{"accumulate_ordering", "rar,raw,war,waw"},
                                  hint{"accumulate_ops", "same_op_no_op"},
                                  hint{"same_size", "false"},
                                  hint{"same_disp_unit", "false"},
                                  hint{"mpi_accumulate_granularity", "0"}};
constexpr std::array hints_of_allocated{hint{"mpi_minimum_memory_alignment", "64"}};
constexpr std::array hints_of_shared{hint{"alloc_shared_noncontig", "false"}};

// Of what the program gives only known keys are kept.
void set_hints(state& me, window_object& w, MPI_Info info) {
  info_object all;
  all.entries = w.hints;
  for (const auto& [key, value] : checked_hints(me, info))
    if (all.find(key) != nullptr) all.set(key, value);
  w.hints = std::move(all.entries);
}

void set_first_hints(state& me, window_object& w, MPI_Info info) {
  const auto add = [&](const auto& list) {
    for (const hint& h : list) w.hints.emplace_back(h.key, h.value);
  };
  add(hints_of_all);
  if (w.flavor == MPI_WIN_FLAVOR_ALLOCATE || w.flavor == MPI_WIN_FLAVOR_SHARED)
    add(hints_of_allocated);
  if (w.flavor == MPI_WIN_FLAVOR_SHARED) add(hints_of_shared);
  set_hints(me, w, info);
}

bool is_hinted(state& me, MPI_Info info, const char* key) {
  const info_entries given = checked_hints(me, info);
  const auto found = std::ranges::find(given, key, &info_entries::value_type::first);
  return found != given.end() && found->second == "true";
}

// --- Making ----------------------------------------------------------------------------------------

void check_size(MPI_Aint size) {
  if (size < 0) fail(MPI_ERR_SIZE, "size {} is negative: pass 0 or more", size);
}
void check_unit(MPI_Aint unit) {
  if (unit <= 0)
    fail(MPI_ERR_DISP, "the displacement unit is {}: pass the bytes of an element, 1 or more",
         unit);
}

struct wanted_window {
  int flavor;
  void* base = nullptr;
  MPI_Aint bytes = 0;
  MPI_Aint unit = 1;
  bool in_a_row = false;
};

const rma::region& make_parts(window_object& w, const wanted_window& wanted) {
  const weft::communicator& group = w.ranks->ranks;
  const auto bytes = static_cast<std::size_t>(wanted.bytes);
  const auto unit = static_cast<std::size_t>(wanted.unit);
  switch (wanted.flavor) {
    case MPI_WIN_FLAVOR_CREATE:
      return w.memory->expose(group, wanted.base, bytes, unit);
    case MPI_WIN_FLAVOR_DYNAMIC:
      w.attached = std::make_unique<rma::attached_memory>();
      return w.memory->expose_attached(group, *w.attached);
    default:
      return wanted.in_a_row ? w.memory->allocate_in_a_row(group, bytes, unit)
                             : w.memory->allocate(group, bytes, unit);
  }
}

void release_all(window_object& w) {
  const weft::communicator& group = w.ranks->ranks;
  if (w.parts != nullptr) w.memory->release(group, *std::exchange(w.parts, nullptr));
  if (w.words != nullptr) w.memory->release(group, *std::exchange(w.words, nullptr));
}

// All ranks come to the same end.
void make_regions(window_object& w, const wanted_window& wanted) {
  try {
    w.words = &w.memory->allocate(w.ranks->ranks, window_words::bytes(w.size));
    w.parts = &make_parts(w, wanted);
  } catch (const detail::coded_error&) {
    throw;
  } catch (const error& e) {
    if (detail::code_of(e) != detail::no_code) throw;
    release_all(w);
    const bool is_shared = wanted.flavor == MPI_WIN_FLAVOR_SHARED;
    throw failure(is_shared ? MPI_ERR_RMA_SHARED : MPI_ERR_NO_MEM, e.what());
  }
}

void check_all_reached(window_object& w) {
  const auto bases = std::span(w.parts->bases(), static_cast<std::size_t>(w.size));
  int is_reached = 1;
  for (int rank = 0; rank < w.size; ++rank)
    if (w.parts->extent_of(rank).bytes != 0 && bases[static_cast<std::size_t>(rank)] == nullptr)
      is_reached = 0;
  if (w.ranks->ranks.allreduce(is_reached, weft::min{}) != 0) return;
  release_all(w);
  fail(
      MPI_ERR_RMA_SHARED,
      "not all ranks of the communicator reach each other's memory by loads and stores: split it with "
      "MPI_Comm_split_type and MPI_COMM_TYPE_SHARED");
}

// The program's handle is written when all has gone well.
void make_window(state& me, const char* call, const wanted_window& wanted, MPI_Info info,
                 MPI_Comm comm, void* baseptr, MPI_Win* win) {
  check_not_null(win, "win");
  communicator_object& c = checked_intracommunicator(me, comm);
  if (reaches_other_jobs(*c.shared))
    fail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "{} has ranks of another job, which windows do not reach: make the window of ranks of one job",
        text_of(comm));
  check_hints(me, info);
  check_size(wanted.bytes);
  check_unit(wanted.unit);
  *win = MPI_WIN_NULL;
  window_object& w = me.windows.make(with_own_context(me, c, call));
  try {
    w.memory = &rma::initiator::attach(me.rank);
    w.size = w.ranks->ranks.size();
    w.flavor = wanted.flavor;
    make_regions(w, wanted);
    if (wanted.flavor == MPI_WIN_FLAVOR_SHARED && !wanted.in_a_row) check_all_reached(w);
  } catch (...) {
    me.windows.free(w);
    throw;
  }
  w.base = wanted.flavor == MPI_WIN_FLAVOR_DYNAMIC ? MPI_BOTTOM : w.parts->own().data();
  w.bytes = wanted.bytes;
  w.unit = static_cast<int>(wanted.unit);
  if (baseptr != nullptr) *static_cast<void**>(baseptr) = w.base;
  if (w.attached == nullptr) note_exposed(me, w.base, static_cast<std::size_t>(w.bytes));
  set_first_hints(me, w, info);
  *win = handle_of(w);
}

void allocate(state& me, const char* call, int flavor, MPI_Aint size, MPI_Aint unit, MPI_Info info,
              MPI_Comm comm, void* baseptr, MPI_Win* win) {
  check_not_null(baseptr, "baseptr");
  const bool in_a_row =
      flavor == MPI_WIN_FLAVOR_SHARED && !is_hinted(me, info, "alloc_shared_noncontig");
  make_window(me, call, {.flavor = flavor, .bytes = size, .unit = unit, .in_a_row = in_a_row}, info,
              comm, baseptr, win);
}

void create(state& me, const char* call, void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info,
            MPI_Comm comm, MPI_Win* win) {
  if (size > 0 && is_no_memory(base))
    fail(MPI_ERR_BASE, "base is {}: pass the address of {} bytes of memory", text_of(base), size);
  make_window(me, call,
              {.flavor = MPI_WIN_FLAVOR_CREATE, .base = base, .bytes = size, .unit = unit}, info,
              comm, nullptr, win);
}

void free_window(state& me, MPI_Win* win) {
  check_not_null(win, "win");
  window_object& w = checked_window(*win);
  constexpr std::uint8_t explicit_epochs =
      window_object::started | window_object::posted | window_object::locked_all;
  if ((w.open & explicit_epochs) != 0 || !w.locks.empty())
    fail(MPI_ERR_RMA_SYNC, "an epoch is open at {}: end it before MPI_Win_free", name_of_window(w));
  delete_attributes(me, *win, w);
  w.memory->quiet(w.operations);
  note_complete(me, w, -1);
  const void* const exposed = w.attached == nullptr && w.bytes != 0 ? w.base : nullptr;
  release_all(w);
  // Others may have used it until now.
  if (exposed != nullptr) note_hidden(me, exposed);
  if (w.attached != nullptr && races_of(me) != nullptr)  // Still attached.
    w.attached->each([&](const void* begin) { note_hidden(me, begin); });
  set_error_handler(me, w, MPI_ERRORS_ARE_FATAL);
  me.windows.free(w);
  *win = MPI_WIN_NULL;
}

// --- Memory that is attached -----------------------------------------------------------------------

window_object& checked_dynamic(MPI_Win win) {
  window_object& w = checked_window(win);
  if (w.flavor != MPI_WIN_FLAVOR_DYNAMIC)
    fail(MPI_ERR_RMA_FLAVOR, "{} is not made by MPI_Win_create_dynamic", name_of_window(w));
  return w;
}

void attach(const state& me, MPI_Win win, void* base, MPI_Aint size) {
  window_object& w = checked_dynamic(win);
  check_size(size);
  if (size == 0) {
    w.attached_empty.push_back(base);
    return;
  }
  if (is_no_memory(base))
    fail(MPI_ERR_BASE, "base is {}: pass the address of {} bytes of memory", text_of(base), size);
  if (!w.attached->attach(base, static_cast<std::size_t>(size)))
    fail(MPI_ERR_RMA_ATTACH, "{} bytes from {} on overlap memory that is attached to {} already",
         size, text_of(base), name_of_window(w));
  note_exposed(me, base, static_cast<std::size_t>(size));
}

void detach(const state& me, MPI_Win win, const void* base) {
  window_object& w = checked_dynamic(win);
  if (w.attached->detach(base)) return note_hidden(me, base);
  const auto empty = std::ranges::find(w.attached_empty, base);
  if (empty == w.attached_empty.end())
    fail(MPI_ERR_BASE, "nothing that begins at {} is attached to {}", text_of(base),
         name_of_window(w));
  w.attached_empty.erase(empty);
}

// --- Memory that is shared ---------------------------------------------------------------------------

template <class Unit>
void query_shared(MPI_Win win, int rank, MPI_Aint* size, Unit* unit, void* baseptr) {
  check_not_null(size, "size");
  check_not_null(unit, "disp_unit");
  check_not_null(baseptr, "baseptr");
  const window_object& w = checked_window(win);
  if (w.flavor == MPI_WIN_FLAVOR_DYNAMIC)
    fail(MPI_ERR_RMA_FLAVOR, "{} is dynamic: its memory has no base", name_of_window(w));
  if (rank == MPI_PROC_NULL) {  // The first rank that has memory.
    rank = 0;
    while (rank + 1 < w.size && w.parts->extent_of(rank).bytes == 0) ++rank;
  }
  check_rank_of_window(w, rank);
  const auto& extent = w.parts->extent_of(rank);
  std::byte* const base = extent.bytes != 0 ? w.parts->bases()[rank] : nullptr;
  // Of memory that loads and stores do not reach, the standard wants a size of 0.
  *size = base != nullptr ? static_cast<MPI_Aint>(extent.bytes) : 0;
  *unit = static_cast<Unit>(extent.unit);
  *static_cast<void**>(baseptr) = base;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

#define WEFT_MPI_WINDOW_MAKERS(suffix, unit_type)                                                  \
  WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_create##suffix,                                           \
                            (void* base, MPI_Aint size, unit_type disp_unit, MPI_Info info,        \
                             MPI_Comm comm, MPI_Win* win)) {                                       \
    return in_call(                                                                                \
        "MPI_Win_create" #suffix, comm,                                                            \
        [&](state& me) {                                                                           \
          create(me, "MPI_Win_create" #suffix, base, size, disp_unit, info, comm, win);            \
        },                                                                                         \
        static_cast<const void*>(base), size, disp_unit, info, comm);                              \
  }                                                                                                \
  WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_allocate##suffix,                                         \
                            (MPI_Aint size, unit_type disp_unit, MPI_Info info, MPI_Comm comm,     \
                             void* baseptr, MPI_Win* win)) {                                       \
    return in_call(                                                                                \
        "MPI_Win_allocate" #suffix, comm,                                                          \
        [&](state& me) {                                                                           \
          allocate(me, "MPI_Win_allocate" #suffix, MPI_WIN_FLAVOR_ALLOCATE, size, disp_unit, info, \
                   comm, baseptr, win);                                                            \
        },                                                                                         \
        size, disp_unit, info, comm);                                                              \
  }                                                                                                \
  WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_allocate_shared##suffix,                                  \
                            (MPI_Aint size, unit_type disp_unit, MPI_Info info, MPI_Comm comm,     \
                             void* baseptr, MPI_Win* win)) {                                       \
    return in_call(                                                                                \
        "MPI_Win_allocate_shared" #suffix, comm,                                                   \
        [&](state& me) {                                                                           \
          allocate(me, "MPI_Win_allocate_shared" #suffix, MPI_WIN_FLAVOR_SHARED, size, disp_unit,  \
                   info, comm, baseptr, win);                                                      \
        },                                                                                         \
        size, disp_unit, info, comm);                                                              \
  }                                                                                                \
  WEFT_MPI_FUNCTION(                                                                               \
      int, MPI_Win_shared_query##suffix,                                                           \
      (MPI_Win win, int rank, MPI_Aint* size, unit_type* disp_unit, void* baseptr)) {              \
    return in_call(                                                                                \
        "MPI_Win_shared_query" #suffix, win,                                                       \
        [&](state&) { query_shared(win, rank, size, disp_unit, baseptr); }, win, rank);            \
  }

WEFT_MPI_WINDOW_MAKERS(, int)
WEFT_MPI_WINDOW_MAKERS(_c, MPI_Aint)

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_create_dynamic,
                          (MPI_Info info, MPI_Comm comm, MPI_Win* win)) {
  return in_call(
      "MPI_Win_create_dynamic", comm,
      [&](state& me) {
        make_window(me, "MPI_Win_create_dynamic", {.flavor = MPI_WIN_FLAVOR_DYNAMIC}, info, comm,
                    nullptr, win);
      },
      info, comm);
}

WEFT_MPI_WAITING_FUNCTION(int, MPI_Win_free, (MPI_Win * win)) {
  return in_call(
      "MPI_Win_free", win == nullptr ? MPI_WIN_NULL : *win,
      [&](state& me) { free_window(me, win); }, win == nullptr ? MPI_WIN_NULL : *win);
}

WEFT_MPI_FUNCTION(int, MPI_Win_attach, (MPI_Win win, void* base, MPI_Aint size)) {
  return in_call(
      "MPI_Win_attach", win, [&](state& me) { attach(me, win, base, size); }, win,
      static_cast<const void*>(base), size);
}

WEFT_MPI_FUNCTION(int, MPI_Win_detach, (MPI_Win win, const void* base)) {
  return in_call(
      "MPI_Win_detach", win, [&](state& me) { detach(me, win, base); }, win, base);
}

WEFT_MPI_FUNCTION(int, MPI_Win_get_group, (MPI_Win win, MPI_Group* group)) {
  return in_call(
      "MPI_Win_get_group", win,
      [&](state& me) {
        check_not_null(group, "group");
        const communicator_object& c = *checked_window(win).ranks;
        *group = make_group(me, local_ranks(c), c.session);
      },
      win);
}

WEFT_MPI_FUNCTION(int, MPI_Win_set_name, (MPI_Win win, const char* win_name)) {
  return in_call(
      "MPI_Win_set_name", win,
      [&](state&) {
        check_not_null(win_name, "win_name");
        checked_window(win).name =
            std::string(win_name, strnlen(win_name, MPI_MAX_OBJECT_NAME - 1));
      },
      win, win_name);
}

WEFT_MPI_FUNCTION(int, MPI_Win_get_name, (MPI_Win win, char* win_name, int* resultlen)) {
  return in_call(
      "MPI_Win_get_name", win,
      [&](state&) {
        check_not_null(win_name, "win_name");
        check_not_null(resultlen, "resultlen");
        const std::string name = win == MPI_WIN_NULL ? "MPI_WIN_NULL" : checked_window(win).name;
        std::memcpy(win_name, name.c_str(), name.size() + 1);
        *resultlen = static_cast<int>(name.size());
      },
      win);
}

WEFT_MPI_FUNCTION(int, MPI_Win_set_info, (MPI_Win win, MPI_Info info)) {
  return in_call(
      "MPI_Win_set_info", win, [&](state& me) { set_hints(me, checked_window(win), info); }, win,
      info);
}

WEFT_MPI_FUNCTION(int, MPI_Win_get_info, (MPI_Win win, MPI_Info* info_used)) {
  return in_call(
      "MPI_Win_get_info", win,
      [&](state& me) {
        check_not_null(info_used, "info_used");
        const window_object& w = checked_window(win);
        info_object& made = me.infos.make();
        made.entries = w.hints;
        tell_memory_kinds(me, w.ranks->session, made);
        *info_used = handle_of(made);
      },
      win);
}
