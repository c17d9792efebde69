// The shared pointer of a file, in etypes: one for all ranks that have opened it together.
//
// In one process it is a word. Between processes it is eight bytes of a hidden file beside the file, made when the pointer is
// first used and removed when the file is closed; locks of the system order its users.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>

#include "mpi/io/open_file.hpp"

namespace weft::mpi {

class shared_pointer {
 public:
  // `path`: the hidden file; empty in a single process.
  explicit shared_pointer(std::string path) : path_(std::move(path)) {}

  // Whether an operation may block.
  [[nodiscard]] bool is_file() const noexcept { return !path_.empty(); }
  // Sets `value` to what it was. Called by any thread.
  [[nodiscard]] file_outcome add(std::uint64_t count, std::uint64_t& value) noexcept;
  [[nodiscard]] file_outcome get(std::uint64_t& value) noexcept { return add(0, value); }
  [[nodiscard]] file_outcome set(std::uint64_t value) noexcept;
  // Called by one rank when nobody uses it any more.
  void remove() noexcept;

 private:
  [[nodiscard]] file_outcome open() noexcept;
  [[nodiscard]] file_outcome read(std::uint64_t& value) noexcept;
  [[nodiscard]] file_outcome write(std::uint64_t value) noexcept;

  const std::string path_;
  std::mutex lock_;
  std::uint64_t value_ = 0;
  open_file file_;
  bool is_open_ = false;
};

}  // namespace weft::mpi
