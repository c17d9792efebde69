#include "weftrun/program.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"

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

int status_of_failed_start(int reason) {
  return reason == ENOENT ? status_not_found : status_cannot_execute;
}

}  // namespace weft
