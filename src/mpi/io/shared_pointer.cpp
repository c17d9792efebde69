#include "mpi/io/shared_pointer.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace weft::mpi {
namespace {

constexpr unsigned own_user_only = 0600;

std::byte* bytes_of(std::uint64_t& word) noexcept {
  return reinterpret_cast<std::byte*>(&word);
}

}  // namespace

file_outcome shared_pointer::open() noexcept {
  if (is_open_) return {};
  const file_outcome opened = file_.open(path_, O_RDWR | O_CREAT | O_NOFOLLOW, own_user_only);
  is_open_ = opened.is_good();
  return opened;
}

// A file that has just been made is empty, which means 0.
file_outcome shared_pointer::read(std::uint64_t& value) noexcept {
  std::uint64_t found = 0;
  const file_piece word{0, bytes_of(found), sizeof found};
  file_outcome outcome = file_.read({&word, 1});
  value = outcome.end_of_file == file_outcome::no_end ? found : 0;
  outcome.end_of_file = file_outcome::no_end;
  return outcome;
}
file_outcome shared_pointer::write(std::uint64_t value) noexcept {
  const file_piece word{0, bytes_of(value), sizeof value};
  return file_.write({&word, 1});
}

file_outcome shared_pointer::add(std::uint64_t count, std::uint64_t& value) noexcept {
  const std::lock_guard hold(lock_);
  if (!is_file()) {
    value = value_;
    value_ += count;
    return {};
  }
  if (const file_outcome opened = open(); !opened.is_good()) return opened;
  const open_file::range_lock alone(file_, 0, sizeof value, true);
  if (!alone.outcome().is_good()) return alone.outcome();
  file_outcome outcome = read(value);
  if (outcome.is_good() && count != 0) outcome = write(value + count);
  return outcome;
}

file_outcome shared_pointer::set(std::uint64_t value) noexcept {
  const std::lock_guard hold(lock_);
  if (!is_file()) {
    value_ = value;
    return {};
  }
  if (const file_outcome opened = open(); !opened.is_good()) return opened;
  const open_file::range_lock alone(file_, 0, sizeof value, true);
  return alone.outcome().is_good() ? write(value) : alone.outcome();
}

void shared_pointer::remove() noexcept {
  if (is_file()) ::unlink(path_.c_str());
}

}  // namespace weft::mpi
