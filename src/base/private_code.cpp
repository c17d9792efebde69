#include "base/private_code.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <vector>

namespace weft {
namespace {

// Of which there are few: a program and its own libraries.
struct private_files {
  std::shared_mutex lock;
  std::vector<std::string> paths;
};
private_files& files() {
  static private_files& all = *new private_files;  // Threads may ask while the process ends.
  return all;
}

std::string_view file_of(const void* address) noexcept {
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(address), &found) != 0) return {};
  return found.dlfo_link_map->l_name;
}

}  // namespace

void note_private_file(const std::string& path) {
  const std::unique_lock hold(files().lock);
  if (std::ranges::find(files().paths, path) == files().paths.end()) files().paths.push_back(path);
}

bool is_private_code(const void* address) noexcept {
  const std::string_view path = file_of(address);
  if (path.empty()) return false;
  if (path.starts_with("/proc/"))
    return true;  // Under a debugger a copy keeps the name of its own.
  const std::shared_lock hold(files().lock);
  return std::ranges::find(files().paths, path) != files().paths.end();
}

bool is_code_of_weft(const void* address) noexcept {
  dl_find_object here{}, there{};
  return _dl_find_object(reinterpret_cast<void*>(&is_code_of_weft), &here) == 0 &&
         _dl_find_object(const_cast<void*>(address), &there) == 0 &&
         here.dlfo_link_map == there.dlfo_link_map;
}

bool is_code_of_cplusplus(const void* address) noexcept {
  return file_of(address).find("/libstdc++.so") != std::string_view::npos;
}

}  // namespace weft
