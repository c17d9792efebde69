// This process's part of a collective operation as a list of steps: messages, and work on their data. Steps begin in
// order; `settle` waits for all messages before it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "weft/comm/collectives.hpp"

namespace weft::comm {

class schedule {
 public:
  explicit schedule(device& on, std::uint16_t engine) noexcept : device_(on), engine_(engine) {}

  // Begins to be built, for the collective with this number. Keeps its memory from earlier ones.
  void reset(std::uint64_t number) noexcept;
  // `bytes` of memory of its own; all calls come before the first step.
  [[nodiscard]] std::span<std::byte> scratch(std::size_t bytes);

  void send(int to, std::span<const std::byte> data);
  void recv(int from, std::span<std::byte> data);
  void settle();
  void copy(std::span<std::byte> to, std::span<const std::byte> from);
  void combine(const combination& by, std::span<std::byte> into, std::span<const std::byte> from);

  // Takes the steps that can be taken now, without waiting; true when none is left.
  bool advance() noexcept;
  [[nodiscard]] bool is_over() const noexcept { return at_ == steps_.size(); }
  [[nodiscard]] outcome result() const noexcept {
    return ended_.failures() == failures_before_ && !failed_ ? outcome::complete : outcome::failed;
  }
  [[nodiscard]] device& on() const noexcept { return device_; }

  bool is_free = true;

 private:
  enum class kind : std::uint8_t { send, recv, settle, copy, combine };
  struct step {
    kind what;
    int peer = -1;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t size = 0;
    const combination* by = nullptr;
  };

  [[nodiscard]] status begin(const step& now) noexcept;

  device& device_;
  const std::uint16_t engine_;
  std::uint64_t tag_ = 0;
  std::vector<step> steps_;
  std::vector<std::byte> scratch_;
  combination combination_;
  std::size_t at_ = 0;
  std::uint64_t posted_ = 0;  // Since this object was made, as ended_ counts.
  std::uint64_t failures_before_ = 0;
  bool failed_ = false;
  counter ended_;
};

}  // namespace weft::comm
