// A buffer longer than 32 bits can say, in front of little memory: most of it is the same piece again
// and again. Its end is memory of its own, and holds other bytes than its beginning.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>

namespace weft::tests {

class memory_beyond_4_gib {
 public:
  memory_beyond_4_gib() {
    const int file = ::memfd_create("repeated", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, piece) != 0) std::abort();
    // Writable where no piece is laid over it: the end.
    void* const all = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) std::abort();
    data_ = static_cast<char*>(all);
    for (std::size_t at = 0; at < repeated; at += piece)
      if (::mmap(data_ + at, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
          MAP_FAILED)
        std::abort();
    ::close(file);
  }
  ~memory_beyond_4_gib() { ::munmap(data_, mapped); }
  memory_beyond_4_gib(const memory_beyond_4_gib&) = delete;
  memory_beyond_4_gib& operator=(const memory_beyond_4_gib&) = delete;

  [[nodiscard]] std::span<char> all() const { return {data_, repeated + end}; }

  void fill(char first) const {
    for (std::size_t i = 0; i < end; ++i) data_[i] = head(first, i);
    for (std::size_t i = 0; i < end; ++i) data_[repeated + i] = tail(first, i);
  }
  [[nodiscard]] bool is_filled(char first) const {
    for (std::size_t i = 0; i < end; ++i)
      if (data_[i] != head(first, i) || data_[repeated + i] != tail(first, i)) return false;
    return true;
  }

 private:
  static constexpr std::size_t piece = 16 << 20, repeated = std::size_t{1} << 32, end = 12345,
                               mapped = repeated + piece;
  static char head(char first, std::size_t i) { return static_cast<char>(first + i % 23); }
  static char tail(char first, std::size_t i) { return static_cast<char>(first + i % 19); }

  char* data_ = nullptr;
};

}  // namespace weft::tests
