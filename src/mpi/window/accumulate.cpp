// MPI_Accumulate and its kin. All of them change elements by one way, rma's updates of elements: so each is atomic to each other
// one, whatever the operation and the datatype are, and by whatever way it comes.
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "mpi/datatype/data.hpp"
#include "mpi/datatype/datatype_elements.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/window/race_notes.hpp"
#include "mpi/window/target.hpp"
#include "mpi/window/window.hpp"
#include "rma/element_update.hpp"

namespace weft::mpi {
namespace {

// --- Updates, by operation and datatype --------------------------------------------------------------

constexpr std::uint32_t operation_bits = 0x1f;
constexpr int operation_bit = 8;
constexpr std::uintptr_t operation_handles = 0x20;
// Of an update that is no operation: MPI_Compare_and_swap. MPI_OP_NULL has these bits.
constexpr std::uint32_t compare_and_swap = 0;

rma::element_update update_of(std::uint32_t operation, std::uint32_t type_bits) noexcept;

rma::element_update find_update(std::uint32_t name) noexcept {
  return update_of(name >> operation_bit & operation_bits, name & 0xff);
}
const std::uint8_t update_owner = rma::register_element_updates(&find_update);

rma::element_update update_of(std::uint32_t operation, std::uint32_t type_bits) noexcept {
  const datatype_object& type = predefined_types[type_bits];
  if (type.kind != object_kind::datatype || type.size == 0) return {};
  const auto handle = reinterpret_cast<MPI_Datatype>(std::uintptr_t{0x200} | type_bits);
  const auto op = reinterpret_cast<MPI_Op>(operation_handles | operation);
  rma::element_update made;
  made.name = std::uint32_t{update_owner} << rma::element_owner_bit | operation << operation_bit |
              type_bits;
  made.alignment = static_cast<std::uint32_t>(type.alignment);
  const auto bytes = static_cast<std::uint32_t>(type.extent);
  made.operand_bytes = bytes;
  if (operation == compare_and_swap) {
    // Integers, logical values and bytes: those that have one of these operations.
    if (find_combine(MPI_BAND, handle).combine == nullptr &&
        find_combine(MPI_LAND, handle).combine == nullptr)
      return {};
    made.change = rma::element_change::compare_swap;
    made.operand_bytes = 2 * bytes;
  } else if (op == MPI_NO_OP) {
    made.operand_bytes = 0;
  } else if (op == MPI_REPLACE) {
    made.change = rma::element_change::replace;
  } else {
    made.change = rma::element_change::combine;
    made.combine = find_combine(op, handle).combine;
    if (made.combine == nullptr) return {};
  }
  made.element_bytes = bytes;
  return made;
}

rma::element_update checked_update(MPI_Op op, const datatype_object& basic) {
  if (value_of(op) >> 5 != 1 || op == MPI_OP_NULL) {
    if (find_object<operation_object>(op) != nullptr)
      fail(MPI_ERR_OP, "{} is an operation of the program: accumulates take predefined ones alone",
           text_of(op));
    if (op == MPI_OP_NULL) fail(MPI_ERR_OP, "the operation is MPI_OP_NULL");
    fail(MPI_ERR_OP, "{} is no operation", text_of(op));
  }
  const MPI_Datatype type = predefined_handle(basic);
  const rma::element_update found =
      update_of(static_cast<std::uint32_t>(value_of(op)) & operation_bits,
                static_cast<std::uint32_t>(value_of(type)) & 0xff);
  if (!found.is_defined()) fail(MPI_ERR_OP, "{} is not defined for {}", text_of(op), text_of(type));
  return found;
}

// --- Elements ------------------------------------------------------------------------------------------

const datatype_object& checked_basic(const datatype_object& type, MPI_Datatype handle) {
  if (const datatype_object* const basic = find_only_basic(type); basic != nullptr) return *basic;
  fail(MPI_ERR_TYPE, "{} has elements of several predefined datatypes: accumulates take one",
       text_of(handle));
}

// Calls visit(address, index of the first, how many) for each row of elements, which lie one extent of `basic` behind the other.
template <class Visit>
void each_row(const detail::segments& where, const datatype_object& basic, const Visit& visit) {
  std::size_t before = 0;  // Bytes of data.
  each_block(where, [&](std::byte* at, std::size_t bytes) {
    if (basic.contiguous) {
      visit(at, before / basic.size, bytes / basic.size);
    } else {
      for (std::size_t first = (before + basic.size - 1) / basic.size * basic.size;
           first < before + bytes; first += basic.size)
        visit(at + (first - before), first / basic.size, std::size_t{1});
    }
    before += bytes;
  });
}

// Elements of the origin, one extent of the basic datatype behind the other: where they lie so, or a copy.
class elements_in_a_row {
 public:
  elements_in_a_row(const void* buffer, MPI_Count count, MPI_Datatype handle,
                    const datatype_object& type, const datatype_object& basic)
      : basic_(basic) {
    bytes_ = bytes_of(count, type) / basic.size * static_cast<std::size_t>(basic.extent);
    if (bytes_ == 0) return;
    if (is_no_memory(buffer) && type.contiguous) fail_buffer(buffer, type);
    if (&type == &basic || is_predefined(handle)) {
      at_ = static_cast<std::byte*>(const_cast<void*>(buffer));
      return;
    }
    where_ = type.where.placed(buffer, {static_cast<std::size_t>(count), type.extent});
    if (where_.contiguous() && basic.contiguous) {
      at_ = where_.flat().data();
      return;
    }
    copy_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    at_ = copy_.get();
  }

