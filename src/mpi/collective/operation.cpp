#include "mpi/object/operation.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "mpi/collective/collective.hpp"
#include "mpi/datatype/data.hpp"
#include "mpi/datatype/section.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

bool is_predefined_operation(MPI_Op op) noexcept {
  const std::uintptr_t v = value_of(op);
  return (v >= 0x21 && v <= 0x24) || (v >= 0x28 && v <= 0x2a) || (v >= 0x30 && v <= 0x32) ||
         op == MPI_MINLOC || op == MPI_MAXLOC || op == MPI_REPLACE || op == MPI_NO_OP;
}

operation_object& checked_operation(MPI_Op op) {
  if (auto* const o = find_object<operation_object>(op); o != nullptr) return *o;
  if (op == MPI_OP_NULL) fail(MPI_ERR_OP, "the operation is MPI_OP_NULL");
  fail(MPI_ERR_OP, "{} is no operation, or has been freed", text_of(op));
}

// Calls the program's function. It takes an MPI_Count or an int, so a large count may take several calls, and it may look at
// the datatype.
void call_function(const reducer& r, const void* in, void* inout, std::size_t count) {
  MPI_Datatype type = r.handle;
  auto* from = static_cast<std::byte*>(const_cast<void*>(in));  // It reads it only.
  auto* to = static_cast<std::byte*>(inout);
  const std::ptrdiff_t extent =
      r.shape != nullptr ? r.shape->extent : static_cast<std::ptrdiff_t>(r.element_bytes);
  if (r.with_state != nullptr)
    return r.with_state->function(from, to, static_cast<MPI_Count>(count), type,
                                  r.with_state->extra_state);
  if (r.large_function != nullptr) {
    auto length = static_cast<MPI_Count>(count);
    r.large_function(from, to, &length, &type);
    return;
  }
  while (count != 0) {
    auto length = static_cast<int>(std::min<std::size_t>(count, std::numeric_limits<int>::max()));
    const auto done = static_cast<std::size_t>(length);
    r.function(from, to, &length, &type);
    count -= done;
    from += static_cast<std::ptrdiff_t>(done) * extent;
    to += static_cast<std::ptrdiff_t>(done) * extent;
  }
}

// left = left op right. MPI's functions overwrite their right operand: without commutativity that is a copy.
void combine_by_function(const void* self, void* left, const void* right, std::size_t count) {
  const reducer& r = *static_cast<const reducer*>(self);
  const std::size_t bytes = count * r.element_bytes;
  const std::size_t elements = r.divisible() ? count : r.shape->all;
  const std::ptrdiff_t lower = r.shape != nullptr ? r.shape->lower : 0;
  if (r.commutative) {
    call_function(r, static_cast<const std::byte*>(right) - lower,
                  static_cast<std::byte*>(left) - lower, elements);
    return;
  }
  alignas(64) std::byte few[1024];
  std::unique_ptr<std::byte[]> many;
  if (bytes > sizeof few) many = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::byte* const result = many != nullptr ? many.get() : few;
  std::memcpy(result, right, bytes);
  call_function(r, static_cast<const std::byte*>(left) - lower, result - lower, elements);
  std::memcpy(left, result, bytes);
}

[[noreturn]] void fail_undefined(MPI_Op op, MPI_Datatype type) {
  fail(MPI_ERR_OP, "{} is not defined for {}: make an operation with MPI_Op_create", text_of(op),
       text_of(type));
}

// Sets how elements with gaps lie in memory, for a function of the program.
void set_shape(reducer& r, const datatype_object& type, std::size_t count) {
  r.element_bytes = type.size;
  if (type.contiguous) return;
  gapped_shape s{type.where, type.extent, 0, true, 0, {}};
  const auto alignment = static_cast<std::ptrdiff_t>(type.alignment);
  std::ptrdiff_t below = type.true_lower % alignment;
  if (below < 0) below += alignment;
  s.lower = type.true_lower - below;
  const auto whole = static_cast<std::size_t>(type.true_extent + below);
  s.divisible = type.extent > 0 && static_cast<std::size_t>(type.extent) >= whole;
  if (s.divisible) {
    r.element_bytes = static_cast<std::size_t>(type.extent);
  } else {
    s.all = count;
    const auto steps = static_cast<std::ptrdiff_t>(count == 0 ? 0 : count - 1) * type.extent;
    if (steps < 0) s.lower += steps;
    r.element_bytes = whole + static_cast<std::size_t>(steps < 0 ? -steps : steps);
  }
  r.shape = std::make_shared<const gapped_shape>(std::move(s));
}

}  // namespace

