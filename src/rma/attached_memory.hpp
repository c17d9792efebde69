// Ranges of its own memory that a rank attaches and takes back, one by one and without the others. Their addresses name them.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "sync/published.hpp"

namespace weft::rma {

class attached_memory {
 public:
  attached_memory() = default;
  attached_memory(const attached_memory&) = delete;
  attached_memory& operator=(const attached_memory&) = delete;

  // The rank calls these. False: the range overlaps one that is attached; it has no bytes, or ends beyond all memory.
  [[nodiscard]] bool attach(const void* begin, std::size_t bytes);
  // False: no range begins there.
  [[nodiscard]] bool detach(const void* begin) noexcept;

  // Calls visit(begin) for each range. Called by the rank.
  template <class Visit>
  void each(const Visit& visit) const {
    for (const block* b = &first_; b != nullptr; b = b->next.value())
      for (const range& r : b->ranges)
        if (const std::uint64_t begin = r.begin.value(); begin != 0)
          visit(reinterpret_cast<const void*>(begin));
  }

  // Any thread of the process calls it. Returns the place when all the bytes are attached, in one range or in several that
  // follow each other; else null.
  [[nodiscard]] std::byte* find(std::uint64_t address, std::size_t bytes) const noexcept;

 private:
  // How many bytes of one range lie from there on; 0: none has the address.
  [[nodiscard]] std::size_t bytes_from(std::uint64_t address) const noexcept;

  // `bytes` is written before `begin` is published. A reader looks at `begin` again behind it: the place may have been used
  // for another range meanwhile, by a program that takes back what others are using.
  struct range {
    published<std::uint64_t> begin{0};     // 0: it is free.
    std::atomic<std::uint64_t> bytes = 0;  // Relaxed.
  };
  struct block {
    std::array<range, 30> ranges;
    published<block*> next{nullptr};
    std::unique_ptr<block> owned_next;
  };

  block first_;
};

}  // namespace weft::rma
