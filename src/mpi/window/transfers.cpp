// MPI_Put and MPI_Get. Where loads and stores reach the target they are copies that are complete on return. Elsewhere each block
// of the target is an operation of rma; a put has copied its data on return, a get's are there after the next flush.
#include <cstring>
#include <memory>

#include "mpi/datatype/data.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/window/race_notes.hpp"
#include "mpi/window/target.hpp"
#include "mpi/window/window.hpp"
#include "rank/segment_copy.hpp"

namespace weft::mpi {
namespace {

template <class Buffer>
struct origin_data {
  Buffer* buffer;
  MPI_Count count;
  MPI_Datatype type;
};

// Who makes a transfer.
struct transfer_call {
  state& me;
  const char* name;
  const void* request = nullptr;  // transfer_request::key().
  [[nodiscard, gnu::always_inline]] bool is_noted() const noexcept {
    return races_of(me) != nullptr;
  }
};

// In a checked job: what a transfer uses, when its blocks are bytes in a row; `at` is null where no load reaches it.
[[gnu::noinline, gnu::cold]] void note_row(const transfer_call& by, const window_object& w,
                                           int target, const void* at, const void* here,
                                           std::size_t bytes, diagnosis::use_kind kind) {
  if (at == nullptr) return;
  const transfer_note note(by.me, w, target, by.name, by.request);
  note.at_origin(here, bytes, kind == diagnosis::use_kind::get);
  note.at_target(at, bytes, kind);
}
// The same for layouts. Blocks that are not there are left to the transfer, which refuses them.
[[gnu::noinline, gnu::cold]] void note_layout(const transfer_call& by, const window_object& w,
                                              int target, const detail::segments& there,
                                              const detail::segments& here,
                                              diagnosis::use_kind kind) {
  const transfer_note note(by.me, w, target, by.name, by.request);
  note.at_origin(here, kind == diagnosis::use_kind::get);
  each_block(there, [&](const std::byte* block, std::size_t bytes) {
    const rma::location at{w.parts, target, reinterpret_cast<std::uintptr_t>(block)};
    if (const std::byte* const found = w.parts->reached_or_attached(at, bytes); found != nullptr)
      note.at_target(found, bytes, kind);
  });
}

// The bytes of both sides when they lie in a row; no_row: look closer.
constexpr std::size_t no_row = ~std::size_t{0};
[[gnu::always_inline]] inline std::size_t bytes_in_a_row(MPI_Count origin_count,
                                                         MPI_Datatype origin_type, MPI_Count count,
                                                         MPI_Datatype type) noexcept {
  const std::size_t here = size_without_gaps(origin_type);
  const std::size_t there = size_without_gaps(type);
  constexpr auto most = MPI_Count{1} << 48;
  if (here == 0 || there == 0 || origin_count < 0 || count < 0 || origin_count > most ||
      count > most) [[unlikely]]
    return no_row;
  const std::size_t bytes = here * static_cast<std::size_t>(origin_count);
  return bytes == there * static_cast<std::size_t>(count) ? bytes : no_row;
}

[[gnu::always_inline]] inline void copy(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes == 8) [[likely]]
    std::memcpy(to, from, 8);
  else
    std::memmove(to, from, bytes);
}

void check_same_size(std::size_t here, std::size_t there) {
  if (here != there)
    fail(MPI_ERR_TYPE,
         "the origin has {} bytes of data and the target {}: both must be of one kind", here,
         there);
}

// All blocks of the target, where loads and stores reach everything from the first byte to the last; null: they do not.
std::byte* reached_whole(const window_object& w, int target, const target_layout& there,
                         MPI_Count count) noexcept {
  const datatype_object& t = there.type;
  const std::ptrdiff_t steps = static_cast<std::ptrdiff_t>(count - 1) * t.extent;
  const std::ptrdiff_t begin = t.true_lower + std::min<std::ptrdiff_t>(steps, 0);
  const std::ptrdiff_t end = t.true_lower + t.true_extent + std::max<std::ptrdiff_t>(steps, 0);
  const rma::location first{w.parts, target, there.offset + static_cast<std::uint64_t>(begin)};
  std::byte* const at = w.parts->reached(first, static_cast<std::size_t>(end - begin));
  return at == nullptr ? nullptr : at - begin;
}

[[gnu::noinline]] void put_slowly(const transfer_call& by, window_object& w,
                                  const origin_data<const void>& from, int target,
                                  MPI_Aint displacement, MPI_Count count, MPI_Datatype type) {
  check_count(from.count);
  check_count(count);
  const datatype_object& own = committed_datatype(from.type);
  const datatype_object& theirs = committed_datatype(type);
  check_same_size(bytes_of(from.count, own), bytes_of(count, theirs));
  if (bytes_of(count, theirs) == 0) return;
  const target_layout there(w, target, displacement, count, theirs);
  with_data(from.buffer, from.count, own, [&](const auto& data) {
    const detail::segments source(data);
    if (by.is_noted()) note_layout(by, w, target, there.blocks, source, diagnosis::use_kind::put);
    if (std::byte* const at = reached_whole(w, target, there, count); at != nullptr)
      return detail::copy_segments(
          theirs.where.placed(at, {static_cast<std::size_t>(count), theirs.extent}), source, 0,
          source.size());
    std::unique_ptr<std::byte[]> packed;
    const std::byte* next = nullptr;
    if (source.contiguous()) {
      next = source.flat().data();
    } else {
      packed = std::make_unique_for_overwrite<std::byte[]>(source.size());
      detail::copy_segments(detail::segments({packed.get(), source.size()}), source, 0,
                            source.size());
      next = packed.get();
    }
    const auto location_of = [&](const std::byte* block) {
      return rma::location{w.parts, target, reinterpret_cast<std::uintptr_t>(block)};
    };
    // Nothing is written when one of the blocks is not there.
    each_block(there.blocks, [&](const std::byte* block, std::size_t bytes) {
      (void)reached_in(w, location_of(block), bytes, displacement);
    });
    each_block(there.blocks, [&](const std::byte* block, std::size_t bytes) {
      const rma::location to = location_of(block);
      if (std::byte* const at = reached_in(w, to, bytes, displacement); at != nullptr)
        std::memmove(at, next, bytes);
      else
        w.memory->put(w.operations, to, next, bytes);
      next += bytes;
    });
  });
}

[[gnu::noinline]] void get_slowly(const transfer_call& by, window_object& w,
                                  const origin_data<void>& to, int target, MPI_Aint displacement,
                                  MPI_Count count, MPI_Datatype type) {
  check_count(to.count);
  check_count(count);
  const datatype_object& own = committed_datatype(to.type);
  const datatype_object& theirs = committed_datatype(type);
  check_same_size(bytes_of(to.count, own), bytes_of(count, theirs));
  if (bytes_of(count, theirs) == 0) return;
  const target_layout there(w, target, displacement, count, theirs);
  with_data(to.buffer, to.count, own, [&](const auto& data) {
    const detail::segments into(data);
    if (by.is_noted()) note_layout(by, w, target, there.blocks, into, diagnosis::use_kind::get);
    if (std::byte* const at = reached_whole(w, target, there, count); at != nullptr)
      return detail::copy_segments(
          into, theirs.where.placed(at, {static_cast<std::size_t>(count), theirs.extent}), 0,
          into.size());
    std::unique_ptr<std::byte[]> packed;
    if (!into.contiguous()) packed = std::make_unique_for_overwrite<std::byte[]>(into.size());
    std::byte* next = packed != nullptr ? packed.get() : into.flat().data();
    each_block(there.blocks, [&](const std::byte* block, std::size_t bytes) {
      const rma::location from{w.parts, target, reinterpret_cast<std::uintptr_t>(block)};
      if (const std::byte* const at = reached_in(w, from, bytes, displacement); at != nullptr)
        std::memmove(next, at, bytes);
      else
        w.memory->get_nbi(w.operations, next, from, bytes);
      next += bytes;
    });
    if (packed == nullptr) return;
    w.memory->complete(w.operations);
    detail::copy_segments(into, detail::segments({packed.get(), into.size()}), 0, into.size());
  });
}

[[gnu::always_inline]] inline void put(const transfer_call& by, window_object& w,
                                       const origin_data<const void>& from, int target,
                                       MPI_Aint displacement, MPI_Count count, MPI_Datatype type) {
  if (!may_access(w, target)) return;
  const std::size_t bytes = bytes_in_a_row(from.count, from.type, count, type);
  if (bytes == no_row || is_no_memory(from.buffer)) [[unlikely]]
    return put_slowly(by, w, from, target, displacement, count, type);
  if (bytes == 0) return;
  const rma::location to = w.parts->at(target, static_cast<std::uint64_t>(displacement));
  std::byte* const at = reached_in(w, to, bytes, displacement);
  if (by.me.rank.watch != nullptr) [[unlikely]]
    if (by.is_noted()) note_row(by, w, target, at, from.buffer, bytes, diagnosis::use_kind::put);
  if (at != nullptr) [[likely]]
    copy(at, from.buffer, bytes);
  else
    w.memory->put(w.operations, to, from.buffer, bytes);
}

[[gnu::always_inline]] inline void get(const transfer_call& by, window_object& w,
                                       const origin_data<void>& to, int target,
                                       MPI_Aint displacement, MPI_Count count, MPI_Datatype type) {
  if (!may_access(w, target)) return;
  const std::size_t bytes = bytes_in_a_row(to.count, to.type, count, type);
  if (bytes == no_row || is_no_memory(to.buffer)) [[unlikely]]
    return get_slowly(by, w, to, target, displacement, count, type);
  if (bytes == 0) return;
  const rma::location from = w.parts->at(target, static_cast<std::uint64_t>(displacement));
  const std::byte* const at = reached_in(w, from, bytes, displacement);
  if (by.me.rank.watch != nullptr) [[unlikely]]
    if (by.is_noted()) note_row(by, w, target, at, to.buffer, bytes, diagnosis::use_kind::get);
  if (at != nullptr) [[likely]]
    copy(to.buffer, at, bytes);
  else
    w.memory->get_nbi(w.operations, to.buffer, from, bytes);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

#define WEFT_MPI_TRANSFERS(suffix, count_type)                                                   \
  WEFT_MPI_FUNCTION(int, MPI_Put##suffix,                                                        \
                    (const void* origin_addr, count_type origin_count,                           \
                     MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,        \
                     count_type target_count, MPI_Datatype target_datatype, MPI_Win win)) {      \
    return in_call(                                                                              \
        "MPI_Put" #suffix, win,                                                                  \
        [&](state& me) {                                                                         \
          put({me, "MPI_Put" #suffix}, checked_window(win),                                      \
              {origin_addr, origin_count, origin_datatype}, target_rank, target_disp,            \
              target_count, target_datatype);                                                    \
        },                                                                                       \
        origin_addr, static_cast<long>(origin_count), origin_datatype, target_rank, target_disp, \
        static_cast<long>(target_count), target_datatype, win);                                  \
  }                                                                                              \
  WEFT_MPI_FUNCTION(int, MPI_Get##suffix,                                                        \
                    (void* origin_addr, count_type origin_count, MPI_Datatype origin_datatype,   \
                     int target_rank, MPI_Aint target_disp, count_type target_count,             \
                     MPI_Datatype target_datatype, MPI_Win win)) {                               \
    return in_call(                                                                              \
        "MPI_Get" #suffix, win,                                                                  \
        [&](state& me) {                                                                         \
          get({me, "MPI_Get" #suffix}, checked_window(win),                                      \
              {origin_addr, origin_count, origin_datatype}, target_rank, target_disp,            \
              target_count, target_datatype);                                                    \
        },                                                                                       \
        static_cast<const void*>(origin_addr), static_cast<long>(origin_count), origin_datatype, \
        target_rank, target_disp, static_cast<long>(target_count), target_datatype, win);        \
  }                                                                                              \
  WEFT_MPI_FUNCTION(                                                                             \
      int, MPI_Rput##suffix,                                                                     \
      (const void* origin_addr, count_type origin_count, MPI_Datatype origin_datatype,           \
       int target_rank, MPI_Aint target_disp, count_type target_count,                           \
       MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request)) {                       \
    return in_call(                                                                              \
        "MPI_Rput" #suffix, win,                                                                 \
        [&](state& me) {                                                                         \
          check_not_null(request, "request");                                                    \
          transfer_request made(me, "MPI_Rput" #suffix);                                         \
          put({me, "MPI_Rput" #suffix, made.key()}, checked_window(win),                         \
              {origin_addr, origin_count, origin_datatype}, target_rank, target_disp,            \
              target_count, target_datatype);                                                    \
          *request = made.give();                                                                \
        },                                                                                       \
        origin_addr, static_cast<long>(origin_count), origin_datatype, target_rank, target_disp, \
        static_cast<long>(target_count), target_datatype, win);                                  \
  }                                                                                              \
  WEFT_MPI_FUNCTION(int, MPI_Rget##suffix,                                                       \
                    (void* origin_addr, count_type origin_count, MPI_Datatype origin_datatype,   \
                     int target_rank, MPI_Aint target_disp, count_type target_count,             \
                     MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request)) {         \
    return in_call(                                                                              \
        "MPI_Rget" #suffix, win,                                                                 \
        [&](state& me) {                                                                         \
          check_not_null(request, "request");                                                    \
          window_object& w = checked_window(win);                                                \
          transfer_request made(me, "MPI_Rget" #suffix);                                         \
          get({me, "MPI_Rget" #suffix, made.key()}, w,                                           \
              {origin_addr, origin_count, origin_datatype}, target_rank, target_disp,            \
              target_count, target_datatype);                                                    \
          w.memory->complete(w.operations); /* The request is complete when it is made. */       \
          *request = made.give();                                                                \
        },                                                                                       \
        static_cast<const void*>(origin_addr), static_cast<long>(origin_count), origin_datatype, \
        target_rank, target_disp, static_cast<long>(target_count), target_datatype, win);        \
  }

WEFT_MPI_TRANSFERS(, int)
WEFT_MPI_TRANSFERS(_c, MPI_Count)
