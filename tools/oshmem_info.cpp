// oshmem_info: the version and limits of weft's OpenSHMEM, and what of the environment it reads.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "base/format.hpp"
#include "shmem/environment.hpp"
#include "shmem/limits.hpp"
#include "shmem/shmemx.h"

int main(int argc, char** argv) {
  CLI::App app(
      "What weft's OpenSHMEM is, its limits, and the variables of the environment that it reads");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  CLI11_PARSE(app, argc, argv);
  const std::string text = weft::formatted(
      "library                 {} {}\n"
      "specification           OpenSHMEM {}.{}, and sessions, blocks, scans, pe_quiet, team_ptr, signal_set and "
      "signal_add of 1.6\n"
      "extensions              active messages (shmemx.h): SHMEMX_AM_PAYLOAD_MAX_SIZE {}, handlers of a PE {}\n"
      "threads                 SHMEM_THREAD_MULTIPLE\n"
      "teams, contexts         {} of a PE\n"
      "compile, start          oshcc prog.c -o prog && oshrun -n 4 ./prog\n\n{}",
      SHMEM_VENDOR_STRING, WEFT_VERSION, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION,
      SHMEMX_AM_PAYLOAD_MAX_SIZE, weft::am_handlers_max, weft::shmem_handles_max,
      weft::shmem::settings_text());
  std::fputs(text.c_str(), stdout);
  return 0;
}
