#include "process/loader/system_libraries.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/system_path.hpp"

namespace weft::process {
namespace {

// glibc, sysdeps/generic/dl-cache.h. The older form, which may stand before it, is skipped.
constexpr std::string_view old_magic = "ld.so-1.7.0";
constexpr std::string_view new_magic = "glibc-ld.so.cache1.1";
struct old_header {
  char magic[11];
  std::uint32_t count;
};
constexpr std::size_t old_entry_bytes = 12;
struct new_header {
  char magic[20];
  std::uint32_t count;
  std::uint32_t string_bytes;
  std::uint32_t others[5];
};
struct new_entry {
  std::int32_t kind;
  std::uint32_t name, path;  // Strings, from the header on.
  std::uint32_t unused;
  std::uint64_t processor;  // What it must be able to do; 0: nothing of its own.
};
static_assert(sizeof(old_header) == 16 && sizeof(new_header) == 48 && sizeof(new_entry) == 24);

// A library for the C library of version 6, and for which machine. 0: no entry is taken.
#if defined(__x86_64__) && defined(__LP64__)
constexpr std::int32_t own_kind = 0x0303;
#elif defined(__aarch64__)
constexpr std::int32_t own_kind = 0x0a03;
#else
constexpr std::int32_t own_kind = 0;
#endif

template <class T>
std::optional<T> at(std::string_view bytes, std::size_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return {};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  const std::size_t end = bytes.find('\0', offset);
  return end == bytes.npos ? std::string_view() : bytes.substr(offset, end - offset);
}

// The loader reads it once in a process, too.
const std::string& cache_of_system() {
  static const std::string bytes = [] {
    std::ifstream file("/etc/ld.so.cache", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return bytes;
}

// Those of the loader itself, which it knows without its cache. It does not say which of those that it tells are such.
const std::vector<std::string>& directories_of_loader() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> found;
    void* const self = ::dlopen(nullptr, RTLD_LAZY);
    Dl_serinfo size{};
    if (self != nullptr && ::dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0) {
      std::vector<std::uint64_t> room(size.dls_size / sizeof(std::uint64_t) + 1);
      auto* const list = reinterpret_cast<Dl_serinfo*>(room.data());
      list->dls_size = size.dls_size;
      list->dls_cnt = size.dls_cnt;
      if (::dlinfo(self, RTLD_DI_SERINFO, list) == 0)
        for (unsigned i = 0; i < list->dls_cnt; ++i)
          if (std::string one = list->dls_serpath[i].dls_name; is_of_system(one + "/"))
            found.push_back(std::move(one));
    }
    if (self != nullptr) ::dlclose(self);
    return found;
  }();
  return all;
}

}  // namespace

cached_library library_in_cache(std::string_view cache, std::string_view name) {
  if (cache.starts_with(old_magic)) {
    const auto header = at<old_header>(cache, 0);
    if (!header) return {};
    const std::size_t bytes = sizeof(old_header) + header->count * old_entry_bytes;
    cache.remove_prefix(std::min(cache.size(), (bytes + 7) / 8 * 8));
  }
  const auto header = at<new_header>(cache, 0);
  if (!header || !cache.starts_with(new_magic)) return {};
  cached_library found;
  for (std::uint32_t i = 0; i < header->count; ++i) {
    const auto entry = at<new_entry>(cache, sizeof(new_header) + i * sizeof(new_entry));
    if (!entry) break;
    if (entry->kind != own_kind || text_at(cache, entry->name) != name) continue;
    if (entry->processor != 0)
      found.depends_on_processor = true;
    else if (found.path.empty())
      found.path = text_at(cache, entry->path);
  }
  return found;
}

std::string library_of_system(std::string_view name) {
  const cached_library cached = library_in_cache(cache_of_system(), name);
  if (cached.depends_on_processor) return {};
  if (!cached.path.empty() && ::access(cached.path.c_str(), R_OK) == 0) return cached.path;
  for (const std::string& directory : directories_of_loader()) {
    std::string path = directory + "/" + std::string(name);
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

}  // namespace weft::process
