#include "mpi/spawn/names.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/process_life.hpp"
#include "bootstrap/single/single.hpp"
#include "mpi/object/errors.hpp"
#include "mpi/spawn/channel.hpp"

namespace weft::mpi {
namespace {

// WEFT_NAMES, for users whose hosts share a file system; else one of this host, which nobody else writes.
std::string directory() {
  std::string path;
  if (const char* const named = ::secure_getenv("WEFT_NAMES"); named != nullptr && *named != '\0')
    path = named;
  else
    path = formatted("/tmp/weft-names-{}", ::getuid());
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    fail(MPI_ERR_SERVICE, "no directory {} for published names: {}", path, std::strerror(errno));
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != ::getuid() ||
      (found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    fail(
        MPI_ERR_SERVICE,
        "{} is no directory of this user that others may not write: remove it, or name another one in WEFT_NAMES",
        path);
  return path;
}

// Letters, digits and a few signs as they are, all else as %XX.
std::string file_of(const std::string& service) {
  if (service.empty() || service.size() > 80)
    fail(MPI_ERR_ARG, "a service name of {} bytes: from 1 to 80 are right", service.size());
  std::string file = directory() + '/';
  for (const char c : service) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    if (plain)
      file += c;
    else
      file += formatted("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return file;
}

struct entry {
  std::string host;
  pid_t process = 0;
  std::uint64_t start = 0;
  std::string port;
};

// The lines of the file; no port: there is none.
entry read_entry(const std::string& file) {
  entry found;
  const descriptor from(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (from.number() < 0) return found;
  std::array<char, 4096> bytes{};
  const ssize_t size = ::read(from.number(), bytes.data(), bytes.size() - 1);
  std::istringstream text(std::string(bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0));
  text >> found.host >> found.process >> found.start >> found.port;
  // Who has published it and ended publishes it no more.
  if (found.host == host_name() && process_has_ended(found.process, found.start))
    found.port.clear();
  return found;
}

// Held while a name is looked at and changed.
descriptor locked_directory() {
  descriptor all(::open(directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  (void)::flock(all.number(), LOCK_EX);
  return all;
}

}  // namespace

void publish_name(const std::string& service, const std::string& port) {
  const std::string file = file_of(service);
  const descriptor hold = locked_directory();
  if (const entry other = read_entry(file); !other.port.empty())
    fail(
        MPI_ERR_SERVICE,
        "the name \"{}\" is published already, by process {} of host {}: take another one, or unpublish it",
        service, other.process, other.host);
  const std::string text =
      formatted("{} {} {} {}\n", host_name(), ::getpid(), start_of_process(::getpid()), port);
  const std::string made = file + ".new";
  const descriptor to(::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                             S_IRUSR | S_IWUSR));
  if (to.number() < 0 ||
      ::write(to.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::rename(made.c_str(), file.c_str()) != 0)
    fail(MPI_ERR_SERVICE, "the name \"{}\" cannot be published in {}: {}", service, file,
         std::strerror(errno));
}

void unpublish_name(const std::string& service) {
  const std::string file = file_of(service);
  const descriptor hold = locked_directory();
  if (read_entry(file).port.empty())
    fail(MPI_ERR_SERVICE, "the name \"{}\" is not published", service);
  (void)::unlink(file.c_str());
}

std::string find_name(const std::string& service) {
  const entry found = read_entry(file_of(service));
  if (found.port.empty()) fail(MPI_ERR_NAME, "nobody has published the name \"{}\"", service);
  return found.port;
}

}  // namespace weft::mpi
