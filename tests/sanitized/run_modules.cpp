// Runs a conformance program that has been made a module: each rank loads a copy of its own, so that no two share its static
// variables, and runs its main(). Beside sanitizers there are no images of programs (weftcc), and a report needs the memory of
// all ranks in one process.
//
//   run_modules MODULE RANKS WORKERS [NODE...]
//
// The processes of the job are threads of this one, as many as nodes are given, joined by a network that misbehaves. Without
// nodes it has one. Ends with 0 when all ranks return 0.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "job.hpp"
#include "processes.hpp"

namespace {

using program_main = int (*)(int, char**);

// Returns null, and says why, where it cannot be loaded. The loader takes one file for one module, whatever its name.
program_main load_copy(const std::filesystem::path& module, const std::filesystem::path& copy) {
  std::filesystem::copy_file(module, copy);
  void* const loaded = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = loaded != nullptr ? dlsym(loaded, "main") : nullptr;
  if (found == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  return reinterpret_cast<program_main>(found);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: run_modules MODULE RANKS WORKERS [NODE...]\n");
    return 2;
  }
  const int ranks = std::atoi(argv[2]);
  const int workers = std::atoi(argv[3]);
  std::vector<int> node_of_process;
  for (int i = 4; i < argc; ++i) node_of_process.push_back(std::atoi(argv[i]));

  std::string directory = std::filesystem::temp_directory_path() / "weft-modules-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    std::perror(directory.c_str());
    return 2;
  }
  std::vector<program_main> programs;
  for (int rank = 0; rank < ranks; ++rank)
    programs.push_back(load_copy(argv[1], std::filesystem::path(directory) / std::to_string(rank)));
  // The copies stay until the ranks have ended: a report looks up lines in them.
  if (std::ranges::find(programs, nullptr) != programs.end()) {
    std::filesystem::remove_all(directory);
    return 2;
  }

  std::atomic<int> wrong{0};
  const auto body = [&](weft::communicator& world) {
    std::string name = argv[1];
    char* arguments[] = {name.data(), nullptr};
    if (programs[static_cast<std::size_t>(world.rank())](1, arguments) != 0) ++wrong;
  };
  const weft::options how = weft::job_of(ranks, workers);
  const int status = node_of_process.empty()
                         ? weft::run(weft::alone(how), body)
                         : weft::tests::run_on_nodes(node_of_process, how, body).status;
  std::filesystem::remove_all(directory);
  if (wrong != 0) std::fprintf(stderr, "%d ranks found something wrong\n", wrong.load());
  return status != 0 || wrong != 0 ? 1 : 0;
}
