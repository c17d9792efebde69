#include "comm/in_flight.hpp"

#include <new>

namespace weft::comm {

operation* operation_table::take(std::size_t limit) noexcept {
  if (in_use_ >= limit) return nullptr;
  if (free_ == nullptr && !grow()) return nullptr;
  operation* const taken = free_;
  free_ = taken->behind;
  taken->behind = nullptr;
  ++in_use_;
  return taken;
}

void operation_table::give_back(operation* ended) noexcept {
  // What a fresh operation relies on; the rest is written by whoever takes it.
  ended->why = purpose::none;
  ended->at = phase::waiting;
  ended->move = transfer_mode::none;
  ended->awaited = message_kind::none;
  ended->result = outcome::complete;
  ended->in_place = ended->by_messages = ended->tells = ended->finished_elsewhere = false;
  ended->is_arriving = false;
  ended->handler = 0;
  ended->outstanding = 0;
  ended->local = {};
  ended->context = nullptr;
  ended->old = nullptr;
  ended->moved = ended->arrived = ended->offset = 0;
  ended->holding = nullptr;
  ended->local_count = ended->remote_count = 0;
  ended->local_part = ended->remote_part = 0;
  ended->local_offset = ended->remote_offset = 0;
  ++ended->generation;  // Names of before are no names any more.
  ended->behind = free_;
  free_ = ended;
  --in_use_;
}

operation* operation_table::find(std::uint64_t id) noexcept {
  const std::uint64_t index = (id & 0xffffffffu) - 1;
  if (index >= chunks_.size() * chunk_size) return nullptr;
  operation& found = chunks_[index / chunk_size][index % chunk_size];
  return found.in_use() && found.id() == id ? &found : nullptr;
}

[[gnu::noinline]] bool operation_table::grow() noexcept {
  if ((chunks_.size() + 1) * chunk_size > operations_max) return false;
  try {
    chunks_.push_back(std::make_unique<operation[]>(chunk_size));
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (std::size_t i = chunk_size; i-- > 0;) {
    operation& made = chunks_.back()[i];
    made.index = static_cast<std::uint32_t>((chunks_.size() - 1) * chunk_size + i);
    made.home = home_;
    made.behind = free_;
    free_ = &made;
  }
  return true;
}

}  // namespace weft::comm
