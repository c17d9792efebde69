// Checks that the source which a message names is a rank of the process that the message came from. A context is never
// used twice, so what is known of a communicator never changes, and may outlive it.
//
// Everything is called on the worker that the message came to.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rank/state.hpp"

namespace weft::detail {

enum class origin {
  right,
  forged,
  unknown,  // The communicator has not been made here yet, or has ended.
};

// A cache, one for each worker: the processes of the ranks of communicators for which messages came.
class known_sources {
 public:
  // Whether the source is in `process`. False also when the communicator is not in the cache.
  [[nodiscard, gnu::always_inline]] bool are_right(const envelope& from,
                                                   int process) const noexcept {
    const std::uint32_t context = base_context(from.context);
    const entry& e = entries_[place_of(context)];
    return e.context == context && static_cast<std::uint32_t>(from.source) < e.count &&
           e.processes[from.source] == process;
  }
  void know(const communicator_state& c) noexcept;

 private:
  struct entry {
    std::uint32_t context = ~std::uint32_t{0};  // None.
    std::uint32_t count = 0;
    std::shared_ptr<const std::int32_t[]> processes;  // By rank.
  };
  // A hash: contexts of one process are a fixed step apart.
  [[nodiscard]] static std::size_t place_of(std::uint32_t context) noexcept {
    return context * 0x9e3779b9u >> 26;
  }
  std::array<entry, 64> entries_;
};

inline constexpr const char* foreign_source = "its source is no rank of the process that sends it";
inline constexpr const char* foreign_word = "its sender has no rank in the communicator";

}  // namespace weft::detail
