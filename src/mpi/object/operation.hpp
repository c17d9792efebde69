// What an MPI_Op stands for, and how the elements of a datatype are combined by one.
#pragma once
#include <cstddef>
#include <memory>

#include "mpi/object/datatype.hpp"
#include "mpi/object/handles.hpp"
#include "weft/reduction.hpp"

namespace weft::mpi {

struct state;

// A function of the program that gets a pointer of the program's, too. The destructor is called when the operation has been
// freed and no collective uses it any more.
struct function_with_state {
  MPIX_User_function_x* function = nullptr;
  MPIX_Destructor_function* destructor = nullptr;
  void* extra_state = nullptr;
  bool is_freed = false;  // Set by MPI_Op_free.

  function_with_state(MPIX_User_function_x* f, MPIX_Destructor_function* d, void* state) noexcept
      : function(f), destructor(d), extra_state(state) {}
  function_with_state(const function_with_state&) = delete;
  function_with_state& operator=(const function_with_state&) = delete;
  ~function_with_state() {
    if (is_freed && destructor != nullptr) destructor(extra_state);
  }
};

struct operation_object : object {
  using handle = MPI_Op;
  static constexpr object_kind own_kind = object_kind::operation;

  MPI_User_function* function = nullptr;
  MPI_User_function_c* large_function = nullptr;
  std::shared_ptr<function_with_state> with_state;  // One of the three is set.
  bool commutative = false;
};

using combine_function = void (*)(const void* op, void* left, const void* right, std::size_t count);

// Of elements that lie with gaps: copies of the same shape are combined.
struct gapped_shape {
  detail::segments where;
  std::ptrdiff_t extent = 0;
  // Where a copy begins, seen from the address of its first element.
  std::ptrdiff_t lower = 0;
  // Elements do not overlap; otherwise `all` of them are combined as one.
  bool divisible = true;
  std::size_t all = 0;
  // Set: the program's buffers are sections of Fortran arrays.
  std::shared_ptr<const sections_of_call> sections;

  void copy_in(std::byte* to, std::size_t room, const void* buffer, std::size_t count) const;
  void copy_out(void* buffer, const std::byte* from, std::size_t first, std::size_t count) const;
  // Where the elements of a buffer lie that the call writes.
  [[nodiscard]] detail::segments written(void* buffer, std::size_t count) const;
};

// An operation on elements of a datatype. A copy does not need the handles that it was made of.
struct reducer {
  combine_function combine = nullptr;  // Of a predefined operation.
  detail::combination combines;
  MPI_User_function* function = nullptr;
  MPI_User_function_c* large_function = nullptr;
  std::shared_ptr<const function_with_state> with_state;
  MPI_Datatype handle = MPI_DATATYPE_NULL;  // What a function of the program is told.
  bool commutative = true;
  std::size_t element_bytes = 0;              // From one to the next.
  std::shared_ptr<const gapped_shape> shape;  // Null: they are combined where they are.

  // Of `count` elements; refers to this object.
  [[nodiscard]] reduction of(std::size_t count) const noexcept;
  [[nodiscard]] bool divisible() const noexcept { return shape == nullptr || shape->divisible; }
  // Bytes of `count` elements, or of a copy of them.
  [[nodiscard]] std::size_t room(std::size_t count) const noexcept {
    return divisible() ? count * element_bytes : element_bytes;
  }
};

// Throws `failure` when there is no such operation, or it is not defined for the datatype.
[[nodiscard]] reducer make_reducer(MPI_Op op, MPI_Datatype handle, const datatype_object& type,
                                   std::size_t count);

// A predefined operation on a predefined datatype; the function is null when it is not defined, or one of
// them is not predefined.
struct predefined_combination {
  combine_function combine;
  detail::combination name;
};
[[nodiscard]] predefined_combination find_combine(MPI_Op op, MPI_Datatype type);

}  // namespace weft::mpi
