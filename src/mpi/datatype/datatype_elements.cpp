#include "mpi/datatype/datatype_elements.hpp"

#include <algorithm>

namespace weft::mpi {
namespace {

// The predefined pairs: of what value and what index.
struct pair_datatype {
  MPI_Datatype pair, value, index;
};
const pair_datatype pairs[] = {
    {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
    {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
    {MPI_LONG_INT, MPI_LONG, MPI_INT},
    {MPI_2INT, MPI_INT, MPI_INT},
    {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
    {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
    {MPI_2REAL, MPI_REAL, MPI_REAL},
    {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
    {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
};

std::vector<part> parts_of_pair(const datatype_object& type) {
  const auto& found = *std::ranges::find(pairs, predefined_handle(type), &pair_datatype::pair);
  return {{find_predefined(found.value), 1}, {find_predefined(found.index), 1}};
}

}  // namespace

std::vector<part> parts_of(const datatype_object& type) {
  if (type.made == nullptr) return parts_of_pair(type);
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

const datatype_object* find_only_basic(const datatype_object& type) {
  if (type.size == 0) return nullptr;
  if (type.made == nullptr) return &type;
  const datatype_object* found = nullptr;
  for (const part& p : parts_of(type)) {
    if (p.count == 0 || p.type->size == 0) continue;
    const datatype_object* const one = find_only_basic(*p.type);
    if (one == nullptr || (found != nullptr && found != one)) return nullptr;
    found = one;
  }
  return found;
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
