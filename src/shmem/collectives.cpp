// Collectives: those of ranks over the team's communicator. An active set becomes a communicator of its own when it
// is first used, which is kept.
#include <algorithm>
#include <cstring>

#include "collective/collectives.hpp"
#include "collective/exchange.hpp"
#include "collective/new_communicators.hpp"
#include "shmem/core.hpp"
#include "shmem/race_notes.hpp"

namespace weft::shmem {
namespace {

using detail::exchange_plan;
using detail::no_root;
using detail::parts;

std::byte* writable(const void* bytes) noexcept {
  return static_cast<std::byte*>(const_cast<void*>(bytes));  // It is only read.
}

// What is put before a collective, in the default context, is there after it: messages are answered, and PEs that meet see
// the stores that each made before.
void complete(pe_state& me) {
  me.memory->complete(me.operations);
  note_quiet(me, me.operations);
}

team& active_set(pe_state& me, int start, int log_stride, int size) {
  begin_meeting(me);
  const long stride = log_stride >= 0 && log_stride < 31 ? 1l << log_stride : -1;
  if (start < 0 || stride < 0 || size < 1 || start + (size - 1) * stride >= me.size)
    fail(
        "PE_start {}, logPE_stride {}, PE_size {} name PEs that are not there: there are {}, 0 to {}",
        start, log_stride, size, me.size, me.size - 1);
  if ((me.number - start) % stride != 0 || me.number < start ||
      me.number > start + (size - 1) * stride)
    fail("this PE is not in the active set of {} PEs from {} on with stride {}", size, start,
         stride);
  if (size == me.size) return world_team(me);
  std::unique_ptr<team>& set = me.active_sets[{start, log_stride, size}];
  if (set == nullptr) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i)
      ranks[static_cast<std::size_t>(i)] = start + i * static_cast<int>(stride);
    // The lists of two sets that meet at the same time differ in one of these.
    const int tag = (start * 31 + log_stride) & 0xffff;
    auto made = std::make_unique<team>();
    made->ranks.emplace(detail::create_group(world_team(me).ranks->state(), me.number, ranks, tag,
                                             "an active set"));
    made->in_world = std::move(ranks);
    set = std::move(made);
  }
  return *set;
}

// Checks dest and source, which have so many bytes.
void check_arrays(pe_state& me, const void* dest, std::size_t dest_bytes, const void* source,
                  std::size_t source_bytes) {
  check_symmetric(me, "dest", dest, dest_bytes);
  check_symmetric(me, "source", source, source_bytes);
}

void exchange(const char* call, const team& t, const exchange_plan& plan, const parts& give,
              const parts& take) {
  exchange_plan named = plan;
  named.call.name = call;
  detail::exchange(t.ranks->state(), t.ranks->rank(), named, give, take);
}

void alltoall(const char* call, const team& t, void* dest, const void* source, std::size_t block) {
  parts give{0, t.size()};
  give.base = writable(source);
  give.stride = static_cast<std::ptrdiff_t>(block);
  give.bytes = block;
  parts take = give;
  take.base = static_cast<std::byte*>(dest);
  exchange(call, t, {.call = {"", no_root, true, block}, .per_reader = true, .part_bytes = block},
           give, take);
}

void fcollect(const char* call, const team& t, void* dest, const void* source, std::size_t bytes) {
  parts take{0, t.size()};
  take.base = static_cast<std::byte*>(dest);
  take.stride = static_cast<std::ptrdiff_t>(bytes);
  take.bytes = bytes;
  parts give{0, t.size()};
  give.base = writable(source);
  give.bytes = bytes;
  exchange(call, t, {.call = {"", no_root, true, bytes}, .part_bytes = bytes}, give, take);
}

void do_alltoall(pe_state& me, const char* call, const team& t, void* dest, const void* source,
                 std::size_t count, std::size_t element) {
  begin_meeting(me);
  const std::size_t block = checked_bytes(count, element);
  const std::size_t all = checked_bytes(block, static_cast<std::size_t>(t.size()));
  check_arrays(me, dest, all, source, all);
  alltoall(call, t, dest, source, block);
  note_written(me, call, dest, all);
}

void do_alltoalls(pe_state& me, const char* call, const team& t, void* dest, const void* source,
                  std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride, std::size_t count,
                  std::size_t element) {
  begin_meeting(me);
  if (dest_stride < 1 || source_stride < 1)
    fail("dst is {} and sst {}: strides are 1 or more", dest_stride, source_stride);
  const std::size_t elements = checked_bytes(count, static_cast<std::size_t>(t.size()));
  if (elements != 0)
    check_arrays(
        me, dest,
        checked_bytes(elements - 1, static_cast<std::size_t>(dest_stride)) * element + element,
        source,
        checked_bytes(elements - 1, static_cast<std::size_t>(source_stride)) * element + element);
  std::vector<std::byte> out(checked_bytes(elements, element)), in(out.size());
  const auto* const from = static_cast<const std::byte*>(source);
  for (std::size_t i = 0; i < elements; ++i)
    std::memcpy(out.data() + i * element,
                from + i * element * static_cast<std::size_t>(source_stride), element);
  alltoall(call, t, in.data(), out.data(), count * element);
  auto* const to = static_cast<std::byte*>(dest);
  for (std::size_t i = 0; i < elements; ++i)
    std::memcpy(to + i * element * static_cast<std::size_t>(dest_stride), in.data() + i * element,
                element);
}

