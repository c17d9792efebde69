// The rare parts of weft/parcels/encoding.hpp.
#include "weft/parcels/encoding.hpp"

#include <algorithm>

namespace weft::detail {

void parcel_writer::grow(std::size_t bytes) {
  const std::size_t used = size();
  const std::size_t room = std::max(2 * static_cast<std::size_t>(end_ - begin_), used + bytes);
  auto larger = std::make_unique_for_overwrite<std::byte[]>(room);
  std::memcpy(larger.get(), begin_, used);
  heap_ = std::move(larger);
  begin_ = heap_.get();
  at_ = begin_ + used;
  end_ = begin_ + room;
}

void parcel_writer::pad() {
  static constexpr std::byte zeros[256]{};
  while (size() < least_) write(zeros, std::min(sizeof zeros, least_ - size()));
}

void parcel_writer::add_chunk(const std::byte* data, std::size_t size) {
  if (size > parcel_chunk_bytes_max)
    throw error("a vector or string of " + std::to_string(size) + " bytes in a parcel: " +
                std::to_string(parcel_chunk_bytes_max) + " are the most, send it in parts");
  if (chunks_ == nullptr) chunks_ = std::make_unique<parcel_chunk[]>(parcel_chunks_max);
  chunks_[chunk_count_++] = {data, size};
}

void parcel_reader::refuse() const {
  throw malformed_parcel("its bytes are not those of the types that are expected");
}

std::uint64_t parcel_reader::next_chunk() {
  std::uint64_t bytes = 0;
  if ((chunks_read_ + 1) * sizeof bytes > chunk_bytes_.size()) refuse();
  std::memcpy(&bytes, chunk_bytes_.data() + chunks_read_ * sizeof bytes, sizeof bytes);
  if (bytes > parcel_chunk_bytes_max) refuse();
  ++chunks_read_;
  return bytes;
}

void parcel_reader::expect_chunk(std::byte* place, std::size_t bytes) {
  places_.emplace_back(place, bytes);
}

}  // namespace weft::detail
