#include "mpi/datatype_elements.hpp"

#include <algorithm>
#include <array>

namespace weft::mpi {
namespace {

// The value and the index of a predefined pair.
std::array<part, 2> parts_of_pair(const datatype_object& pair) {
  const datatype_object& index = *find_predefined(MPI_INT);
  for (const MPI_Datatype value :
       {MPI_FLOAT, MPI_DOUBLE, MPI_LONG, MPI_INT, MPI_SHORT, MPI_LONG_DOUBLE})
    if (find_predefined(value)->size == pair.size - index.size)
      return {part{find_predefined(value), 1}, part{&index, 1}};
  return {part{&index, 1}, part{&index, 1}};
}

}  // namespace

std::vector<part> parts_of(const datatype_object& type) {
  if (type.made == nullptr) {
    const auto pair = parts_of_pair(type);
    return {pair.begin(), pair.end()};
  }
  if (type.basic != nullptr) return {{type.basic, 1}};
  const construction& made = *type.made;
  if (made.combiner != MPI_COMBINER_STRUCT) {
    const datatype_object& old = *made.types.front();
    return {{&old, type.size / old.size}};
  }
  std::vector<part> parts;
  for (std::size_t i = 0; i < made.types.size(); ++i)
    parts.push_back({made.types[i], made.large ? static_cast<std::uint64_t>(made.counts[1 + i])
                                               : static_cast<std::uint64_t>(made.integers[1 + i])});
  return parts;
}

MPI_Count basic_elements_in(const datatype_object& type, std::uint64_t bytes) {
  if (bytes == 0) return 0;
  if (type.size == 0) return MPI_UNDEFINED;
  if (type.basic_size != 0)
    return bytes % type.basic_size != 0 ? MPI_Count{MPI_UNDEFINED}
                                        : static_cast<MPI_Count>(bytes / type.basic_size);
  auto whole = static_cast<MPI_Count>(bytes / type.size * type.basic_count);
  bytes %= type.size;
  for (const part& p : parts_of(type)) {
    if (bytes == 0) break;
    const std::uint64_t here = std::min<std::uint64_t>(bytes, p.type->size * p.count);
    const MPI_Count in_part = basic_elements_in(*p.type, here);
    if (in_part == MPI_UNDEFINED) return MPI_UNDEFINED;
    whole += in_part;
    bytes -= here;
  }
  return whole;
}

std::uint64_t bytes_of_elements(const datatype_object& type, MPI_Count elements) {
  auto left = static_cast<std::uint64_t>(elements);
  if (left == 0 || type.basic_count == 0) return 0;
  if (type.basic_size != 0) return left * type.basic_size;
  std::uint64_t bytes = left / type.basic_count * type.size;
  left %= type.basic_count;
  for (const part& p : parts_of(type)) {
    if (left == 0) break;
    const std::uint64_t here = std::min<std::uint64_t>(left, p.type->basic_count * p.count);
    bytes += bytes_of_elements(*p.type, static_cast<MPI_Count>(here));
    left -= here;
  }
  return bytes;
}

}  // namespace weft::mpi
