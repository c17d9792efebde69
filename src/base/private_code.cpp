#include "base/private_code.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
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

// What the private file is known by that the calling thread has found last: one word, which handlers may write, too.
thread_local constinit std::uint64_t last_found = 0;
std::uint64_t known_by(const link_map& file) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  const auto name = reinterpret_cast<std::uintptr_t>(file.l_name);
  return ((reinterpret_cast<std::uintptr_t>(&file) * odd + name) * odd + file.l_addr) | 1;
}

}  // namespace

void note_private_file(const std::string& path) {
  const std::lock_guard hold(files_lock);
  std::atomic<std::size_t>* const place = place_of(hash_of(path));
  // There are a handful; calls of one for which there is no room are made as those of shared code.
  if (place != nullptr) place->store(hash_of(path), std::memory_order_relaxed);
}

bool is_private_code(const void* address) noexcept {
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(address), &found) != 0) return false;
  const std::uint64_t key = known_by(*found.dlfo_link_map);
  if (last_found == key) return true;
  const std::string_view path = found.dlfo_link_map->l_name;
  // Under a debugger a copy keeps the name of its own.
  const bool is_private = !path.empty() && (path.starts_with("/proc/") || is_noted(path));
  if (is_private) last_found = key;
  return is_private;
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
