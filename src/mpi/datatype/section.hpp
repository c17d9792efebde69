// Sections of Fortran's arrays: where the elements of a datatype lie that are counted as if the section's elements lay in a row.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "mpi/object/datatype.hpp"
#include "weft/layout.hpp"

namespace weft::mpi {

// A box of elements. Dimensions that lie in a row are joined: an element is the longest row, and no dimension has one index.
class array_section {
 public:
  // `dimensions` have extents and strides in bytes; the first runs fastest.
  array_section(std::size_t element_bytes, std::vector<detail::repeat> dimensions);
  // Where elements of the layout `one` lie in a section at `base`, the first one `displacement` bytes behind the section's begin
  // as its row of bytes has them. Throws `failure` when they do not lie within the section.
  [[nodiscard]] detail::segments place(const void* base, std::ptrdiff_t displacement,
                                       detail::repeat elements, const detail::segments& one) const;

 private:
  void add_range(std::vector<detail::block_run>& to, std::size_t level, std::ptrdiff_t offset,
                 std::size_t first, std::size_t length) const;
  void add_boxes(std::vector<detail::block_run>& to, std::size_t level, std::ptrdiff_t offset,
                 const detail::repeat& boxes) const;

  std::size_t element_ = 0;
  std::vector<detail::repeat> dimensions_;
  std::vector<std::size_t> bytes_;  // Of a box of the first 0, 1, ... dimensions.
};

// What a datatype knows that a call gives for a section. Null on either side: that buffer has no gaps of its own.
struct sections_of_call {
  std::shared_ptr<const array_section> from;  // Also of a call with one buffer.
  std::shared_ptr<const array_section> to;
  datatype_object* element =
      nullptr;  // The program's datatype. It may be gone when the call has returned.
  MPI_Datatype handle = MPI_DATATYPE_NULL;
};

// Where `count` elements of `type` lie, the first one `displacement` bytes behind `buffer`.
[[nodiscard]] detail::segments layout_of(const void* buffer, MPI_Count count,
                                         const datatype_object& type,
                                         std::ptrdiff_t displacement = 0);

}  // namespace weft::mpi
