// What the files of the tools interface share.
#pragma once
#include <cstddef>
#include <cstring>
#include <string_view>

#include "mpi/object/state.hpp"

namespace weft::mpi {

inline int give(int* to, std::size_t number) {
  if (to == nullptr) return MPI_T_ERR_INVALID;
  *to = static_cast<int>(number);
  return MPI_SUCCESS;
}
template <class T, class Value>
void give_if(T* to, Value value) {
  if (to != nullptr) *to = static_cast<T>(value);
}

// A text goes where there is room, cut off; the length that is told is that of the whole, with the zero byte.
void give_text(std::string_view text, char* to, int* length);

template <class List>
bool has_index(const List& list, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < list.size();
}

// How many types of events there are (tool_events.cpp).
[[nodiscard]] std::size_t event_types() noexcept;

}  // namespace weft::mpi
