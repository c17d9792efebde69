#include "weftrun/program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/format.hpp"
#include "image/elf_file.hpp"
#include "weft/error.hpp"

namespace weft {

std::string cannot_run(const std::string& program, int reason) {
  std::string remedy;
  struct stat file;
  if (program.find('/') == program.npos && ::stat(program.c_str(), &file) == 0)
    remedy = formatted("; did you mean ./{}?", program);
  else if (reason == ENOENT)
    remedy = "; check the name of the program";
  else if (reason == EACCES)
    remedy = "; is it a program that you may execute?";
  return formatted("cannot run {}: {}{}", program, std::strerror(reason), remedy);
}

namespace {

// The bytes of a program; empty when it cannot be read or is a script.
std::string bytes_of_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(4, '\0');
  if (!file.read(bytes.data(), 4) || bytes != "\177ELF") return "";
  file.seekg(0, std::ios::end);
  bytes.resize(static_cast<std::size_t>(file.tellg()));  // One by one, 45 MB took 0.1 s.
  file.seekg(0);
  return file.read(bytes.data(), std::ssize(bytes)) ? bytes : "";
}

std::string path_of(const std::string& program) {
  if (program.find('/') != program.npos) return program;
  const char* const all = std::getenv("PATH");
  std::istringstream directories(all != nullptr ? all : "");
  for (std::string directory; std::getline(directories, directory, ':');)
    if (const std::string path = directory + "/" + program; ::access(path.c_str(), X_OK) == 0)
      return path;
  return program;
}

bool knows_weft(const std::string& bytes) {
  // The name of the shared library, or a name that the static one brings along.
  return bytes.find("libweft.so") != bytes.npos || bytes.find("WEFT_JOB") != bytes.npos;
}

}  // namespace

bool holds_one_rank(const std::vector<std::string>& command) {
  try {
    const elf_file program(path_of(command.front()));
    return program.is_only_copy() &&
           std::ranges::any_of(program.symbols(), [&](const ElfW(Sym) & s) {
             return s.st_shndx != SHN_UNDEF && program.string_at(s.st_name) == "weft_program";
           });
  } catch (const error&) {
    return false;  // None that the kernel would start so.
  }
}

bool knows_ranks(const std::vector<std::string>& command) {
  const std::string bytes = bytes_of_program(path_of(command.front()));
  if (bytes.empty()) return false;
  if (knows_weft(bytes)) return true;
  for (const char* const mpi : {"libmpi.so", "libmpich.so", "libmpi_"})
    if (bytes.find(mpi) != bytes.npos)
      throw error(
          formatted("{} is linked with another MPI ({}...), which would take each process "
                    "for a job of its own: build it with weftcc, weftcxx or weftfc, or "
                    "start it with that MPI's mpirun",
                    command.front(), mpi));
  return false;
}

std::string not_built_with_weft(const std::vector<std::string>& command) {
  if (knows_ranks(command) || bytes_of_program(path_of(command.front())).empty()) return "";
  // A tool, say a debugger, with the program as its word; or started for its own sake.
  if (command.front().find('/') == std::string::npos) return "";
  for (std::size_t i = 1; i < command.size(); ++i)
    if (knows_weft(bytes_of_program(command[i]))) return "";
  return formatted(
      "{} was not built with weft and knows nothing of ranks: build it with weftcc, "
      "weftcxx or weftfc",
      command.front());
}

int status_of_failed_start(int reason) {
  return reason == ENOENT ? status_not_found : status_cannot_execute;
}

}  // namespace weft