// It is short: questions about broadcasts carry 23 bytes of it between processes.
constexpr const char* name_of_broadcasts = "shmem_broadcast";

// `root_gets`: the root's dest gets the data, too. The root is a PE of the team or set.
void do_broadcast(pe_state& me, const team& t, void* dest, const void* source, std::size_t count,
                  std::size_t element, int root, bool root_gets) {
  begin_meeting(me);
  if (root < 0 || root >= t.size())
    fail("PE_root {}: the PEs of the team are 0 to {}", root, t.size() - 1);
  const std::size_t bytes = checked_bytes(count, element);
  check_arrays(me, dest, bytes, source, bytes);
  const bool gives = t.ranks->rank() == root;
  detail::broadcast(t.ranks->state(), t.ranks->rank(),
                    std::span(gives ? writable(source) : static_cast<std::byte*>(dest), bytes),
                    root, name_of_broadcasts);
  if (gives && root_gets && bytes != 0) std::memmove(dest, source, bytes);
}

void do_collect(pe_state& me, const char* call, const team& t, void* dest, const void* source,
                std::size_t count, std::size_t element) {
  begin_meeting(me);
  const std::size_t bytes = checked_bytes(count, element);
  check_symmetric(me, "source", source, bytes);
  const auto size = static_cast<std::size_t>(t.size());
  std::vector<std::uint64_t> lengths(size);
  const std::uint64_t own = bytes;
  fcollect(call, t, lengths.data(), &own, sizeof own);
  std::vector<detail::segments> places;
  std::size_t all = 0;
  for (const std::uint64_t length : lengths) {
    places.emplace_back(std::span(static_cast<std::byte*>(dest) + all, length));
    all += length;
  }
  check_symmetric(me, "dest", dest, all);
  parts take{0, t.size()};
  take.laid_out = [](const void* of, int place) {
    return static_cast<const detail::segments*>(of)[place];
  };
  take.of = places.data();
  parts give{0, t.size()};
  give.base = writable(source);
  give.bytes = bytes;
  exchange(call, t, {.call = {"", no_root, false, bytes}, .known = detail::sizes::of_each}, give,
           take);
}

void do_fcollect(pe_state& me, const char* call, const team& t, void* dest, const void* source,
                 std::size_t count, std::size_t element) {
  begin_meeting(me);
  const std::size_t bytes = checked_bytes(count, element);
  check_arrays(me, dest, checked_bytes(bytes, static_cast<std::size_t>(t.size())), source, bytes);
  fcollect(call, t, dest, source, bytes);
  note_written(me, call, dest, checked_bytes(bytes, static_cast<std::size_t>(t.size())));
}

void do_reduce(pe_state& me, const char* call, const team& t, void* dest, const void* source,
               const reduction& how) {
  begin_meeting(me);
  const std::size_t bytes = checked_bytes(how.count, how.element_bytes);
  check_arrays(me, dest, bytes, source, bytes);
  detail::reduce(t.ranks->state(), t.ranks->rank(), source, dest, how, no_root, call);
  note_written(me, call, dest, bytes);
}

}  // namespace

// The PE that meets all others now, where there is nothing to be done before; null: in_call() finds out.
static pe_state* meeting_at_once() noexcept {
  pe_state* const me = usable_state();
  return me != nullptr && me->in_handler == 0 && me->sessions == 0 && !me->rank.home->is_shared()
             ? me
             : nullptr;
}

void barrier_all(const char* call) {
  if (pe_state* const me = meeting_at_once(); me != nullptr && me->operations.is_quiet()) [[likely]]
    return on_fast_path(call, [&] { meet(*me, world_team(*me), call); });
  in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    complete(me);
    meet(me, world_team(me), call);
  });
}
void sync_all(const char* call) {
  if (pe_state* const me = meeting_at_once(); me != nullptr) [[likely]]
    return on_fast_path(call, [&] { meet(*me, world_team(*me), call); });
  in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    meet(me, world_team(me), call);
  });
}
int team_sync(const char* call, shmem_team_t handle) {
  return in_call(call, [&](pe_state& me) {
    if (handle == SHMEM_TEAM_INVALID) return -1;
    begin_meeting(me);
    meet(me, checked_team(me, handle), call);
    return 0;
  });
}
void set_barrier(const char* call, int start, int log_stride, int size) {
  in_call(call, [&](pe_state& me) {
    complete(me);
    meet(me, active_set(me, start, log_stride, size), call);
  });
}
void set_sync(const char* call, int start, int log_stride, int size) {
  in_call(call, [&](pe_state& me) { meet(me, active_set(me, start, log_stride, size), call); });
}

