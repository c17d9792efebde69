#include "mpi/io/open_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

namespace weft::mpi {
namespace {

// Shorter pieces than this are gathered in a buffer, longer ones go to the system one by one in a list.
constexpr std::size_t short_piece_bytes = 512;
// The size of that buffer.
constexpr std::size_t staging_bytes = std::size_t{4} << 20;
// Reads take bytes between the pieces along where these gaps are shorter, and pieces are short.
constexpr std::uint64_t read_gap_bytes_max = 4096;
constexpr std::size_t read_through_piece_bytes_max = 4096;
constexpr std::size_t list_length_max = 512;  // Below IOV_MAX.

file_outcome failed(const char* action, std::uint64_t at) noexcept {
  return {.error = errno, .action = action, .at = at};
}

// Calls of the system on bytes in a row that a list describes: begun again after a signal, and for what a call has left.
// Returns how many bytes were moved: fewer at the end of the file, or with `outcome.error`.
template <bool writes>
std::size_t move(int descriptor, std::span<iovec> list, std::uint64_t offset, file_outcome& outcome,
                 int flags = 0) noexcept {
  std::size_t moved = 0;
  while (!list.empty()) {
    const auto at = static_cast<off_t>(offset + moved);
    const auto count = static_cast<int>(std::min(list.size(), list_length_max));
    const ssize_t done = writes ? ::pwritev(descriptor, list.data(), count, at)
                                : ::preadv2(descriptor, list.data(), count, at, flags);
    if (done < 0) {
      if (errno == EINTR) continue;
      outcome.add(failed(writes ? "writing" : "reading", offset + moved));
      return moved;
    }
    if (done == 0) {
      // A write that writes nothing and has no error would never end.
      if (writes) {
        errno = EIO;
        outcome.add(failed("writing", offset + moved));
      }
      return moved;
    }
    moved += static_cast<std::size_t>(done);
    auto left = static_cast<std::size_t>(done);
    while (!list.empty() && left >= list.front().iov_len) {
      left -= list.front().iov_len;
      list = list.subspan(1);
    }
    if (left != 0) {
      list.front().iov_base = static_cast<std::byte*>(list.front().iov_base) + left;
      list.front().iov_len -= left;
    }
  }
  return moved;
}

iovec entry(std::byte* memory, std::size_t bytes) noexcept {
  return {memory, bytes};
}

// The buffer for short pieces, made when it is first needed. Null when there is no memory: then all go one by one.
class staging {
 public:
  [[nodiscard]] std::byte* get() noexcept {
    if (buffer_ == nullptr) buffer_.reset(new (std::nothrow) std::byte[staging_bytes]);
    return buffer_.get();
  }

