#include "bootstrap/place.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "base/format.hpp"
#include "bootstrap/single/single.hpp"

namespace weft {

namespace {

std::string first_word_of(const char* path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word.empty() ? "unknown" : word;
}

std::string identity_of(const char* path) {
  struct stat file;
  return ::stat(path, &file) == 0 ? formatted("{}.{}", file.st_dev, file.st_ino) : "none";
}

}  // namespace

std::string place_of_this_process() {
  return formatted("{}/{}/{} {}", first_word_of("/proc/sys/kernel/random/boot_id"),
                   identity_of("/dev/shm"), identity_of("/proc/self/ns/pid"), host_name());
}

std::vector<int> nodes_of(const std::vector<std::string>& places) {
  std::vector<std::string> known;
  std::vector<int> nodes;
  for (const std::string& place : places) {
    const auto found = std::ranges::find(known, place);
    nodes.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(place);
  }
  return nodes;
}

std::string host_of_place(const std::string& place) {
  return place.substr(place.rfind(' ') + 1);
}

}  // namespace weft