int team_alltoall(const char* call, shmem_team_t handle, void* dest, const void* source,
                  std::size_t count, std::size_t element) {
  return in_call(call, [&](pe_state& me) {
    do_alltoall(me, call, checked_team(me, handle), dest, source, count, element);
    return 0;
  });
}
int team_alltoalls(const char* call, shmem_team_t handle, void* dest, const void* source,
                   std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride, std::size_t count,
                   std::size_t element) {
  return in_call(call, [&](pe_state& me) {
    do_alltoalls(me, call, checked_team(me, handle), dest, source, dest_stride, source_stride,
                 count, element);
    return 0;
  });
}
int team_broadcast(const char* call, shmem_team_t handle, void* dest, const void* source,
                   std::size_t count, std::size_t element, int root) {
  return in_call(call, [&](pe_state& me) {
    do_broadcast(me, checked_team(me, handle), dest, source, count, element, root, true);
    return 0;
  });
}
int team_collect(const char* call, shmem_team_t handle, void* dest, const void* source,
                 std::size_t count, std::size_t element) {
  return in_call(call, [&](pe_state& me) {
    do_collect(me, call, checked_team(me, handle), dest, source, count, element);
    return 0;
  });
}
int team_fcollect(const char* call, shmem_team_t handle, void* dest, const void* source,
                  std::size_t count, std::size_t element) {
  return in_call(call, [&](pe_state& me) {
    do_fcollect(me, call, checked_team(me, handle), dest, source, count, element);
    return 0;
  });
}
void set_alltoall(const char* call, void* dest, const void* source, std::size_t count,
                  std::size_t element, int start, int log_stride, int size) {
  in_call(call, [&](pe_state& me) {
    do_alltoall(me, call, active_set(me, start, log_stride, size), dest, source, count, element);
  });
}
void set_alltoalls(const char* call, void* dest, const void* source, std::ptrdiff_t dest_stride,
                   std::ptrdiff_t source_stride, std::size_t count, std::size_t element, int start,
                   int log_stride, int size) {
  in_call(call, [&](pe_state& me) {
    do_alltoalls(me, call, active_set(me, start, log_stride, size), dest, source, dest_stride,
                 source_stride, count, element);
  });
}
void set_broadcast(const char* call, void* dest, const void* source, std::size_t count,
                   std::size_t element, int root, int start, int log_stride, int size) {
  in_call(call, [&](pe_state& me) {
    do_broadcast(me, active_set(me, start, log_stride, size), dest, source, count, element, root,
                 false);
  });
}
void set_collect(const char* call, void* dest, const void* source, std::size_t count,
                 std::size_t element, int start, int log_stride, int size) {
  in_call(call, [&](pe_state& me) {
    do_collect(me, call, active_set(me, start, log_stride, size), dest, source, count, element);
  });
}
void set_fcollect(const char* call, void* dest, const void* source, std::size_t count,
                  std::size_t element, int start, int log_stride, int size) {
  in_call(call, [&](pe_state& me) {
    do_fcollect(me, call, active_set(me, start, log_stride, size), dest, source, count, element);
  });
}

int reduce_in_team(const char* call, shmem_team_t handle, void* dest, const void* source,
                   const reduction& how) {
  return in_call(call, [&](pe_state& me) {
    do_reduce(me, call, checked_team(me, handle), dest, source, how);
    return 0;
  });
}
void reduce_in_set(const char* call, void* dest, const void* source, const reduction& how,
                   int start, int log_stride, int size) {
  in_call(call, [&](pe_state& me) {
    if (how.count > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      fail("nreduce is {}: it may not be negative", static_cast<int>(how.count));
    do_reduce(me, call, active_set(me, start, log_stride, size), dest, source, how);
  });
}
int scan_in_team(const char* call, shmem_team_t handle, void* dest, const void* source,
                 const reduction& how, bool inclusive) {
  return in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    const team& t = checked_team(me, handle);
    const std::size_t bytes = checked_bytes(how.count, how.element_bytes);
    check_arrays(me, dest, bytes, source, bytes);
    detail::scan(t.ranks->state(), t.ranks->rank(), source, dest, how, inclusive, call);
    if (!inclusive && t.ranks->rank() == 0 && bytes != 0) std::memset(dest, 0, bytes);
    return 0;
  });
}

}  // namespace weft::shmem
