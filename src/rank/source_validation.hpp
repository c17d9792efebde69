// Which process each rank of a communicator is in: what a message from another process says of its source
// is compared with where it came from. Contexts are never given twice, so nothing here changes once it is
// known, and it may outlive its communicator.
//
// Everything is called on the worker that the message came to.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rank/state.hpp"
#include "weft/comm/operations.hpp"

namespace weft::detail {

enum class origin {
  right,
  forged,
  unknown,  // The communicator has not been made here yet, or has ended.
};

// Those of the communicators for which messages came to one worker.
class known_sources {
 public:
  // False also when nothing is known of the communicator.
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
  // Those that one process has taken are a fixed step apart.
  [[nodiscard]] static std::size_t place_of(std::uint32_t context) noexcept {
    return context * 0x9e3779b9u >> 26;
  }
  std::array<entry, 64> entries_;
};

// The peer is broken: counted, and the first time reported.
[[gnu::cold]] void refuse(worker& here, const comm::address& sender, const char* why) noexcept;

inline constexpr const char* foreign_source = "its source is no rank of the process that sends it";
inline constexpr const char* foreign_word = "its sender has no rank in the communicator";

}  // namespace weft::detail
