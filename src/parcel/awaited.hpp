// What the layer keeps of a call whose answer is awaited, in the room that the call has for it.
#pragma once
#include <new>

#include "parcel/layer.hpp"
#include "task/task_source.hpp"

namespace weft::detail {

struct parcel_layer::awaited : suspended {
  task_source* home;
  const action_entry* which;
  std::uint64_t name;  // The call has it in the table of its worker.
  int process;         // This one is to answer.
};

inline parcel_layer::awaited& parcel_layer::room_of(awaited_call& call) noexcept {
  return *std::launder(reinterpret_cast<awaited*>(call.room));
}

}  // namespace weft::detail
