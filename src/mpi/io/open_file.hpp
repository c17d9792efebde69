// A file as a process has it open, once for all its ranks that have opened it together.
#pragma once
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "mpi/io/file_view.hpp"
#include "sync/published.hpp"

namespace weft::mpi {

// What became of an operation. `error` is the system's.
struct file_outcome {
  int error = 0;
  const char* action = "";  // What failed: "pwrite".
  std::uint64_t at = 0;     // Where.
  // Reads that found the end of the file have found it here, or did not reach so far.
  std::uint64_t end_of_file = no_end;
  static constexpr std::uint64_t no_end = ~std::uint64_t{0};

  [[nodiscard]] bool is_good() const noexcept { return error == 0; }
  // Of several operations: the first failure, the least end.
  void add(const file_outcome& other) noexcept {
    if (error == 0 && other.error != 0) {
      error = other.error;
      action = other.action;
      at = other.at;
    }
    end_of_file = end_of_file < other.end_of_file ? end_of_file : other.end_of_file;
  }
};

// The error class of a number of errno.
[[nodiscard]] int class_of_error(int error) noexcept;
// "No space left on device".
[[nodiscard]] std::string text_of_error(int error);

class open_file {
 public:
  open_file() = default;
  ~open_file();
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  // `path` is absolute; `mode` is that of a file that is made, whatever mask there is.
  [[nodiscard]] file_outcome open(const std::string& path, int flags, unsigned mode) noexcept;
  // Also when nothing has been opened.
  file_outcome close() noexcept;

  [[nodiscard]] bool in_memory() const noexcept { return in_memory_; }
  [[nodiscard]] file_outcome size(std::uint64_t& bytes) const noexcept;
  [[nodiscard]] file_outcome set_size(std::uint64_t bytes) const noexcept;
  [[nodiscard]] file_outcome preallocate(std::uint64_t bytes) const noexcept;
  [[nodiscard]] file_outcome synchronize() const noexcept;

  // Pieces in ascending order. They are joined into as few calls of the system as possible; bytes between them are never
  // written.
  [[nodiscard]] file_outcome write(std::span<const file_piece> pieces) const noexcept;
  // `only_cached`: bytes that the system has in memory; where it would have to wait for others the error is EAGAIN, and some of
  // the pieces may have been read.
  [[nodiscard]] file_outcome read(std::span<const file_piece> pieces,
                                  bool only_cached = false) const noexcept;

  // While it lives, no other atomic access overlaps: neither of this process nor, by locks of the system, of others.
  class range_lock {
   public:
    range_lock(open_file& in, std::uint64_t begin, std::uint64_t end, bool writes) noexcept;
    ~range_lock();
    range_lock(const range_lock&) = delete;
    range_lock& operator=(const range_lock&) = delete;
    [[nodiscard]] const file_outcome& outcome() const noexcept { return outcome_; }

   private:
    open_file& in_;
    const std::lock_guard<std::mutex> here_;
    std::uint64_t begin_;
    std::uint64_t bytes_;
    file_outcome outcome_;
  };

  // Operations under way that use memory of several ranks: one that leaves its call early waits for their end.
  join_count<> borrowed;

 private:
  int descriptor_ = -1;
  bool in_memory_ = false;
  std::mutex atomic_;
};

}  // namespace weft::mpi
