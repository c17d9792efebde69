#include "transport/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "base/process_life.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

std::size_t rings_offset(std::size_t senders) {
  const std::size_t controls = page_bytes + senders * sizeof(ring_control);
  return (controls + page_bytes - 1) / page_bytes * page_bytes;
}

// Zero where the machine does not say: then nobody else is on the same one.
void read_machine(std::uint64_t (&words)[3]) {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, text);
  std::erase(text, '-');
  unsigned long long high = 0;
  unsigned long long low = 0;
  struct stat space {};
  if (std::sscanf(text.c_str(), "%16llx%16llx", &high, &low) != 2 ||
      stat("/proc/self/ns/pid", &space) != 0)
    return;
  words[0] = high;
  words[1] = low;
  words[2] = space.st_ino;
}

segment_cookie new_cookie() {
  segment_cookie cookie;
  while (getrandom(cookie.words, sizeof cookie.words, 0) != sizeof cookie.words) {
  }
  return cookie;
}

[[noreturn]] void fail(const char* what) {
  throw error(formatted("shm: {}: {}; WEFT_TRANSPORT=ofi does without shared memory", what,
                        std::strerror(errno)));
}

std::string path_of(const segment_address& address) {
  if (address.descriptor < 0) return formatted("/dev/shm/{}", address.name);
  return formatted("/proc/{}/fd/{}", address.process, address.descriptor);
}

// A page of a file system that is full would end its first writer by SIGBUS. What is nameless is limited
// by the machine's memory alone, and has no page before it is written.
void reserve(int file, bool is_nameless, std::size_t size) {
  if (is_nameless) return;
  int result = 0;
  do result = posix_fallocate(file, 0, static_cast<off_t>(size));
  while (result == EINTR);
  if (result == 0 || result == EOPNOTSUPP || result == EINVAL) return;
  throw error(formatted(
      "shm: /dev/shm has no room for {} bytes: {}; make it larger (docker: --shm-size), start fewer "
      "processes, or let memfd_create be permitted, which needs none; WEFT_TRANSPORT=ofi does without "
      "shared memory",
      size, std::strerror(result)));
}

// A nameless file that others can open, or -1.
int open_nameless() {
  const int file = memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  const std::string self = formatted("/proc/{}/fd/{}", getpid(), file);
  if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0 && access(self.c_str(), R_OK | W_OK) == 0)
    return file;
  close(file);
  return -1;
}

}  // namespace

segment segment::make(std::size_t ring_bytes, bool nameless, const std::string& job) {
  segment made;
  segment_address& address = made.address_;
  read_machine(address.machine);
  address.cookie = new_cookie();
  made.cookie_ = std::make_unique<segment_cookie>(address.cookie);
  address.cookie_address = reinterpret_cast<std::uint64_t>(made.cookie_.get());
  address.process = getpid();
  address.process_start = start_of_process(getpid());
  address.ring_bytes = ring_bytes;
  address.fences = asymmetric::shared_kernel_fences ? 1 : 0;
  made.file_ = nameless ? open_nameless() : -1;
  address.descriptor = made.file_;
  if (made.file_ < 0) {
    const std::string name = formatted("weft-{:.40}-{:016x}", job, address.cookie.words[0]);
    std::ranges::copy(name, address.name);
    made.file_ = ::open(path_of(address).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made.file_ < 0) fail("no file in /dev/shm");
  }
  if (ftruncate(made.file_, page_bytes) != 0) fail("no memory for a segment");
  reserve(made.file_, address.descriptor >= 0, page_bytes);
  if (!made.map(made.file_, 0)) fail("a segment cannot be mapped");
  new (made.memory_) segment_front{};
  made.front().cookie = address.cookie;
  return made;
}

void segment::grow(std::size_t senders) {
  const std::size_t size = rings_offset(senders) + senders * ring_stride(address_);
  if (ftruncate(file_, static_cast<off_t>(size)) != 0) fail("no memory for the rings");
  reserve(file_, address_.descriptor >= 0, size);
  // From here on nobody can make it shorter, by which all who use it would be killed.
  if (address_.descriptor >= 0) fcntl(file_, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL);
  munmap(std::exchange(memory_, nullptr), size_);
  if (!map(file_, senders)) fail("a segment cannot be mapped");
  if (senders == 1) forget_name();
  // The zeros of a new file are rings without records.
  front().is_ready.publish(1);
}

segment segment::open(const segment_address& address, std::size_t senders, std::string& why) {
  segment opened;
  opened.address_ = address;
  const std::string path = path_of(address);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    why = formatted("{}: {}", path, std::strerror(errno));
    return {};
  }
  segment_cookie cookie;
  const bool is_it = pread(file, &cookie, sizeof cookie, 0) == sizeof cookie &&
                     cookie == address.cookie &&
                     (address.descriptor < 0 || (fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK) != 0);
  const bool mapped = is_it && opened.map(file, senders);
  close(file);
  if (!mapped) {
    why = formatted("{}: {}", path, is_it ? std::strerror(errno) : "is somebody else's");
    return {};
  }
  // The owner itself does not open it.
  if (opened.front().opened.fetch_add(1, std::memory_order_relaxed) + 2 == senders)
    opened.forget_name();
  return opened;
}

bool segment::map(int file, std::size_t senders) noexcept {
  rings_offset_ = rings_offset(senders);
  size_ = senders == 0 ? page_bytes : rings_offset_ + senders * ring_stride(address_);
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  return true;
}

void segment::forget_name() const noexcept {
  if (address_.descriptor < 0) unlink(path_of(address_).c_str());
}

segment::~segment() {
  if (memory_ != nullptr) munmap(memory_, size_);
  if (file_ < 0) return;
  forget_name();
  close(file_);
}

void segment::swap(segment& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(file_, other.file_);
  std::swap(cookie_, other.cookie_);
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  std::swap(rings_offset_, other.rings_offset_);
}

bool share_node(const segment_address& a, const segment_address& b) noexcept {
  if (a.magic != segment_address::version || b.magic != segment_address::version) return false;
  return a.machine[0] != 0 ? std::ranges::equal(a.machine, b.machine) : a.cookie == b.cookie;
}

segment_address parse_segment_address(std::span<const std::byte> bytes) noexcept {
  segment_address address;
  address.magic = 0;
  if (bytes.size() != sizeof address) return address;
  std::memcpy(&address, bytes.data(), sizeof address);
  const std::string_view name(address.name, strnlen(address.name, sizeof address.name));
  const bool sound = std::has_single_bit(address.ring_bytes) &&
                     address.ring_bytes >= shm_ring_bytes_min &&
                     address.ring_bytes <= shm_ring_bytes_max && address.process > 0 &&
                     name.size() < sizeof address.name && name.find('/') == name.npos &&
                     (address.descriptor >= 0 || name.starts_with("weft-"));
  if (!sound) address.magic = 0;
  return address;
}

}  // namespace weft
