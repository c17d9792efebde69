#include "mpi/io/file_view.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "mpi/datatype/data.hpp"
#include "mpi/object/errors.hpp"

namespace weft::mpi {

using detail::block_run;
using detail::segments;

namespace {

constexpr std::uint64_t offset_max = std::numeric_limits<MPI_Offset>::max();

}  // namespace

std::vector<file_run> runs_of(const datatype_object& type) {
  std::vector<file_run> runs;
  std::uint64_t before = 0;
  each_block(
      type.where, [&](const std::byte* block, std::size_t bytes) {  // Of an element at address 0.
        const auto at = reinterpret_cast<std::intptr_t>(block);
        if (at < 0)
          fail(MPI_ERR_IO,
               "the filetype has bytes at {}, before its begin: displacements are 0 or more", at);
        const auto offset = static_cast<std::uint64_t>(at);
        if (!runs.empty() && offset < runs.back().offset)
          fail(MPI_ERR_IO,
               "the filetype goes back from byte {} to {}: displacements do not decrease in a file",
               runs.back().offset, offset);
        if (!runs.empty() && runs.back().offset + runs.back().bytes == offset)
          runs.back().bytes += bytes;
        else
          runs.push_back({offset, bytes, before});
        before += bytes;
      });
  return runs;
}

void check_no_overlap(const std::vector<file_run>& runs, std::uint64_t extent) {
  for (std::size_t i = 0; i + 1 < runs.size(); ++i)
    if (runs[i].offset + runs[i].bytes > runs[i + 1].offset)
      fail(MPI_ERR_IO, "the filetype has byte {} twice: in a file that is written none may be",
           runs[i + 1].offset);
  if (!runs.empty() && runs.back().offset + runs.back().bytes > runs.front().offset + extent)
    fail(MPI_ERR_IO,
         "the filetype is longer than its extent of {} bytes: in a file that is written its tiles "
         "may not overlap",
         extent);
}

file_view::file_view(std::uint64_t displacement, std::uint64_t element_bytes,
                     std::vector<file_run> runs, std::uint64_t extent)
    : displacement_(displacement),
      element_bytes_(element_bytes),
      extent_(extent),
      runs_(std::move(runs)) {
  for (const file_run& r : runs_) tile_bytes_ += r.bytes;
}

file_view::file_view(std::uint64_t displacement, const datatype_object& etype,
                     const datatype_object& filetype)
    : file_view(displacement, etype.size, runs_of(filetype),
                static_cast<std::uint64_t>(filetype.extent)) {}

std::uint64_t file_view::offset_of(std::uint64_t data) const {
  if (tile_bytes_ == 0) return displacement_;
  const std::uint64_t rest = data % tile_bytes_;
  const auto at =
      std::upper_bound(runs_.begin(), runs_.end(), rest,
                       [](std::uint64_t d, const file_run& r) { return d < r.before; }) -
      1;
  std::uint64_t offset = 0;
  if (__builtin_mul_overflow(data / tile_bytes_, extent_, &offset) ||
      __builtin_add_overflow(offset, displacement_ + at->offset + (rest - at->before), &offset) ||
      offset > offset_max)
    fail(MPI_ERR_ARG, "byte {} of the view lies beyond the largest offset, {}", data, offset_max);
  return offset;
}

std::uint64_t file_view::data_before(std::uint64_t offset) const noexcept {
  if (offset <= displacement_ || tile_bytes_ == 0) return 0;
  const std::uint64_t inside = offset - displacement_;
  const std::uint64_t tiles = extent_ == 0 ? 0 : inside / extent_;
  const std::uint64_t rest = inside - tiles * extent_;
  std::uint64_t data = tiles * tile_bytes_;
  for (const file_run& r : runs_)
    if (rest > r.offset) data += std::min(r.bytes, rest - r.offset);
  return data;
}

access_walk::access_walk(const file_view& view, std::uint64_t data, const segments& memory)
    : view_(view), memory_(memory), left_(memory.size()) {
  if (left_ == 0) return;
  if (view.tile_bytes_ == 0)
    fail(MPI_ERR_ARG, "the view's filetype has no bytes, so that nothing can be read or written");
  (void)view.offset_of(data + left_ - 1);  // Throws when no offset says where the last byte is.
  const std::uint64_t rest = data % view.tile_bytes_;
  run_ = static_cast<std::size_t>(
      std::upper_bound(view.runs_.begin(), view.runs_.end(), rest,
                       [](std::uint64_t d, const file_run& r) { return d < r.before; }) -
      view.runs_.begin() - 1);
  in_run_ = rest - view.runs_[run_].before;
  tile_ = data / view.tile_bytes_ * view.extent_;
  find_block();
}

void access_walk::find_block() noexcept {
  const block_run& r = memory_.runs()[listed_];
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(pass_) * memory_.all().stride + r.offset +
                            static_cast<std::ptrdiff_t>(row_) * r.middle.stride +
                            static_cast<std::ptrdiff_t>(column_) * r.inner.stride;
  block_ = reinterpret_cast<std::byte*>(memory_.base() + static_cast<std::uintptr_t>(at));
  block_bytes_ = r.block;
}

void access_walk::next_block() noexcept {
  const block_run& r = memory_.runs()[listed_];
  if (++column_ == r.inner.count) {
    column_ = 0;
    if (++row_ == r.middle.count) {
      row_ = 0;
      if (++listed_ == memory_.runs().size()) {
        listed_ = 0;
        ++pass_;
      }
    }
  }
  if (pass_ < memory_.all().count) find_block();
}

std::optional<file_piece> access_walk::next() {
  if (left_ == 0) return std::nullopt;
  const file_run& run = view_.runs_[run_];
  // Tiles that follow one another without a gap are one run.
  const bool goes_on = view_.runs_.size() == 1 && run.bytes == view_.extent_;
  const std::uint64_t in_file = goes_on ? left_ : run.bytes - in_run_;
  const file_piece piece{
      view_.displacement_ + tile_ + run.offset + in_run_, block_,
      static_cast<std::size_t>(std::min({left_, in_file, std::uint64_t{block_bytes_}}))};
  left_ -= piece.bytes;
  in_run_ += piece.bytes;
  if (!goes_on && in_run_ == run.bytes) {
    in_run_ = 0;
    if (++run_ == view_.runs_.size()) {
      run_ = 0;
      tile_ += view_.extent_;
    }
  }
  block_ += piece.bytes;
  block_bytes_ -= piece.bytes;
  if (block_bytes_ == 0) next_block();
  return piece;
}

}  // namespace weft::mpi
