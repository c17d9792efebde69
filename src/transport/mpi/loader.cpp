#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/format.hpp"
#include "transport/mpi/mpi.hpp"
#include "transport/mpi/plugin.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

namespace fs = std::filesystem;

// Beside the program that was built or installed, then where `make install` puts them.
std::vector<fs::path> directories() {
  std::vector<fs::path> found;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!ignored) {
    found.push_back(program.parent_path().parent_path() / "lib" / "weft");
    found.push_back(program.parent_path().parent_path() / WEFT_PLUGIN_DIRECTORY);
  }
  found.emplace_back(WEFT_PLUGIN_INSTALLED);
  return found;
}

fs::path file_of(std::string_view which) {
  std::error_code ignored;
  for (const fs::path& directory : directories())
    if (fs::path file = directory / formatted("weft-transport-mpi-{}.so", which);
        fs::exists(file, ignored))
      return file;
  return {};
}

constexpr std::array<std::string_view, 2> known_mpis = {"openmpi", "mpich"};

// Whose launcher started this process.
std::string mpi_of_launcher() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "openmpi";
  if (std::getenv("PMI_RANK") != nullptr) return "mpich";
  throw error(
      "messages over MPI need its launcher, and this process was started by none; use mpirun or "
      "mpiexec, or another --transport");
}

}  // namespace

std::vector<std::string> mpi_plugins() {
  std::vector<std::string> there;
  for (const std::string_view each : known_mpis)
    if (!file_of(each).empty()) there.emplace_back(each);
  return there;
}

std::unique_ptr<transport> make_mpi_transport(std::string_view which) {
  const std::string name = which.empty() ? mpi_of_launcher() : std::string(which);
  const fs::path file = file_of(name);
  if (file.empty())
    throw error(
        formatted("there is no plug-in for the MPI \"{}\"; weft is built with those MPIs that "
                  "it finds (mpicxx.{}), and looks for weft-transport-mpi-{}.so in {}",
                  name, name, name, WEFT_PLUGIN_INSTALLED));
  // Local and deep: an MPI's symbols and those of the same names that weft or the program define
  // never meet. It stays loaded, since no MPI can be started twice.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == nullptr)
    throw error(formatted("the plug-in for {} cannot be loaded: {}", name, ::dlerror()));
  const auto entry = reinterpret_cast<mpi_plugin_entry>(::dlsym(library, mpi_plugin_symbol));
  const mpi_plugin* const plugin = entry == nullptr ? nullptr : entry();
  if (plugin == nullptr || plugin->version != mpi_plugin::current_version ||
      plugin->header_bytes != sizeof(wire_header) || plugin->key_bytes != sizeof(remote_key))
    throw error(
        formatted("{} belongs to another version of weft; install weft again", file.string()));
  std::array<char, 256> why = {};
  std::unique_ptr<transport> made(plugin->make(why.data(), why.size()));
  if (made == nullptr) throw error(formatted("{} does not start: {}", name, why.data()));
  return made;
}

}  // namespace weft