  void copy_in() {
    if (copy_ != nullptr)
      each_row(where_, basic_, [&](const std::byte* from, std::size_t first, std::size_t count) {
        std::memcpy(at_ + first * extent(), from, row_bytes(count));
      });
  }
  void copy_out() {
    if (copy_ != nullptr)
      each_row(where_, basic_, [&](std::byte* to, std::size_t first, std::size_t count) {
        std::memcpy(to, at_ + first * extent(), row_bytes(count));
      });
  }
  [[nodiscard]] bool is_copy() const noexcept { return copy_ != nullptr; }
  [[nodiscard]] std::byte* data() const noexcept { return at_; }

 private:
  [[nodiscard]] std::size_t extent() const noexcept {
    return static_cast<std::size_t>(basic_.extent);
  }
  [[nodiscard]] std::size_t row_bytes(std::size_t count) const noexcept {
    return (count - 1) * extent() + static_cast<std::size_t>(basic_.true_extent);
  }

  const datatype_object& basic_;
  std::size_t bytes_ = 0;
  std::byte* at_ = nullptr;
  detail::segments where_;
  std::unique_ptr<std::byte[]> copy_;
};

struct elements_of {
  const void* buffer;
  MPI_Count count;
  MPI_Datatype type;
};

// How many elements a side has; throws when they are not those of `basic`.
std::size_t checked_elements(const elements_of& side, const datatype_object& type,
                             const datatype_object& basic, std::size_t wanted, const char* what) {
  const std::size_t bytes = bytes_of(side.count, type);
  const datatype_object& own = checked_basic(type, side.type);
  if (own.size != basic.size || bytes != wanted * basic.size)
    fail(MPI_ERR_TYPE, "the {} has {} elements of {}, and the target {} of {}", what,
         bytes / own.size, text_of(predefined_handle(own)), wanted,
         text_of(predefined_handle(basic)));
  return bytes / basic.size;
}

// Who updates. In a checked job of one process it notes what the update uses.
struct update_call {
  state& me;
  const char* name;
  const void* request = nullptr;  // transfer_request::key().
  [[nodiscard]] std::unique_ptr<transfer_note> note(const window_object& w, int target) const {
    return races_of(me) == nullptr ? nullptr
                                   : std::make_unique<transfer_note>(me, w, target, name, request);
  }
};
diagnosis::use_kind kind_of(MPI_Op op) noexcept {
  return op == MPI_NO_OP ? diagnosis::use_kind::fetch : diagnosis::use_kind::update;
}
void note_elements(const transfer_note& note, const elements_of& side, const datatype_object& type,
                   bool writes) {
  with_data(side.buffer, side.count, type,
            [&](const auto& data) { note.at_origin(detail::segments(data), writes); });
}

// `result` without a buffer: nobody wants the old elements. `waits`: until they are there.
void accumulate(const update_call& by, window_object& w, const elements_of& from,
                const elements_of* result, int target, MPI_Aint displacement, MPI_Count count,
                MPI_Datatype handle, MPI_Op op, bool waits) {
  if (!may_access(w, target)) return;
  check_count(count);
  const datatype_object& type = committed_datatype(handle);
  if (bytes_of(count, type) == 0) return;
  const datatype_object& basic = checked_basic(type, handle);
  const rma::element_update update = checked_update(op, basic);
  const std::size_t wanted = bytes_of(count, type) / basic.size;
  const bool reads_origin = op != MPI_NO_OP;
  const elements_of none{nullptr, 0, handle};
  const elements_of& origin = reads_origin ? from : none;
  check_count(origin.count);
  const datatype_object& origin_type = committed_datatype(origin.type);
  if (reads_origin) (void)checked_elements(origin, origin_type, basic, wanted, "origin");
  elements_in_a_row operands(origin.buffer, origin.count, origin.type, origin_type, basic);
  operands.copy_in();
  const elements_of& into = result != nullptr ? *result : none;
  check_count(into.count);
  const datatype_object& into_type = committed_datatype(into.type);
  if (result != nullptr) (void)checked_elements(into, into_type, basic, wanted, "result");
  elements_in_a_row old(into.buffer, into.count, into.type, into_type, basic);
  const bool waits_here = waits || old.is_copy();
  const auto note = by.note(w, target);
  if (note != nullptr) [[unlikely]] {
    if (reads_origin) note_elements(*note, origin, origin_type, false);
    if (result != nullptr) note_elements(*note, into, into_type, true);
    note->update_is_message();
  }

  const auto extent = static_cast<std::size_t>(basic.extent);
  const auto change = [&](std::uint64_t offset, std::size_t first, std::size_t elements) {
    const rma::location at{w.parts, target, offset};
    std::byte* const there = reached_in(w, at, elements * extent, displacement);
    if (note != nullptr && there != nullptr) [[unlikely]]
      note->at_target(there, elements * extent, kind_of(op), &basic);
    const std::byte* const operand =
        update.operand_bytes != 0 ? operands.data() + first * extent : nullptr;
    std::byte* const before = result != nullptr ? old.data() + first * extent : nullptr;
    if (there != nullptr) [[likely]]
      w.memory->change_elements_at(there, at, update, operand, before, elements);
    else
      w.memory->change_elements(w.operations, at, update, operand, before, elements, waits_here);
  };
  if (&type == &basic) {
    change(w.parts->at(target, static_cast<std::uint64_t>(displacement)).offset, 0, wanted);
  } else {
    const target_layout there(w, target, displacement, count, type);
    each_row(there.blocks, basic,
             [&](const std::byte* at, std::size_t first, std::size_t elements) {
               change(reinterpret_cast<std::uintptr_t>(at), first, elements);
             });
  }
  old.copy_out();
  if (note != nullptr) [[unlikely]]
    note->update_is_over();
}

// --- One element ---------------------------------------------------------------------------------------

const datatype_object& checked_predefined(MPI_Datatype handle) {
  const datatype_object& type = checked_datatype(handle);
  if (!is_predefined(handle) && type.basic == nullptr)
    fail(MPI_ERR_TYPE, "{} is not predefined: this call takes one predefined element",
         text_of(handle));
  return type.basic != nullptr ? *type.basic : type;
}

// Whose update it is, and where: what both calls on one element have in common.
struct one_element {
  const rma::element_update& update;
  diagnosis::use_kind kind;
  MPI_Datatype handle;
  std::span<const void* const> read;
  const void* operand;
  void* result;
};

// Where messages go, and in a checked job.
[[gnu::noinline]] void change_one_slowly(const update_call& by, window_object& w,
                                         const one_element& it, const rma::location& at,
                                         std::byte* there) {
  const auto note = by.note(w, at.rank);
  if (note != nullptr) {
    const datatype_object& type = checked_predefined(it.handle);
    for (const void* const one : it.read) note->at_origin(one, type.size, false);
    if (there != nullptr) {
      note->update_is_message();
      note->at_origin(it.result, type.size, true);
      note->at_target(there, it.update.element_bytes, it.kind, &type);
    }
  }
  w.memory->change_elements(w.operations, at, it.update, it.operand, it.result, 1, false);
  if (note != nullptr) note->update_is_over();
}

[[gnu::always_inline]] inline void change_one(const update_call& by, window_object& w,
                                              const one_element& it, int target,
                                              MPI_Aint displacement) {
  const rma::location at = w.parts->at(target, static_cast<std::uint64_t>(displacement));
  std::byte* const there = reached_in(w, at, it.update.element_bytes, displacement);
  if (there != nullptr && races_of(by.me) == nullptr) [[likely]]
    w.memory->change_element_at(there, at, it.update, it.operand, it.result);
  else
    change_one_slowly(by, w, it, at, there);
}

// The last one is at hand: programs repeat what they do, and what a handle of a predefined object means does not change.
[[gnu::noinline]] const rma::element_update& find_update_of(window_object& w, MPI_Op op,
                                                            MPI_Datatype handle) {
  const datatype_object& type = checked_predefined(handle);
  w.update = checked_update(op, type);
  w.update_op = op;
  w.update_type = is_predefined(handle) ? handle : MPI_DATATYPE_NULL;
  return w.update;
}
[[gnu::always_inline]] inline const rma::element_update& update_in(window_object& w, MPI_Op op,
                                                                   MPI_Datatype handle) {
  const bool is_known = w.update_op == op && w.update_type == handle && handle != MPI_DATATYPE_NULL;
  return is_known ? w.update : find_update_of(w, op, handle);
}

[[gnu::always_inline]] inline void fetch_and_op(const update_call& by, window_object& w,
                                                const void* origin, void* result,
                                                MPI_Datatype handle, int target,
                                                MPI_Aint displacement, MPI_Op op) {
  if (!may_access(w, target)) return;
  check_not_null(result, "result_addr");
  const rma::element_update& update = update_in(w, op, handle);
  const bool reads_origin = update.operand_bytes != 0;
  if (reads_origin) check_not_null(origin, "origin_addr");
  const void* const read[]{origin};
  change_one(by, w,
             {update, kind_of(op), handle,
              std::span(read, reads_origin ? std::size_t{1} : std::size_t{0}), origin, result},
             target, displacement);
}

void compare_swap(const update_call& by, window_object& w, const void* origin, const void* compared,
                  void* result, MPI_Datatype handle, int target, MPI_Aint displacement) {
  if (!may_access(w, target)) return;
  check_not_null(origin, "origin_addr");
  check_not_null(compared, "compare_addr");
  check_not_null(result, "result_addr");
  const datatype_object& type = checked_predefined(handle);
  const rma::element_update update = update_of(
      compare_and_swap, static_cast<std::uint32_t>(value_of(predefined_handle(type))) & 0xff);
  if (!update.is_defined())
    fail(MPI_ERR_TYPE, "{} cannot be compared: pass an integer, a logical value or MPI_BYTE",
         text_of(handle));
  alignas(16) std::byte both[2 * 16];
  std::memcpy(both, compared, type.size);
  std::memcpy(both + type.size, origin, type.size);
  const void* const read[]{origin, compared};
  change_one(by, w, {update, diagnosis::use_kind::update, handle, read, both, result}, target,
             displacement);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Fetch_and_op,
                  (const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win)) {
  return in_call(
      "MPI_Fetch_and_op", win,
      [&](state& me) {
        fetch_and_op({me, "MPI_Fetch_and_op"}, checked_window(win), origin_addr, result_addr,
                     datatype, target_rank, target_disp, op);
      },
      origin_addr, static_cast<const void*>(result_addr), datatype, target_rank, target_disp, op,
      win);
}

WEFT_MPI_FUNCTION(int, MPI_Compare_and_swap,
                  (const void* origin_addr, const void* compare_addr, void* result_addr,
                   MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win)) {
  return in_call(
      "MPI_Compare_and_swap", win,
      [&](state& me) {
        compare_swap({me, "MPI_Compare_and_swap"}, checked_window(win), origin_addr, compare_addr,
                     result_addr, datatype, target_rank, target_disp);
      },
      origin_addr, compare_addr, static_cast<const void*>(result_addr), datatype, target_rank,
      target_disp, win);
}

#define WEFT_MPI_ACCUMULATES(suffix, count_type)                                                  \
  WEFT_MPI_FUNCTION(                                                                              \
      int, MPI_Accumulate##suffix,                                                                \
      (const void* origin_addr, count_type origin_count, MPI_Datatype origin_datatype,            \
       int target_rank, MPI_Aint target_disp, count_type target_count,                            \
       MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)) {                                   \
    return in_call(                                                                               \
        "MPI_Accumulate" #suffix, win,                                                            \
        [&](state& me) {                                                                          \
          accumulate({me, "MPI_Accumulate" #suffix}, checked_window(win),                         \
                     {origin_addr, origin_count, origin_datatype}, nullptr, target_rank,          \
                     target_disp, target_count, target_datatype, op, false);                      \
        },                                                                                        \
        origin_addr, static_cast<long>(origin_count), origin_datatype, target_rank, target_disp,  \
        static_cast<long>(target_count), target_datatype, op, win);                               \
  }                                                                                               \
  WEFT_MPI_FUNCTION(                                                                              \
      int, MPI_Raccumulate##suffix,                                                               \
      (const void* origin_addr, count_type origin_count, MPI_Datatype origin_datatype,            \
       int target_rank, MPI_Aint target_disp, count_type target_count,                            \
       MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request)) {             \
    return in_call(                                                                               \
        "MPI_Raccumulate" #suffix, win,                                                           \
        [&](state& me) {                                                                          \
          check_not_null(request, "request");                                                     \
          transfer_request made(me, "MPI_Raccumulate" #suffix);                                   \
          accumulate({me, "MPI_Raccumulate" #suffix, made.key()}, checked_window(win),            \
                     {origin_addr, origin_count, origin_datatype}, nullptr, target_rank,          \
                     target_disp, target_count, target_datatype, op, false);                      \
          *request = made.give();                                                                 \
        },                                                                                        \
        origin_addr, static_cast<long>(origin_count), origin_datatype, target_rank, target_disp,  \
        static_cast<long>(target_count), target_datatype, op, win);                               \
  }                                                                                               \
  WEFT_MPI_FUNCTION(                                                                              \
      int, MPI_Get_accumulate##suffix,                                                            \
      (const void* origin_addr, count_type origin_count, MPI_Datatype origin_datatype,            \
       void* result_addr, count_type result_count, MPI_Datatype result_datatype, int target_rank, \
       MPI_Aint target_disp, count_type target_count, MPI_Datatype target_datatype, MPI_Op op,    \
       MPI_Win win)) {                                                                            \
    return in_call(                                                                               \
        "MPI_Get_accumulate" #suffix, win,                                                        \
        [&](state& me) {                                                                          \
          const elements_of result{result_addr, result_count, result_datatype};                   \
          accumulate({me, "MPI_Get_accumulate" #suffix}, checked_window(win),                     \
                     {origin_addr, origin_count, origin_datatype}, &result, target_rank,          \
                     target_disp, target_count, target_datatype, op, false);                      \
        },                                                                                        \
        origin_addr, static_cast<long>(origin_count), origin_datatype,                            \
        static_cast<const void*>(result_addr), static_cast<long>(result_count), result_datatype,  \
        target_rank, target_disp, static_cast<long>(target_count), target_datatype, op, win);     \
  }                                                                                               \
  WEFT_MPI_FUNCTION(                                                                              \
      int, MPI_Rget_accumulate##suffix,                                                           \
      (const void* origin_addr, count_type origin_count, MPI_Datatype origin_datatype,            \
       void* result_addr, count_type result_count, MPI_Datatype result_datatype, int target_rank, \
       MPI_Aint target_disp, count_type target_count, MPI_Datatype target_datatype, MPI_Op op,    \
       MPI_Win win, MPI_Request* request)) {                                                      \
    return in_call(                                                                               \
        "MPI_Rget_accumulate" #suffix, win,                                                       \
        [&](state& me) {                                                                          \
          check_not_null(request, "request");                                                     \
          transfer_request made(me, "MPI_Rget_accumulate" #suffix);                               \
          const elements_of result{result_addr, result_count, result_datatype};                   \
          accumulate({me, "MPI_Rget_accumulate" #suffix, made.key()}, checked_window(win),        \
                     {origin_addr, origin_count, origin_datatype}, &result, target_rank,          \
                     target_disp, target_count, target_datatype, op, true);                       \
          *request = made.give();                                                                 \
        },                                                                                        \
        origin_addr, static_cast<long>(origin_count), origin_datatype,                            \
        static_cast<const void*>(result_addr), static_cast<long>(result_count), result_datatype,  \
        target_rank, target_disp, static_cast<long>(target_count), target_datatype, op, win);     \
  }

WEFT_MPI_ACCUMULATES(, int)
WEFT_MPI_ACCUMULATES(_c, MPI_Count)
