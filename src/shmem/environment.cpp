#include "shmem/environment.hpp"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/format.hpp"
#include "process/life/caller.h"
#include "shmem/limits.hpp"
#include "shmem/shmemx.h"
#include "weft/error.hpp"

namespace weft::shmem {
namespace {

struct row {
  const char* name;
  const char* old_name;  // Null: there was none.
  const char* by_default;
  const char* help;
};
constexpr std::array<row, 6> rows{{
    {"SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE", "grows as needed",
     "bytes of each PE's symmetric heap, with K, M, G or T: that much and no more"},
    {"SHMEM_VERSION", "SMA_VERSION", "unset", "PE 0 prints the version of the library"},
    {"SHMEM_INFO", "SMA_INFO", "unset", "PE 0 prints this list"},
    {"SHMEM_DEBUG", "SMA_DEBUG", "unset",
     "checks that all PEs call shmem_malloc and its kin with the same arguments; tells when the heap is full"},
    {"SHMEMX_AM_QUEUE_SIZE", nullptr, "256M",
     "bytes of unread active messages of one PE, at which those who send more wait"},
    {"SHMEMX_AM_PAYLOAD_MAX", nullptr, "32768", "bytes of one active message that are accepted"},
}};

// A rank that has a copy of its program has an environment of its own.
const char* variable(const char* name) {
  if (name == nullptr) return nullptr;
  const weft_own_state* const own = weft_own();
  return own != nullptr ? own->getenv(name) : std::getenv(name);
}

const char* value_of(const char* name) {
  for (const row& r : rows)
    if (std::strcmp(r.name, name) == 0) {
      const char* const value = variable(r.name);
      return value != nullptr ? value : variable(r.old_name);
    }
  return nullptr;
}

std::optional<std::size_t> bytes_of(const char* name) {
  const char* const text = value_of(name);
  if (text == nullptr || *text == '\0') return {};
  const auto bytes = parse_bytes(text);
  if (!bytes)
    throw error(formatted("{}={}: that is no number of bytes; write 4096, 64K, 512M or 1.5G", name,
                          printable(text)));
  return bytes;
}

bool is_set(const char* name) {
  const char* const text = value_of(name);
  return text != nullptr && std::strcmp(text, "0") != 0;
}

}  // namespace

std::optional<std::size_t> parse_bytes(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number) || number < 0) return {};
  double unit = 1;
  switch (std::tolower(static_cast<unsigned char>(*end))) {
    case 't':
      unit *= 1024;
      [[fallthrough]];
    case 'g':
      unit *= 1024;
      [[fallthrough]];
    case 'm':
      unit *= 1024;
      [[fallthrough]];
    case 'k':
      unit *= 1024;
      ++end;
      break;
    default:
      break;
  }
  if (std::tolower(static_cast<unsigned char>(*end)) == 'b') ++end;
  if (*end != '\0' || number * unit > 0x1p62) return {};
  return static_cast<std::size_t>(number * unit);
}

settings read_settings() {
  settings s{};
  s.symmetric_bytes = bytes_of("SHMEM_SYMMETRIC_SIZE");
  s.am_queue_bytes = bytes_of("SHMEMX_AM_QUEUE_SIZE").value_or(am_queue_bytes_default);
  s.am_payload_bytes =
      bytes_of("SHMEMX_AM_PAYLOAD_MAX").value_or(std::size_t{SHMEMX_AM_PAYLOAD_MAX_SIZE});
  if (s.am_payload_bytes < SHMEMX_AM_PAYLOAD_MAX_SIZE || s.am_payload_bytes > am_payload_bytes_max)
    throw error(formatted("SHMEMX_AM_PAYLOAD_MAX={}: it may be {} to {}", s.am_payload_bytes,
                          SHMEMX_AM_PAYLOAD_MAX_SIZE, am_payload_bytes_max));
  s.info = is_set("SHMEM_INFO");
  s.version = is_set("SHMEM_VERSION");
  s.debug = is_set("SHMEM_DEBUG");
  return s;
}

std::string settings_text() {
  std::string text;
  for (const row& r : rows) {
    const char* const value = value_of(r.name);
    text += formatted("{:<24}{:<18}{}\n", r.name,
                      value != nullptr ? printable(value) : r.by_default, r.help);
  }
  return text;
}

}  // namespace weft::shmem
