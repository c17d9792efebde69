#include "breakdown/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/format.hpp"
#include "breakdown/report.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

[[noreturn]] void refuse(const std::string& path, int reason) {
  throw error(formatted("cannot write {}: {}; name another file", path, std::strerror(reason)));
}

}  // namespace

std::string beside(const std::string& page, std::string_view extension) {
  std::filesystem::path path(page);
  path.replace_extension(extension);
  // Never the page itself.
  return path.string() == page ? page + std::string(extension) : path.string();
}

void check_writable(const std::string& path) {
  const bool was_there = ::access(path.c_str(), F_OK) == 0;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) refuse(path, errno);
  ::close(file);
  if (!was_there) ::unlink(path.c_str());
}

void check_can_be_made(const std::string& directory) {
  std::error_code failed;
  if (std::filesystem::create_directory(directory, failed))
    std::filesystem::remove(directory, failed);
  else
    throw error(failed ? formatted("cannot make the directory {}: {}; name another one", directory,
                                   failed.message())
                       : formatted("{} is there already: a new directory is needed", directory));
}

std::string content_of(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    throw error(formatted("cannot read {}: it is a directory; name a file", path));
  std::ifstream file(path, std::ios::binary);
  std::string content;
  char part[65536];
  while (file.read(part, sizeof part), file.gcount() > 0)
    content.append(part, static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad())
    throw error(formatted("cannot read {}: {}", path, std::strerror(errno)));
  return content;
}

void write_file(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) refuse(path, errno);
}

std::string share_directory(std::string_view from_programs) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return (self.parent_path() / from_programs).lexically_normal().string();
}

std::string plot_library(std::string_view share) {
  std::ifstream file(std::filesystem::path(share) / "d3.min.js", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_report(record& r, const summary& s, const std::string& page, std::string_view library) {
  const std::string data = json_of(s);
  write_file(page, page_of(data, library));
  write_file(beside(page, ".json"), data);
  const auto bytes = r.bytes();
  write_file(beside(page, ".record"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace weft::breakdown
