// Memory of a process that the other processes of its node may map: a file without a name (memfd). In a job of one process an
// arena is private memory. Parts of regions lie in arenas (shared_parts.hpp), and the signs of workers (signs.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace weft::rma {

// Other processes find an arena by its address.
struct arena_address {
  std::int32_t process = 0;  // The kernel's number of the process; 0: nobody can map the arena.
  std::int32_t descriptor = -1;
  std::uint64_t cookie[2] = {};
  std::uint64_t bytes = 0;
};

class arena {
 public:
  // An arena begins at a multiple of this in every process that maps it.
  static constexpr std::size_t alignment = std::size_t{2} << 20;  // A large page.
  // The user's bytes begin behind these.
  static constexpr std::size_t head_bytes = 4096;

  // Reserves so many bytes, zero until they are touched; only what is touched takes memory. Throws weft::error when the
  // system has no room. `shared`: others may map it.
  arena(std::size_t bytes, bool shared);
  // Maps the arena of another process of this node. Returns nothing when it cannot be mapped, or is not what the address
  // says.
  [[nodiscard]] static std::optional<arena> open(const arena_address& at) noexcept;
  // Tells whether the system has room for so many arenas of so many bytes now, and for as much as one takes beside them.
  [[nodiscard]] static bool has_room(std::size_t bytes, bool shared, std::size_t arenas) noexcept;
  arena(arena&& other) noexcept;
  arena& operator=(arena&&) = delete;
  ~arena();

  [[nodiscard]] const arena_address& address() const noexcept { return address_; }
  [[nodiscard]] std::size_t size() const noexcept { return address_.bytes; }
  // The place so many bytes behind the begin.
  [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept { return begin_ + offset; }
  // The system may use large pages there: each is made, and cleared, when one byte of it is touched.
  void allow_large_pages(std::span<std::byte> pages) const noexcept;

 private:
  arena() = default;

  std::byte* begin_ = nullptr;
  arena_address address_;
  bool is_shared_ = false;
};

}  // namespace weft::rma
