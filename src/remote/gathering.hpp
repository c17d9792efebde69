// Small messages that wait to travel together. Each destination has room for what goes there next: a message that finds no
// room, or that must not be overtaken, has what is gathered sent first.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft::remote {

// Room in which small messages lie one after the other.
template <std::size_t Capacity>
class gather_room {
 public:
  static constexpr std::size_t bytes_max = Capacity;

  // Returns where the next `bytes` go; null when with them it would hold more than `limit`, and nothing is done.
  [[nodiscard, gnu::always_inline]] std::byte* try_reserve(std::size_t bytes,
                                                           std::size_t limit = Capacity) noexcept {
    if (used_ + bytes > limit) return nullptr;
    std::byte* const at = bytes_.data() + used_;
    used_ += bytes;
    return at;
  }
  [[nodiscard]] bool is_empty() const noexcept { return used_ == 0; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {bytes_.data(), used_}; }
  void clear() noexcept { used_ = 0; }

 private:
  std::size_t used_ = 0;
  alignas(16) std::array<std::byte, Capacity> bytes_;
};

// The rooms of one sender, by destination. Used by one worker, and by threads of a rank in turns: while one waits in
// send() for room in the network, others may gather.
template <std::size_t Capacity>
class gathering {
 public:
  explicit gathering(std::size_t destinations) : of_(destinations) {}

  // Does what gather_room::try_reserve() does, for that destination. Throws std::bad_alloc.
  [[nodiscard, gnu::always_inline]] std::byte* try_reserve(std::size_t destination,
                                                           std::size_t bytes,
                                                           std::size_t limit = Capacity) {
    one& to = of_[destination];
    if (!to.is_ready) [[unlikely]]
      prepare(destination);
    return to.room->try_reserve(bytes, limit);
  }
  // What is gathered for that destination.
  [[nodiscard]] std::span<std::byte> gathered_for(std::size_t destination) noexcept {
    one& to = of_[destination];
    return to.room != nullptr ? to.room->bytes() : std::span<std::byte>();
  }
  // It has been sent.
  void clear(std::size_t destination) noexcept { of_[destination].room->clear(); }
  // Calls send(destination, bytes) for what is gathered for that destination, if anything.
  template <class Send>
  void send(std::size_t destination, const Send& send_bytes) {
    if (gathered_for(destination).empty()) return;
    one& to = of_[destination];
    to.is_ready = false;
    std::unique_ptr<gather_room<Capacity>> leaves = std::move(to.room);
    send_bytes(destination, leaves->bytes());
    leaves->clear();
    if (to.room == nullptr) to.room = std::move(leaves);
  }
  // All that is gathered.
  template <class Send>
  void send_all(const Send& send_bytes) {
    while (!filled_.empty()) {
      const std::size_t destination = filled_.back();
      filled_.pop_back();
      of_[destination].is_listed = of_[destination].is_ready = false;
      send(destination, send_bytes);
    }
  }

 private:
  struct one {
    std::unique_ptr<gather_room<Capacity>>
        room;                // Null before the first message, and while it is sent.
    bool is_listed = false;  // It is in filled_.
    bool is_ready = false;   // It is in filled_, and has a room.
  };

  [[gnu::noinline]] void prepare(std::size_t destination) {
    one& to = of_[destination];
    if (to.room == nullptr) to.room = std::make_unique_for_overwrite<gather_room<Capacity>>();
    if (!to.is_listed) filled_.push_back(destination);
    to.is_listed = to.is_ready = true;
  }

  std::vector<one> of_;
  std::vector<std::size_t> filled_;  // The destinations whose rooms may hold something.
};

}  // namespace weft::remote