 private:
  std::unique_ptr<std::byte[]> buffer_;
};

// How many of the pieces, from the first on, lie in a row in the file and fit the limits.
std::size_t in_a_row(std::span<const file_piece> pieces, std::size_t count_max,
                     std::size_t bytes_max) noexcept {
  std::size_t count = 1;
  std::size_t bytes = pieces[0].bytes;
  while (count < pieces.size() && count < count_max &&
         pieces[count].offset == pieces[count - 1].end() &&
         bytes + pieces[count].bytes <= bytes_max) {
    bytes += pieces[count].bytes;
    ++count;
  }
  return count;
}

}  // namespace

int class_of_error(int error) noexcept {
  switch (error) {
    case 0:
      return MPI_SUCCESS;
    case ENOENT:
      return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case ENAMETOOLONG:
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
      return MPI_ERR_BAD_FILE;
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case ETXTBSY:
    case EBUSY:
      return MPI_ERR_FILE_IN_USE;
    case ENOMEM:
      return MPI_ERR_NO_MEM;
    case ECONNRESET:
      return MPI_ERR_PROC_ABORTED;
    case EOPNOTSUPP:
    case ENOSYS:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    default:
      return MPI_ERR_IO;
  }
}

std::string text_of_error(int error) {
  char text[128] = "";
  return ::strerror_r(error, text, sizeof text);
}

open_file::~open_file() {
  (void)close();
}

// By system calls themselves: in a program of several ranks the functions of the C library note whose a descriptor is, and
// this one is no rank's.
file_outcome open_file::open(const std::string& path, int flags, unsigned mode) noexcept {
  long opened = 0;
  do opened = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CLOEXEC, mode);
  while (opened < 0 && errno == EINTR);
  if (opened < 0) return failed("opening", 0);
  descriptor_ = static_cast<int>(opened);
  struct stat found {};
  if (::fstat(descriptor_, &found) == 0 && S_ISDIR(found.st_mode)) {
    (void)close();
    errno = EISDIR;
    return failed("opening", 0);
  }
  struct statfs system {};
  in_memory_ = ::fstatfs(descriptor_, &system) == 0 &&
               (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
  return {};
}

file_outcome open_file::close() noexcept {
  if (descriptor_ < 0) return {};
  const long closed = ::syscall(SYS_close, descriptor_);
  descriptor_ = -1;
  return closed == 0 || errno == EINTR ? file_outcome{} : failed("closing", 0);
}

file_outcome open_file::size(std::uint64_t& bytes) const noexcept {
  struct stat found {};
  if (::fstat(descriptor_, &found) != 0) return failed("asking for the size", 0);
  bytes = static_cast<std::uint64_t>(found.st_size);
  return {};
}

file_outcome open_file::set_size(std::uint64_t bytes) const noexcept {
  while (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
    if (errno != EINTR) return failed("setting the size to", bytes);
  return {};
}

file_outcome open_file::preallocate(std::uint64_t bytes) const noexcept {
  if (bytes == 0) return {};
  int error = 0;
  do error = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  while (error == EINTR);
  errno = error;
  return error == 0 ? file_outcome{} : failed("preallocating up to", bytes);
}

file_outcome open_file::synchronize() const noexcept {
  while (::fsync(descriptor_) != 0) {
    if (errno == EINVAL || errno == EROFS) return {};  // Nothing of it is kept anywhere else.
    if (errno != EINTR) return failed("synchronising", 0);
  }
  return {};
}

file_outcome open_file::write(std::span<const file_piece> pieces) const noexcept {
  file_outcome outcome;
  staging buffer;
  std::array<iovec, list_length_max> list;
  while (!pieces.empty() && outcome.is_good()) {
    const std::uint64_t offset = pieces[0].offset;
    const bool is_short = pieces.size() > 1 && pieces[0].bytes < short_piece_bytes &&
                          pieces[1].bytes < short_piece_bytes && buffer.get() != nullptr;
    const std::size_t count = is_short ? in_a_row(pieces, pieces.size(), staging_bytes)
                                       : in_a_row(pieces, list_length_max, ~std::size_t{0});
    if (is_short && count > 1) {
      std::byte* to = buffer.get();
      for (const file_piece& p : pieces.first(count)) {
        std::memcpy(to, p.memory, p.bytes);
        to += p.bytes;
      }
      list[0] = entry(buffer.get(), static_cast<std::size_t>(to - buffer.get()));
      (void)move<true>(descriptor_, {list.data(), 1}, offset, outcome);
    } else {
      for (std::size_t i = 0; i < count; ++i) list[i] = entry(pieces[i].memory, pieces[i].bytes);
      (void)move<true>(descriptor_, {list.data(), count}, offset, outcome);
    }
    pieces = pieces.subspan(count);
  }
  return outcome;
}

namespace {

// How many pieces, from the first on, one read through the gaps between them fetches; 1: it is not worth it.
std::size_t read_through(std::span<const file_piece> pieces) noexcept {
  std::size_t count = 0;
  while (count < pieces.size()) {
    const file_piece& p = pieces[count];
    if (p.bytes > read_through_piece_bytes_max || p.end() - pieces[0].offset > staging_bytes) break;
    if (count > 0 && p.offset > pieces[count - 1].end() + read_gap_bytes_max) break;
    ++count;
  }
  return std::max(count, std::size_t{1});
}

}  // namespace

file_outcome open_file::read(std::span<const file_piece> pieces, bool only_cached) const noexcept {
  const int flags = only_cached ? RWF_NOWAIT : 0;
  file_outcome outcome;
  staging buffer;
  std::array<iovec, list_length_max> list;
  while (!pieces.empty() && outcome.is_good()) {
    const std::uint64_t offset = pieces[0].offset;
    std::size_t count = read_through(pieces);
    std::size_t wanted = 0;
    std::size_t found = 0;
    const std::size_t row = in_a_row(pieces, list_length_max, ~std::size_t{0});
    const bool has_no_gaps = row >= count && pieces[0].bytes >= short_piece_bytes;
    if (count > 1 && !has_no_gaps && buffer.get() != nullptr) {
      for (const file_piece& p : pieces.first(count))
        wanted = std::max(wanted, static_cast<std::size_t>(p.end() - offset));
      list[0] = entry(buffer.get(), wanted);
      found = move<false>(descriptor_, {list.data(), 1}, offset, outcome, flags);
      for (const file_piece& p : pieces.first(count)) {
        const auto from = static_cast<std::size_t>(p.offset - offset);
        if (from < found)
          std::memcpy(p.memory, buffer.get() + from, std::min(p.bytes, found - from));
      }
    } else {
      count = row;
      for (std::size_t i = 0; i < count; ++i) {
        list[i] = entry(pieces[i].memory, pieces[i].bytes);
        wanted += pieces[i].bytes;
      }
      found = move<false>(descriptor_, {list.data(), count}, offset, outcome, flags);
    }
    if (found < wanted && outcome.is_good()) {
      outcome.end_of_file = offset + found;
      break;  // What follows lies behind it.
    }
    pieces = pieces.subspan(count);
  }
  return outcome;
}

// --- Atomic accesses ---------------------------------------------------------------------------------------------------

namespace {

// Locks of the open file, not of the process: closing another descriptor of the same file drops them not.
int set_lock(int descriptor, short kind, std::uint64_t begin, std::uint64_t bytes) noexcept {
  struct flock range {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(begin);
  range.l_len = static_cast<off_t>(bytes);
  int result = 0;
  do result = static_cast<int>(::syscall(SYS_fcntl, descriptor, F_OFD_SETLKW, &range));
  while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

open_file::range_lock::range_lock(open_file& in, std::uint64_t begin, std::uint64_t end,
                                  bool writes) noexcept
    : in_(in), here_(in.atomic_), begin_(begin), bytes_(end - begin) {
  if (bytes_ == 0) return;
  if (set_lock(in.descriptor_, writes ? F_WRLCK : F_RDLCK, begin_, bytes_) != 0)
    outcome_ = failed("locking", begin);
}

open_file::range_lock::~range_lock() {
  if (bytes_ != 0 && outcome_.is_good()) (void)set_lock(in_.descriptor_, F_UNLCK, begin_, bytes_);
}

}  // namespace weft::mpi
