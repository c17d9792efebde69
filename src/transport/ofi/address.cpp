#include "transport/ofi/address.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string_view>
#include <type_traits>

namespace weft {

namespace {

constexpr std::uint32_t address_magic = 0x30666f77;  // "wof0", and the wrong way round elsewhere.
constexpr std::size_t address_bytes_max = 512;       // Of libfabric's part, and of the name.

template <class Value>
void append(std::vector<std::byte>& to, const Value& value) {
  static_assert(std::has_unique_object_representations_v<Value>);
  to.resize(to.size() + sizeof value);
  std::memcpy(to.data() + to.size() - sizeof value, &value, sizeof value);
}

template <class Value>
bool take(std::span<const std::byte>& from, Value& value) {
  if (from.size() < sizeof value) return false;
  std::memcpy(&value, from.data(), sizeof value);
  from = from.subspan(sizeof value);
  return true;
}

// Some bytes with their number before them.
void append_bytes(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  append(to, static_cast<std::uint32_t>(bytes.size()));
  for (const std::byte byte : bytes) to.push_back(byte);
}

bool take_bytes(std::span<const std::byte>& from, std::span<const std::byte>& bytes) {
  std::uint32_t size = 0;
  if (!take(from, size) || size > address_bytes_max || size > from.size()) return false;
  bytes = from.first(size);
  from = from.subspan(size);
  return true;
}

std::uint64_t namespace_number(const char* path) {
  struct stat about;
  return ::stat(path, &about) == 0 ? about.st_ino : 0;
}

// The two fields of /proc/PID/stat that tell whether a process is the one it was. False when there
// is no such process.
struct process_state {
  char state = 0;
  std::uint64_t start = 0;
};
bool read_state(std::int32_t process, process_state& result) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[1024];
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  if (size <= 0) return false;
  // Fields are separated by blanks; the second one, a name in parentheses, may contain any.
  const std::string_view line(text, static_cast<std::size_t>(size));
  std::size_t at = line.rfind(')');
  if (at == std::string_view::npos || at + 2 >= line.size()) return false;
  at += 2;
  result.state = line[at];
  for (int field = 3; field < 22; ++field) {
    at = line.find(' ', at);
    if (at == std::string_view::npos) return false;
    ++at;
  }
  return std::from_chars(line.data() + at, line.data() + line.size(), result.start).ec ==
         std::errc();
}

}  // namespace

process_place this_process() {
  process_place place;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  place.host = std::hash<std::string>()(boot);
  place.network = namespace_number("/proc/self/ns/net");
  place.processes = namespace_number("/proc/self/ns/pid");
  place.process = ::getpid();
  process_state state;
  if (read_state(place.process, state)) place.start = state.start;
  return place;
}

bool has_ended(const process_place& process) noexcept {
  process_state state;
  if (!read_state(process.process, state)) return true;
  return state.state == 'Z' || state.state == 'X' || state.start != process.start;
}

std::vector<std::byte> ofi_address::packed() const {
  std::vector<std::byte> out;
  append(out, address_magic);
  append(out, format);
  append(out, static_cast<std::uint32_t>(is_host_local));
  append(out, place.process);
  append(out, place.host);
  append(out, place.network);
  append(out, place.processes);
  append(out, place.start);
  append(out, key);
  append_bytes(out, std::as_bytes(std::span(provider)));
  append_bytes(out, bytes);
  return out;
}

std::optional<ofi_address> ofi_address::unpacked(std::span<const std::byte> from) {
  ofi_address address;
  std::uint32_t magic = 0, local = 0;
  std::span<const std::byte> name, bytes;
  const bool whole = take(from, magic) && magic == address_magic && take(from, address.format) &&
                     take(from, local) && take(from, address.place.process) &&
                     take(from, address.place.host) && take(from, address.place.network) &&
                     take(from, address.place.processes) && take(from, address.place.start) &&
                     take(from, address.key) && take_bytes(from, name) && take_bytes(from, bytes) &&
                     from.empty() && local <= 1;
  if (!whole) return std::nullopt;
  address.is_host_local = local == 1;
  address.provider.assign(reinterpret_cast<const char*>(name.data()), name.size());
  address.bytes.assign(bytes.begin(), bytes.end());
  return address;
}

}  // namespace weft
