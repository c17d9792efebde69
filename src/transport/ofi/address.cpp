#include "transport/ofi/address.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <type_traits>

#include "base/process_life.hpp"

namespace weft {

namespace {

constexpr std::uint32_t address_magic = 0x31666f77;  // "wof1", and the wrong way round elsewhere.
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

}  // namespace

process_place this_process() {
  process_place place;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  place.host = std::hash<std::string>()(boot);
  place.network = namespace_number("/proc/self/ns/net");
  place.processes = namespace_number("/proc/self/ns/pid");
  place.process = ::getpid();
  place.start = start_of_process(place.process);
  return place;
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
  append(out, sealing);
  append_bytes(out, std::as_bytes(std::span(provider)));
  append_bytes(out, bytes);
  return out;
}

std::optional<ofi_address> ofi_address::unpacked(std::span<const std::byte> from) {
  ofi_address address;
  std::uint32_t magic = 0, local = 0;
  std::span<const std::byte> name, bytes;
  const bool whole =
      take(from, magic) && magic == address_magic && take(from, address.format) &&
      take(from, local) && take(from, address.place.process) && take(from, address.place.host) &&
      take(from, address.place.network) && take(from, address.place.processes) &&
      take(from, address.place.start) && take(from, address.key) && take(from, address.sealing) &&
      take_bytes(from, name) && take_bytes(from, bytes) && from.empty() && local <= 1;
  if (!whole) return std::nullopt;
  address.is_host_local = local == 1;
  address.provider.assign(reinterpret_cast<const char*>(name.data()), name.size());
  address.bytes.assign(bytes.begin(), bytes.end());
  return address;
}

}  // namespace weft
