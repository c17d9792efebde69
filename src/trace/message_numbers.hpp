// Which number each message of a rank has among those of its name: sender and receiver count alike, so both make the same
// key of name and number. Called by whoever runs code of the rank's home worker.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace weft {

class message_numbers {
 public:
  // The number of the next message of this name that the rank sends, or receives; the first is 1. 0: there are too many names.
  [[nodiscard]] std::uint64_t of_sent(std::uint64_t name) noexcept {
    counts* const at = find(name);
    return at == nullptr ? 0 : ++at->sent;
  }
  [[nodiscard]] std::uint64_t of_received(std::uint64_t name) noexcept {
    counts* const at = find(name);
    return at == nullptr ? 0 : ++at->received;
  }
  // The number that the next one will have; nothing is counted.
  [[nodiscard]] std::uint64_t next_received(std::uint64_t name) noexcept {
    const counts* const at = find(name);
    return at == nullptr ? 0 : at->received + 1;
  }

  // Long messages may end in another order than they are matched: the number is kept for the receive until its end.
  [[nodiscard]] std::uint64_t of_matched(std::uint64_t name, const void* receive) {
    const std::uint64_t number = of_received(name);
    matched_.push_back({receive, number});
    return number;
  }
  // The number of a receive that ends.
  [[nodiscard]] std::uint64_t of_ended(std::uint64_t name, const void* receive) noexcept {
    const auto kept = std::ranges::find(matched_, receive, &matched::receive);
    if (kept == matched_.end()) [[likely]]
      return of_received(name);
    const std::uint64_t number = kept->number;
    matched_.erase(kept);
    return number;
  }

 private:
  struct counts {
    std::uint64_t name, sent, received;
  };
  struct matched {
    const void* receive;
    std::uint64_t number;
  };
  struct freed {
    void operator()(counts* all) const noexcept { std::free(all); }
  };
  static constexpr std::size_t rows_count = 8192, probes_max = 64;

  [[nodiscard]] counts* find(std::uint64_t name) noexcept {
    if (rows_ == nullptr) return nullptr;
    for (std::size_t probe = 0; probe < probes_max; ++probe) {
      counts& at = rows_.get()[(name + probe) % rows_count];
      if (at.sent == 0 && at.received == 0) at.name = name;
      if (at.name == name) return &at;
    }
    return nullptr;
  }

  // Zero, and touched only where names come to lie.
  std::unique_ptr<counts, freed> rows_{
      static_cast<counts*>(std::calloc(rows_count, sizeof(counts)))};
  std::vector<matched> matched_;  // A few at a time.
};

}  // namespace weft
