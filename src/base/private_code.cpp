#include "base/private_code.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>

namespace weft {
namespace {

// Hashes of the names of a program and its own libraries, 0 behind the last: they are read without a lock. Relaxed: a hash says
// all that there is to it, and code of a file runs after it has been noted.
constexpr std::size_t files_max = 4096;
constinit std::array<std::atomic<std::size_t>, files_max> files{};
std::mutex files_lock;  // Of those that add one.

std::size_t hash_of(std::string_view path) noexcept {
  const std::size_t hash = std::hash<std::string_view>{}(path);
  return hash != 0 ? hash : 1;
}

// The place of this one, or that where it would be; the end when there is no room.
std::atomic<std::size_t>* place_of(std::size_t hash) noexcept {
  for (std::atomic<std::size_t>& one : files) {
    const std::size_t there = one.load(std::memory_order_relaxed);
    if (there == hash || there == 0) return &one;
  }
  return nullptr;
}

bool is_noted(std::string_view path) noexcept {
  const std::size_t hash = hash_of(path);
  const std::atomic<std::size_t>* const place = place_of(hash);
  return place != nullptr && place->load(std::memory_order_relaxed) == hash;
}

// The link map of the program that belongs to weft. Relaxed: it is compared, no more.
constinit std::atomic<const void*> host{nullptr};

std::string_view file_of(const void* address) noexcept {
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(address), &found) != 0) return {};
  return found.dlfo_link_map->l_name;
}

}  // namespace

void note_private_file(const std::string& path) {
  const std::lock_guard hold(files_lock);
  std::atomic<std::size_t>* const place = place_of(hash_of(path));
  // There are a handful; calls of one for which there is no room are made as those of shared code.
  if (place != nullptr) place->store(hash_of(path), std::memory_order_relaxed);
}

bool is_private_code(const void* address) noexcept {
  const std::string_view path = file_of(address);
  if (path.empty()) return false;
  // Under a debugger a copy keeps the name of its own.
  return path.starts_with("/proc/") || is_noted(path);
}

void note_code_of_weft(const void* address) noexcept {
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(address), &found) == 0)
    host.store(found.dlfo_link_map, std::memory_order_relaxed);
}

bool is_code_of_weft(const void* address) noexcept {
  dl_find_object here{}, there{};
  return _dl_find_object(const_cast<void*>(address), &there) == 0 &&
         (there.dlfo_link_map == host.load(std::memory_order_relaxed) ||
          (_dl_find_object(reinterpret_cast<void*>(&is_code_of_weft), &here) == 0 &&
           here.dlfo_link_map == there.dlfo_link_map));
}

bool is_code_of_libc(const void* address) noexcept {
  const std::string_view path = file_of(address);
  return path.find("/libc.so.") != path.npos || path.find("/ld-linux") != path.npos;
}

bool is_code_of_cplusplus(const void* address) noexcept {
  return file_of(address).find("/libstdc++.so") != std::string_view::npos;
}

}  // namespace weft
