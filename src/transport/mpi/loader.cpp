#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/kept_dispositions.hpp"
#include "base/settings.hpp"
#include "transport/mpi/mpi.hpp"
#include "transport/mpi/plugin.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

namespace fs = std::filesystem;

// The shared object that has this code: libweft.so, or the program.
fs::path own_file() {
  static constexpr char here = 0;
  Dl_info found = {};
  void* object = nullptr;
  std::error_code ignored;
  if (::dladdr1(&here, &found, &object, RTLD_DL_LINKMAP) != 0)
    if (const fs::path file = static_cast<const link_map*>(object)->l_name; !file.empty())
      return fs::canonical(file, ignored);
  return fs::read_symlink("/proc/self/exe", ignored);  // The program has no name there.
}

// Where the setting says. Otherwise beside what has this code, as built or installed, wherever the
// tree was moved to; then where weft was to be installed; then where weftrun has its own.
std::vector<fs::path> directories() {
  if (std::string named = plugin_directory(); !named.empty()) return {std::move(named)};
  std::vector<fs::path> found;
  const auto add = [&](const fs::path& directory) {
    if (std::ranges::find(found, directory) == found.end()) found.push_back(directory);
  };
  if (const fs::path file = own_file(); !file.empty()) {
    const fs::path home = file.parent_path();
    add(home);
    add(home.parent_path() / "lib" / "weft");
    add(home.parent_path() / WEFT_PLUGIN_DIRECTORY);
  }
  add(WEFT_PLUGIN_INSTALLED);
  const char* const lent = ::secure_getenv(lent_plugins_variable);
  std::istringstream each(lent != nullptr ? lent : "");
  for (std::string directory; std::getline(each, directory, ':');) add(directory);
  return found;
}

std::string name_of(std::string_view which) {
  return formatted("weft-transport-mpi-{}.so", which);
}

fs::path file_of(std::string_view which) {
  std::error_code ignored;
  for (const fs::path& directory : directories())
    if (fs::path file = directory / name_of(which); fs::exists(file, ignored)) return file;
  return {};
}

[[noreturn]] void throw_missing(std::string_view which) {
  std::string looked_in;
  for (const fs::path& directory : directories())
    looked_in += (looked_in.empty() ? "" : ", ") + directory.string();
  throw error(
      formatted("there is no plug-in for the MPI \"{}\": {} is not in {}; --plugins of weftrun or "
                "WEFT_PLUGINS names another directory, and weft is built with those MPIs that it "
                "finds (mpicxx.{})",
                which, name_of(which), looked_in, which));
}

constexpr std::array<std::string_view, 2> known_mpis = {"openmpi", "mpich"};

// The C library's variable, when the program has one of its own, as those of weftcc do; else null.
// Libraries that are bound deep see the C library's, which such a program leaves empty.
char*** hidden_environ() {
  void* const libc = ::dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (libc == nullptr) return nullptr;
  const auto variable = static_cast<char***>(::dlsym(libc, "environ"));
  ::dlclose(libc);
  return variable == &environ ? nullptr : variable;
}

// The environment as it is now, in a table that nobody changes.
void show_environment(char**& there) {
  if (there != nullptr || environ == nullptr) return;
  static std::vector<char*> table;
  for (char** entry = environ; *entry != nullptr; ++entry) table.push_back(::strdup(*entry));
  table.push_back(nullptr);
  there = table.data();
}

// Whose launcher started this process.
std::string mpi_of_launcher() {
  if (::secure_getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "openmpi";
  if (::secure_getenv("PMI_RANK") != nullptr) return "mpich";
  throw error(
      "messages over MPI need the launcher of that MPI, which did not start this process; use its "
      "mpirun or mpiexec, or another --transport");
}

// Of this name, or of the launcher's MPI.
const mpi_plugin& load_plugin(std::string_view which, std::string& name) {
  name = which.empty() ? mpi_of_launcher() : std::string(which);
  const fs::path file = file_of(name);
  if (file.empty()) throw_missing(name);
  if (char*** const hidden = hidden_environ(); hidden != nullptr) {
    // Parts of it are not bound deep, and it takes the two variables for one.
    if (name == "openmpi")
      throw error(
          "messages over Open MPI need the C library's variable environ, and this program has its "
          "own, as those of weftcc do; use another --transport");
    show_environment(*hidden);
  }
  // Local and deep: an MPI's symbols and those of the same names that weft or the program define
  // never meet. It stays loaded, since no MPI can be started twice.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == nullptr)
    throw error(formatted("the plug-in for {} cannot be loaded: {}", name, ::dlerror()));
  const auto entry = reinterpret_cast<mpi_plugin_entry>(::dlsym(library, mpi_plugin_symbol));
  const mpi_plugin* const plugin = entry == nullptr ? nullptr : entry();
  if (plugin == nullptr || plugin->version != WEFT_PLUGIN_VERSION ||
      plugin->header_bytes != sizeof(wire_header) || plugin->key_bytes != sizeof(remote_key))
    throw error(
        formatted("{} belongs to another version of weft; install weft again", file.string()));
  return *plugin;
}

}  // namespace

std::vector<std::string> mpi_plugins() {
  std::vector<std::string> there;
  for (const std::string_view each : known_mpis)
    if (!file_of(each).empty()) there.emplace_back(each);
  return there;
}

void lend_mpi_plugins() {
  std::string all;
  for (const std::string_view each : known_mpis)
    if (const fs::path file = file_of(each); !file.empty())
      all += formatted("{}{}", all.empty() ? "" : ":", file.parent_path().string());
  if (!all.empty()) ::setenv(lent_plugins_variable, all.c_str(), 1);
}

std::unique_ptr<transport> make_mpi_transport(std::string_view which) {
  const kept_dispositions kept;
  std::string name;
  const mpi_plugin& plugin = load_plugin(which, name);
  std::array<char, 256> why = {};
  std::unique_ptr<transport> made(plugin.make(why.data(), why.size()));
  if (made == nullptr) throw error(formatted("{} does not start: {}", name, why.data()));
  return made;
}

const mpi_messages& start_mpi_messages(std::string_view which) {
  const kept_dispositions kept;
  std::string name;
  const mpi_plugin& plugin = load_plugin(which, name);
  std::array<char, 256> why = {"it has no messages of its own"};
  const mpi_messages* const made =
      plugin.messages == nullptr ? nullptr : plugin.messages(why.data(), why.size());
  if (made == nullptr) throw error(formatted("{} does not start: {}", name, why.data()));
  return *made;
}

}  // namespace weft