reducer make_reducer(MPI_Op op, MPI_Datatype handle, const datatype_object& type,
                     std::size_t count) {
  reducer r;
  if (type.sections != nullptr) [[unlikely]] {
    const datatype_object& element = *type.sections->element;
    r = make_reducer(op, type.sections->handle, element, count);
    gapped_shape s =
        r.shape != nullptr ? *r.shape : gapped_shape{element.where, element.extent, 0, true, 0, {}};
    s.sections = type.sections;
    r.shape = std::make_shared<const gapped_shape>(std::move(s));
    return r;
  }
  if (is_predefined(op)) [[likely]] {
    if (!is_predefined_operation(op)) (void)checked_operation(op);
    const MPI_Datatype basic = type.basic != nullptr ? predefined_handle(*type.basic) : handle;
    const predefined_combination found = find_combine(op, basic);
    r.combine = found.combine;
    r.combines = found.name;
    if (r.combine == nullptr) fail_undefined(op, handle);
    r.element_bytes = static_cast<std::size_t>(type.extent);  // The gaps of pairs are copied, too.
    return r;
  }
  const operation_object& own = checked_operation(op);
  r.function = own.function;
  r.large_function = own.large_function;
  r.with_state = own.with_state;
  r.commutative = own.commutative;
  r.combines = {
      own.commutative ? detail::operation_name::own : detail::operation_name::own_in_rank_order,
      detail::number_kind::none, 0};
  r.handle = handle;
  set_shape(r, type, count);
  return r;
}

reduction reducer::of(std::size_t count) const noexcept {
  // Elements without data need no combining.
  if (element_bytes == 0) return {this, &combine_by_function, 1, 0, commutative, combines};
  return {this,          combine != nullptr ? combine : &combine_by_function,
          element_bytes, divisible() ? count : 1,
          commutative,   combines};
}

void gapped_shape::copy_in(std::byte* to, std::size_t room, const void* buffer,
                           std::size_t count) const {
  std::memset(to, 0, room);  // Nothing undefined is sent.
  const bool is_section = sections != nullptr && sections->from != nullptr;
  const detail::segments from = is_section
                                    ? sections->from->place(buffer, 0, {count, extent}, where)
                                    : where.placed(buffer, {count, extent});
  detail::copy_segments(where.placed(to - lower, {count, extent}), from, 0, from.size());
}

void gapped_shape::copy_out(void* buffer, const std::byte* from, std::size_t first,
                            std::size_t count) const {
  const detail::segments to = written(buffer, count);
  const std::byte* const begin = from - lower + static_cast<std::ptrdiff_t>(first) * extent;
  detail::copy_segments(to, where.placed(begin, {count, extent}), 0, to.size());
}

detail::segments gapped_shape::written(void* buffer, std::size_t count) const {
  const bool is_section = sections != nullptr && sections->to != nullptr;
  return is_section ? sections->to->place(buffer, 0, {count, extent}, where)
                    : where.placed(buffer, {count, extent});
}

// MPI_Reduce_local on sections of Fortran arrays: copies are combined.
static void reduce_sections(const reducer& r, const void* in, void* inout, std::size_t elements) {
  const gapped_shape& shape = *r.shape;
  const std::size_t room = r.room(elements);
  const auto left = std::make_unique_for_overwrite<std::byte[]>(room);
  const auto right = std::make_unique<std::byte[]>(room);
  shape.copy_in(left.get(), room, in, elements);
  const detail::segments written = shape.written(inout, elements);
  detail::copy_segments(shape.where.placed(right.get() - shape.lower, {elements, shape.extent}),
                        written, 0, written.size());
  if (r.combine == nullptr)
    call_function(r, left.get() - shape.lower, right.get() - shape.lower, elements);
  else
    r.combine(nullptr, right.get(), left.get(), elements);
  shape.copy_out(inout, right.get(), 0, elements);
}

}  // namespace weft::mpi

using namespace weft::mpi;

