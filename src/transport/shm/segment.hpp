// The memory of one endpoint that its peers write: its layout, how it is made, and how it is found.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "base/limits.hpp"
#include "sync/announcements.hpp"
#include "sync/parking.hpp"
#include "sync/published.hpp"

namespace weft {

// A number that no other segment has.
struct segment_cookie {
  std::uint64_t words[2] = {0, 0};
  bool operator==(const segment_cookie&) const = default;
};

// The first page. Peers set bits of `announced`, clear `spot` and count in `opened`; the rest is
// the owner's to write.
struct segment_front {
  segment_cookie cookie;
  published<std::uint32_t, shared_atomics>
      is_ready;  // The rings may be used: the file has its full size.
  published<std::uint32_t, shared_atomics>
      has_left;                       // The owner has taken leave: nobody reads the rings any more.
  std::atomic<std::uint32_t> opened;  // How many peers have opened it; the last removes the name.
  alignas(padding_bytes) parking_spot<shared_atomics> spot;
  announcements<shared_atomics> announced;
};

// One per sender, behind the front.
struct alignas(padding_bytes) ring_control {
  watch_flag<shared_atomics> watch;   // The owner writes it.
  std::atomic<std::size_t> head;      // The owner writes it.
  room_request<shared_atomics> room;  // The sender sets it, the owner takes it.
};

inline constexpr std::size_t page_bytes = 4096;
static_assert(sizeof(segment_front) <= page_bytes);
static_assert(std::is_standard_layout_v<ring_control>);

// What address() says: where the segment is and how to be sure that it is the right one.
struct segment_address {
  static constexpr std::uint64_t version = 0x7765667473686d31;

  std::uint64_t magic = version;
  std::uint64_t machine[3] = {0, 0, 0};  // The machine's boot id, and the PID namespace.
  segment_cookie cookie;
  std::uint64_t process_start = 0;
  std::uint64_t cookie_address = 0;  // In the owner's memory: peers try to read the cookie there.
  std::uint64_t ring_bytes = 0;
  std::int32_t process = 0;
  std::int32_t descriptor = -1;  // The owner's memfd; -1: a file in /dev/shm.
  std::uint32_t fences = 0;      // The owner's heavy fences reach its peers.
  std::uint32_t unused = 0;
  char name[64] = {};  // Of the file, ended by a zero.
};
static_assert(std::has_unique_object_representations_v<segment_address>);

// Rings begin in different sets of the caches: an idle poll looks at the same place of all.
[[nodiscard]] inline std::size_t ring_stride(const segment_address& address) noexcept {
  return address.ring_bytes + padding_bytes;
}

class segment {
 public:
  segment() = default;
  segment(segment&& other) noexcept { swap(other); }
  segment& operator=(segment&& other) noexcept {
    swap(other);
    return *this;
  }
  ~segment();

  // Makes the owner's segment, of one page until grow(). `nameless`: without a name; otherwise, or when the kernel
  // refuses that, a file in /dev/shm whose name begins with weft-JOB-. Throws weft::error.
  [[nodiscard]] static segment make(std::size_t ring_bytes, bool nameless, const std::string& job);
  // Called by the owner once it knows how many senders there are. Throws weft::error.
  void grow(std::size_t senders);

  // Opens a peer's segment, with `senders` rings. Empty, with the reason in `why`, when it cannot be opened or is not
  // the right one. The rings may be used once front().is_ready.
  [[nodiscard]] static segment open(const segment_address& address, std::size_t senders,
                                    std::string& why);
  [[nodiscard]] explicit operator bool() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] const segment_address& address() const noexcept { return address_; }
  [[nodiscard]] segment_front& front() const noexcept {
    return *reinterpret_cast<segment_front*>(memory_);
  }
  [[nodiscard]] ring_control& control(std::size_t sender) const noexcept {
    return reinterpret_cast<ring_control*>(memory_ + page_bytes)[sender];
  }
  [[nodiscard]] std::atomic<std::uint64_t>* ring(std::size_t sender) const noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + rings_offset_ +
                                                         sender * ring_stride(address_));
  }

 private:
  void swap(segment& other) noexcept;
  bool map(int file, std::size_t senders) noexcept;
  void forget_name() const noexcept;

  segment_address address_;
  int file_ = -1;                           // Only the owner has it, open so that peers find it.
  std::unique_ptr<segment_cookie> cookie_;  // Only the owner has it.
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  std::size_t rings_offset_ = 0;
};

// Whether the owners of two addresses are on one node.
[[nodiscard]] bool share_node(const segment_address& a, const segment_address& b) noexcept;

// Parses an address that came from another process. Its magic is 0 when it is not valid.
[[nodiscard]] segment_address parse_segment_address(std::span<const std::byte> bytes) noexcept;

}  // namespace weft
