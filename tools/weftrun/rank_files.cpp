#include "weftrun/rank_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "bootstrap/local/frame.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

// The rank whose "[rank] " begins a line, if it is one of the process's; otherwise -1.
int tagged_rank(std::string_view line, rank_block of, std::size_t& size) {
  const std::size_t end = line.starts_with('[') ? line.find("] ") : line.npos;
  if (end == line.npos) return -1;
  int rank = -1;
  const auto [stop, failure] = std::from_chars(line.data() + 1, line.data() + end, rank);
  if (failure != std::errc() || stop != line.data() + end || rank < of.first ||
      rank >= of.first + of.count)
    return -1;
  size = end + 2;
  return rank;
}

}  // namespace

std::string rank_file_name(std::string_view pattern, int rank) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char kind = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (kind == 'r')
      name += formatted("{}", rank);
    else if (kind == '%')
      name += '%';
    else
      name += pattern[i];
    i += kind == 'r' || kind == '%' ? 1 : 0;
  }
  return name;
}

rank_files::~rank_files() {
  for (const auto& [whose, descriptor] : open_) ::close(descriptor);
}

int rank_files::file_of(int rank, int stream) {
  const std::pair whose{rank, stream};
  if (const auto found = open_.find(whose); found != open_.end()) return found->second;
  const std::string name = rank_file_name(stream == 1 ? names_.output : names_.errors, rank);
  const auto fail = [&](const char* why) {
    throw error(
        formatted("the file {} for the output of rank {} cannot be written: {}", name, rank, why));
  };
  std::error_code failed;
  if (const auto directory = std::filesystem::path(name).parent_path(); !directory.empty())
    std::filesystem::create_directories(directory, failed);
  if (failed) fail(failed.message().c_str());
  // A limit of the process, above which files are opened anew for each line.
  if (open_.size() >= rank_files_max) {
    for (const auto& [other, descriptor] : open_) ::close(descriptor);
    open_.clear();
  }
  const int fresh = begun_.insert(name).second ? O_TRUNC : 0;
  const int descriptor =
      ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | fresh, 0666);
  if (descriptor < 0) fail(std::strerror(errno));
  return open_[whose] = descriptor;
}

std::string rank_files::take(rank_block of, int stream, std::string_view lines, bool keeps_tags) {
  const std::string& pattern = stream == 1 ? names_.output : names_.errors;
  std::string rest;
  std::map<int, std::string> parts;  // Each rank's lines leave in one write.
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end == lines.npos ? end : end + 1);
    lines.remove_prefix(line.size());
    std::size_t tag = 0;
    int rank = tagged_rank(line, of, tag);
    // Without a tag: of a program that is none of weft's, or weft's own words.
    if (rank < 0 && of.count == 1) rank = of.first;
    const std::string_view text = keeps_tags ? line : line.substr(tag);
    if (!pattern.empty() && rank >= 0) parts[rank] += text;
    if (pattern.empty() || rank < 0 || names_.are_copies) rest += text;
  }
  for (const auto& [whose, text] : parts)
    if (!write_all(file_of(whose, stream), text))
      throw error(formatted("the file {} for the output of rank {} cannot be written: {}",
                            rank_file_name(pattern, whose), whose, std::strerror(errno)));
  return rest;
}

}  // namespace weft