namespace {

template <class Function>
int create_operation(const char* name, Function* function, Function* operation_object::*member,
                     int commute, MPI_Op* op) {
  return in_call(name, MPI_COMM_SELF, [&](state& me) {
    check_not_null(reinterpret_cast<const void*>(function), "user_fn");
    check_not_null(op, "op");
    operation_object& made = me.operations.make();
    made.*member = function;
    made.commutative = commute != 0;
    *op = handle_of(made);
  });
}

void reduce_local(const void* in, void* inout, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  const auto elements = static_cast<std::size_t>(count);
  const reducer r = make_reducer(op, datatype, type, elements);
  if (elements == 0 || type.size == 0) return;
  check_not_aliased(in, inout, bytes_of(count, type));
  if (in == MPI_IN_PLACE) fail(MPI_ERR_BUFFER, "inbuf is MPI_IN_PLACE: it is no buffer here");
  if (type.contiguous && is_no_memory(in)) fail_buffer(in, type);
  if (type.contiguous && is_no_memory(inout)) fail_buffer(inout, type);
  if (type.sections != nullptr) return reduce_sections(r, in, inout, elements);
  // MPI_Reduce_local has `in` as the left operand, as the program's function has: no copy is needed.
  if (r.combine == nullptr) {
    call_function(r, in, inout, elements);
    return;
  }
  r.combine(nullptr, inout, in, elements);  // The predefined ones commute.
}

}  // namespace

WEFT_MPI_FUNCTION(int, MPI_Op_create, (MPI_User_function * user_fn, int commute, MPI_Op* op)) {
  return create_operation("MPI_Op_create", user_fn, &operation_object::function, commute, op);
}

WEFT_MPI_FUNCTION(int, MPI_Op_create_c, (MPI_User_function_c * user_fn, int commute, MPI_Op* op)) {
  return create_operation("MPI_Op_create_c", user_fn, &operation_object::large_function, commute,
                          op);
}

WEFT_MPI_FUNCTION(int, MPIX_Op_create_x,
                  (MPIX_User_function_x * user_fn_x, MPIX_Destructor_function* destructor_fn,
                   int commute, void* extra_state, MPI_Op* op)) {
  return in_call("MPIX_Op_create_x", MPI_COMM_SELF, [&](state& me) {
    check_not_null(reinterpret_cast<const void*>(user_fn_x), "user_fn_x");
    check_not_null(op, "op");
    operation_object& made = me.operations.make();
    made.with_state = std::make_shared<function_with_state>(user_fn_x, destructor_fn, extra_state);
    made.commutative = commute != 0;
    *op = handle_of(made);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Op_free, (MPI_Op * op)) {
  return in_call(
      "MPI_Op_free", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(op, "op");
        if (is_predefined_operation(*op))
          fail(MPI_ERR_OP, "{} is a predefined operation, which cannot be freed", text_of(*op));
        operation_object& freed = checked_operation(*op);
        // Its destructor is called at the end of this call, or of the last collective that uses it.
        const std::shared_ptr<function_with_state> kept = freed.with_state;
        if (kept != nullptr) kept->is_freed = true;
        me.operations.free(freed);
        *op = MPI_OP_NULL;
      },
      op == nullptr ? MPI_OP_NULL : *op);
}

WEFT_MPI_FUNCTION(int, MPI_Op_commutative, (MPI_Op op, int* commute)) {
  return in_call(
      "MPI_Op_commutative", MPI_COMM_SELF,
      [&](state&) {
        check_not_null(commute, "commute");
        if (is_predefined_operation(op))
          *commute = op != MPI_REPLACE && op != MPI_NO_OP;
        else
          *commute = checked_operation(op).commutative;
      },
      op);
}

WEFT_MPI_FUNCTION(int, MPI_Reduce_local,
                  (const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype,
                   MPI_Op op)) {
  return in_call(
      "MPI_Reduce_local", MPI_COMM_SELF,
      [&](state&) { reduce_local(inbuf, inoutbuf, count, datatype, op); }, inbuf,
      static_cast<const void*>(inoutbuf), count, datatype, op);
}

WEFT_MPI_FUNCTION(int, MPI_Reduce_local_c,
                  (const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype,
                   MPI_Op op)) {
  return in_call(
      "MPI_Reduce_local_c", MPI_COMM_SELF,
      [&](state&) { reduce_local(inbuf, inoutbuf, count, datatype, op); }, inbuf,
      static_cast<const void*>(inoutbuf), static_cast<long>(count), datatype, op);
}
