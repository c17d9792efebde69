#include "mpi/datatype/section.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "mpi/datatype/data.hpp"

namespace weft::mpi {

using namespace detail;

array_section::array_section(std::size_t element_bytes, std::vector<repeat> dimensions)
    : element_(element_bytes) {
  for (const repeat& d : dimensions) {
    if (d.count == 1) continue;
    if (d.count == 0) element_ = 0;
    if (dimensions_.empty() && d.stride == static_cast<std::ptrdiff_t>(element_))
      element_ *= d.count;
    else if (!dimensions_.empty() &&
             d.stride ==
                 dimensions_.back().stride * static_cast<std::ptrdiff_t>(dimensions_.back().count))
      dimensions_.back().count *= d.count;
    else
      dimensions_.push_back(d);
  }
  if (element_ == 0) dimensions_.clear();
  bytes_.push_back(element_);
  for (const repeat& d : dimensions_) bytes_.push_back(bytes_.back() * d.count);
}

// `level` dimensions make a box; `boxes` of them. A run has two dimensions, so more of them are one run each.
void array_section::add_boxes(std::vector<block_run>& to, std::size_t level, std::ptrdiff_t offset,
                              const repeat& boxes) const {
  if (level == 0)
    to.push_back({offset, element_, boxes});
  else if (level == 1)
    to.push_back({offset, element_, dimensions_[0], boxes});
  else
    for (std::size_t i = 0; i < boxes.count; ++i)
      add_boxes(to, level - 1, offset + static_cast<std::ptrdiff_t>(i) * boxes.stride,
                dimensions_[level - 1]);
}

// The bytes [first, first + length) of a box of `level` dimensions: the end of a box, whole boxes, the begin of a box.
void array_section::add_range(std::vector<block_run>& to, std::size_t level, std::ptrdiff_t offset,
                              std::size_t first, std::size_t length) const {
  if (length == 0) return;
  if (level == 0) {
    to.push_back({offset + static_cast<std::ptrdiff_t>(first), length});
    return;
  }
  const std::size_t box = bytes_[level - 1];
  const std::ptrdiff_t stride = dimensions_[level - 1].stride;
  offset += static_cast<std::ptrdiff_t>(first / box) * stride;
  if (const std::size_t within = first % box; within != 0 || length < box) {
    const std::size_t here = std::min(box - within, length);
    add_range(to, level - 1, offset, within, here);
    length -= here;
    offset += stride;
  }
  if (const std::size_t whole = length / box; whole != 0) {
    add_boxes(to, level - 1, offset, {whole, stride});
    length -= whole * box;
    offset += static_cast<std::ptrdiff_t>(whole) * stride;
  }
  add_range(to, level - 1, offset, 0, length);
}

segments array_section::place(const void* base, std::ptrdiff_t displacement, repeat elements,
                              const segments& one) const {
  const std::size_t room = bytes_.back();
  if (elements.count == 0 || one.size() == 0) return {};
  const auto fail_range = [&](std::ptrdiff_t first) {
    fail(MPI_ERR_BUFFER,
         "{} elements of {} bytes from byte {} on do not lie within an array section of {} bytes: "
         "pass a smaller count, or a longer section",
         elements.count, one.size(), first, room);
  };
  if (elements.count > room / one.size()) fail_range(displacement);
  std::vector<block_run> runs;
  const auto add = [&](std::ptrdiff_t first, std::size_t length) {
    if (first < 0 || static_cast<std::size_t>(first) > room ||
        length > room - static_cast<std::size_t>(first))
      fail_range(first);
    add_range(runs, dimensions_.size(), 0, static_cast<std::size_t>(first), length);
  };
  const bool in_a_row =
      elements.count == 1 || elements.stride == static_cast<std::ptrdiff_t>(one.size());
  if (one.contiguous() && in_a_row)
    add(displacement + reinterpret_cast<std::ptrdiff_t>(one.flat().data()),
        elements.count * one.size());
  else
    each_block(one.placed(reinterpret_cast<const void*>(displacement), elements),
               [&](const std::byte* at, std::size_t length) {
                 add(reinterpret_cast<std::ptrdiff_t>(at), length);
               });
  return segments(base, {}, std::move(runs));
}

segments layout_of(const void* buffer, MPI_Count count, const datatype_object& type,
                   std::ptrdiff_t displacement) {
  if (type.sections != nullptr && type.sections->from != nullptr) [[unlikely]]
    return type.sections->from->place(buffer, displacement,
                                      {static_cast<std::size_t>(count), type.extent}, type.where);
  const auto* const at = static_cast<const std::byte*>(buffer) + displacement;
  const std::size_t bytes = bytes_of(count, type);
  if (type.contiguous) return segments({at, bytes});
  return type.where.placed(at, {static_cast<std::size_t>(count), type.extent});
}

}  // namespace weft::mpi
