#include "rma/attached_memory.hpp"

namespace weft::rma {

bool attached_memory::attach(const void* begin, std::size_t bytes) {
  const std::uint64_t at = reinterpret_cast<std::uintptr_t>(begin);
  std::uint64_t end = 0;
  if (at == 0 || bytes == 0 || __builtin_add_overflow(at, bytes, &end)) return false;
  range* spare = nullptr;
  block* last = &first_;
  for (block* b = &first_; b != nullptr; last = b, b = b->owned_next.get())
    for (range& r : b->ranges) {
      const std::uint64_t other = r.begin.hint();
      if (other == 0)
        spare = spare == nullptr ? &r : spare;
      else if (at < other + r.bytes.load(std::memory_order_relaxed) && other < end)
        return false;
    }
  if (spare == nullptr) {
    last->owned_next = std::make_unique<block>();
    spare = &last->owned_next->ranges.front();
    last->next.publish(last->owned_next.get());
  }
  spare->bytes.store(bytes, std::memory_order_relaxed);
  spare->begin.publish(at);
  return true;
}

bool attached_memory::detach(const void* begin) noexcept {
  const std::uint64_t at = reinterpret_cast<std::uintptr_t>(begin);
  for (block* b = &first_; at != 0 && b != nullptr; b = b->owned_next.get())
    for (range& r : b->ranges)
      if (r.begin.hint() == at) {
        r.begin.publish(0);
        return true;
      }
  return false;
}

std::size_t attached_memory::bytes_from(std::uint64_t address) const noexcept {
  for (const block* b = &first_; b != nullptr; b = b->next.value())
    for (const range& r : b->ranges) {
      const std::uint64_t begin = r.begin.value();
      if (begin == 0 || address < begin) continue;
      const std::uint64_t size = r.bytes.load(std::memory_order_relaxed);
      const std::uint64_t before = address - begin;
      if (before < size && r.begin.value() == begin) return size - before;
    }
  return 0;
}

std::byte* attached_memory::find(std::uint64_t address, std::size_t bytes) const noexcept {
  auto* const found = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
  std::size_t left = bytes;
  for (;;) {
    const std::size_t here = bytes_from(address);
    if (here >= left) return left != 0 ? found : nullptr;
    if (here == 0) return nullptr;
    address += here;
    left -= here;
  }
}

}  // namespace weft::rma
