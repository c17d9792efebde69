// Makes a new datatype of existing ones: its layout, its bounds, and the record of how it was made.
#pragma once
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {

// `count` elements of a datatype, each `stride` bytes after the one before (usually its extent).
struct placement {
  const datatype_object* type = nullptr;
  std::size_t count = 0;
  std::ptrdiff_t displacement = 0;
  std::ptrdiff_t stride = 0;
};
[[nodiscard]] inline placement in_a_row(const datatype_object& type, std::size_t count,
                                        std::ptrdiff_t displacement) {
  return {&type, count, displacement, type.extent};
}

// Fills in bounds and layout of `made`: the placements in their order, all of them repeated `copies.count` times. The
// caller fills in the rest.
void describe(datatype_object& made, std::span<const placement> parts, detail::repeat copies = {});
// Sets what follows from the layout: size, true bounds, and whether elements lie in a row.
void conclude_layout(datatype_object& made, detail::segments where);
void set_bounds(datatype_object& made, std::ptrdiff_t lower, std::ptrdiff_t extent);

// Add and drop a reference to a datatype. The last one to go frees it and drops those to its parts.
void release(state& me, datatype_object& type);
void hold(datatype_object& type) noexcept;

// What MPI_Type_dup makes of a datatype, with copies of its attributes. Throws what a copy function has returned.
[[nodiscard]] MPI_Datatype duplicate_of(state& me, MPI_Datatype oldtype);
// What MPI_Type_free does with one that has a handle. Throws what a delete function has returned; then the datatype stays.
void free_datatype(state& me, datatype_object& type);

// An array of the program, as large counts. `what` names it in errors.
template <class Number>
std::vector<MPI_Count> widened(MPI_Count count, const Number* list, const char* what) {
  if (count > 0) check_not_null(list, what);
  return count > 0 ? std::vector<MPI_Count>(list, list + count) : std::vector<MPI_Count>();
}

// Records the arguments of a constructor for MPI_Type_get_contents, in the standard's order: as integers and
// addresses, or all as large counts.
class recorder {
 public:
  recorder(int combiner, bool large) {
    made_.combiner = combiner;
    made_.large = large;
  }
  recorder& number(MPI_Count value) {
    if (made_.large)
      made_.counts.push_back(value);
    else
      made_.integers.push_back(static_cast<int>(value));
    return *this;
  }
  recorder& integer(int value) {  // Also of a function on large counts.
    made_.integers.push_back(value);
    return *this;
  }
  recorder& numbers(std::span<const MPI_Count> values) {
    for (const MPI_Count v : values) number(v);
    return *this;
  }
  recorder& address(MPI_Count value) {
    if (made_.large)
      made_.counts.push_back(value);
    else
      made_.addresses.push_back(static_cast<MPI_Aint>(value));
    return *this;
  }
  recorder& addresses(std::span<const MPI_Count> values) {
    for (const MPI_Count v : values) address(v);
    return *this;
  }
  recorder& type(datatype_object& part) {
    hold(part);
    made_.types.push_back(&part);
    return *this;
  }
  [[nodiscard]] std::shared_ptr<const construction> result() {
    return std::make_shared<const construction>(std::move(made_));
  }

 private:
  construction made_;
};

// A new datatype with the data and bounds of `old`.
[[nodiscard]] datatype_object& make_likeness(state& me, const datatype_object& old);

}  // namespace weft::mpi

// Defines a function and its variant _c for large counts:
// WEFT_MPI_CONSTRUCTOR(MPI_Type_contiguous, CONTIGUOUS, contiguous(me, ..., large), count, ...), where
// CONTIGUOUS(Count, Address) are the parameters and the rest are the arguments.
#define WEFT_MPI_CONSTRUCTOR(Name, PARAMETERS, make, ...)                                 \
  WEFT_MPI_CONSTRUCTOR_SIZED(Name, (PARAMETERS(int, MPI_Aint)), false, make, __VA_ARGS__) \
  WEFT_MPI_CONSTRUCTOR_SIZED(Name##_c, (PARAMETERS(MPI_Count, MPI_Count)), true, make, __VA_ARGS__)
#define WEFT_MPI_CONSTRUCTOR_SIZED(Name, parameters, is_large, make, ...) \
  WEFT_MPI_FUNCTION(int, Name, parameters) {                              \
    return in_call(                                                       \
        #Name, MPI_COMM_SELF,                                             \
        [&](state& me) {                                                  \
          constexpr bool large = is_large;                                \
          make;                                                           \
        },                                                                \
        __VA_ARGS__);                                                     \
  }
