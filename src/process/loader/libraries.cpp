#include "process/loader/libraries.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "base/system_path.hpp"
#include "process/loader/system_libraries.hpp"
#include "weft/error.hpp"

namespace weft::process {
namespace {

// The run-time system is the process's, wherever it lies; its own locks and caches expect that.
constexpr std::array run_time{
    "libweft.",       "libmpi_abi.",       "libmpi.so.12", "libmpi.so.40", "libmpich.so.12",
    "libweft-mpich.", "libstdc++.",        "libgcc_s.",    "libatomic.",   "libquadmath.",
    "libasan.",       "libtsan.",          "libubsan.",    "libc.",        "libm.",
    "libdl.",         "libpthread.",       "librt.",       "ld-linux",     "libhwloc.",
    "libfmt.",        "libboost_context.", "libfabric.",   "libpmix.",     "libc++.",
    "libc++abi.",     "libunwind.",        "libresolv.",   "libutil.",     "libmvec.",
    "libgcov",        "libprofiler."};
// What stands before the C library for a program, functions that MPI calls for it, units and locks of Fortran's, teams and the region under way of OpenMP's belong to one program, of
// whichever compiler they are.
constexpr std::array private_run_times{"libweft-process.", "libweft-process-mpich.",
                                       "libweft-openmpi.", "libgfortran.",
                                       "libgomp.",         "libomp.",
                                       "libiomp5.",        "libflang",
                                       "libFortran",       "libifcore",
                                       "libifport",        "libpgf",
                                       "libnvf",           "libnvomp."};
// What a system brings that keeps a program's settings, plans or open objects and counts on one
// program that uses it. Small: a copy costs what it writes.
constexpr std::array with_state{"libfftw3",     "libhdf5",      "libnetcdf",   "libmetis",
                                "libscotch",    "libarpack",    "libgsl.",     "libglpk",
                                "libsundials",  "libsuperlu",   "libsqlite3.", "libpython",
                                "libboost_ser", "libboost_wser"};  // Serialization: of classes.
// Python has its modules there, which count on one interpreter; in a directory of the system, too.
constexpr std::array module_directories{"/lib-dynload/", "/dist-packages/", "/site-packages/"};
// Their data are caches, tables made once, and locks for what many threads do at once.
constexpr std::array harmless{
    "libz.",      "libbz2.",      "liblzma.",    "libzstd.",   "liblz4.",       "libsz.",
    "libaec.",    "libcrypto.",   "libssl.",     "libcurl",    "libxml2.",      "libblas.",
    "liblapack",  "libopenblas",  "libblis",     "libmkl_",    "libtbb",        "libnuma.",
    "libudev.",   "libcap.",      "libsystemd.", "libevent",   "libpciaccess.", "libibverbs.",
    "librdmacm.", "libnl-",       "libucp.",     "libuct.",    "libucs.",       "libucm.",
    "libpsm",     "libmunge.",    "libtinfo.",   "libncurses", "libpng",        "libjpeg.",
    "libgmp.",    "libmpfr.",     "libcrypt.",   "libnss_",    "libnsl.",       "libelf.",
    "libdw.",     "libjemalloc.", "libtcmalloc", "libX11.",    "libxcb",        "libGL",
    "libdrm.",    "libcuda.",     "libcudart."};

// Threads of theirs run what all ranks give them. oneTBB's are those of std::execution::par, too.
constexpr std::array with_threads{"libtbb.", "libtbb_debug.", "libglib-2.0."};

// What each library has for its own start and end.
constexpr std::size_t harmless_data_bytes = 64;

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_in(std::string_view name, std::span<const char* const> names) {
  return std::ranges::any_of(names, [&](const char* s) { return name.starts_with(s); });
}

// Whether a list of names and directories, separated by commas, means this path.
bool is_meant(std::string_view list, std::string_view path) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (one.ends_with('/') ? path.starts_with(one) : !one.empty() && name_of(path).starts_with(one))
      return true;
  }
  return false;
}

enum class sharing { own, shared, shared_knowingly };

sharing sharing_of(std::string_view path, const library_list_settings& how) {
  const std::string_view name = name_of(path);
  if (is_in(name, run_time)) return sharing::shared_knowingly;
  if (is_meant(how.own, path)) return sharing::own;
  if (is_meant(how.shared, path))
    // A directory says nothing of what lies in it.
    return is_meant(how.shared, name) ? sharing::shared_knowingly : sharing::shared;
  if (is_in(name, private_run_times) || is_in(name, with_state)) return sharing::own;
  if (is_in(name, harmless)) return sharing::shared_knowingly;
  if (std::ranges::any_of(module_directories,
                          [&](const char* one) { return path.find(one) != path.npos; }))
    return sharing::own;
  return is_of_system(path) ? sharing::shared : sharing::own;
}

// Whether it needs MPI by an interface that weft has, itself or by way of libraries of the system.
bool brings_mpi(const elf_file& file, std::set<std::string>& seen) {
  if (!file.needed_abi().empty()) return true;
  return std::ranges::any_of(file.needed(), [&](std::uint64_t index) {
    const std::string_view name = file.string_at(index);
    if (is_in(name, run_time) || is_in(name, private_run_times) || is_in(name, harmless))
      return false;
    const std::string path = library_of_system(name);
    if (path.empty() || !seen.insert(path).second) return false;
    try {
      return brings_mpi(elf_file(path), seen);
    } catch (const error&) {  // A text for linkers, say: the others decide.
      return false;
    }
  });
}

struct library {
  std::string path;
  elf_file file;
  sharing how;
  bool needed = false;  // The program needs it, or a library that is needed.
};

template <class Visit>
void each_needed(const elf_file& by, std::vector<library>& all, Visit&& visit) {
  for (const std::uint64_t index : by.needed())
    for (library& l : all)
      if (l.file.answers_to(by.string_at(index))) visit(l);
}

void mark_needed(const elf_file& by, std::vector<library>& all) {
  each_needed(by, all, [&](library& l) {
    if (std::exchange(l.needed, true)) return;
    // What the run-time system uses is not the program's business.
    if (!is_in(name_of(l.path), run_time)) mark_needed(l.file, all);
  });
}

// One that uses a private library would use another copy of it than its rank, were it shared itself.
void follow_users(std::vector<library>& all) {
  for (bool changed = true; changed;) {
    changed = false;
    for (library& user : all) {
      if (user.how == sharing::own || is_in(name_of(user.path), run_time)) continue;
      each_needed(user.file, all, [&](const library& l) {
        if (l.how == sharing::own && !is_in(name_of(l.path), private_run_times)) {
          user.how = sharing::own;
          changed = true;
        }
      });
    }
  }
}

std::optional<library_choice::shared_state> state_of(const std::string& path, const elf_file& file,
                                                     sharing how) {
  const std::size_t bytes = file.writable_bytes();
  if (how != sharing::shared || bytes <= harmless_data_bytes) return {};
  return library_choice::shared_state{path, bytes};
}

}  // namespace

library_choice choose_libraries(const elf_file& program, std::span<const std::string> loaded,
                                const library_list_settings& how) {
  std::vector<library> all;
  for (const std::string& path : loaded)
    if (path.find('/') != path.npos) {
      elf_file file(path);
      sharing is = sharing_of(path, how);
      // What uses MPI counts on one program that uses it, unless the user says otherwise.
      if (is == sharing::shared && !is_meant(how.shared, path) && !file.needed_abi().empty())
        is = sharing::own;
      all.push_back({path, std::move(file), is});
    }
  mark_needed(program, all);
  follow_users(all);
  library_choice chosen;
  for (const library& l : all) {
    if (!l.needed) continue;  // What was loaded before the program, say.
    const std::string path = std::filesystem::absolute(l.path).string();
    if (l.how == sharing::own)
      chosen.own.push_back(path);
    else if (auto state = state_of(path, l.file, l.how))
      chosen.shared.push_back(*std::move(state));
  }
  return chosen;
}

std::string mpi_user_of_system(std::string_view name) {
  if (is_in(name, run_time)) return {};
  try {
    std::set<std::string> seen;
    const std::string path = library_of_system(name);
    if (!path.empty() && brings_mpi(elf_file(path), seen)) return path;
  } catch (const error&) {  // A text for linkers, say, or one that is cut off.
  }
  return {};
}

std::vector<std::size_t> order_of_loading(std::span<const elf_file* const> files) {
  std::vector<std::size_t> order;
  std::vector<bool> is_placed(files.size(), false);
  const std::function<void(std::size_t)> place = [&](std::size_t at) {
    is_placed[at] = true;
    for (const std::uint64_t index : files[at]->needed())
      for (std::size_t other = 0; other < files.size(); ++other)
        if (!is_placed[other] && files[other]->answers_to(files[at]->string_at(index)))
          place(other);
    order.push_back(at);
  };
  place(0);
  return order;
}

opened_library_choice choose_opened(const elf_file& file, const library_list_settings& how,
                                    const std::function<bool(std::string_view)>& is_private) {
  const std::string path = std::filesystem::absolute(file.path()).string();
  const sharing is = sharing_of(path, how);
  if (is == sharing::own) return {true, {}};
  // As with one that the program was linked with.
  std::set<std::string> seen;
  if (is == sharing::shared && !is_meant(how.shared, path) && brings_mpi(file, seen))
    return {true, {}};
  const auto uses = [&](std::uint64_t index) {
    const std::string_view name = file.string_at(index);
    return !is_in(name_of(name), private_run_times) && is_private(name);
  };
  if (!is_in(name_of(path), run_time) && std::ranges::any_of(file.needed(), uses))
    return {true, {}};
  return {false, state_of(path, file, is)};
}

bool has_threads_of_process(std::string_view path) {
  return is_in(name_of(path), with_threads);
}

std::string text_of(const library_choice::shared_state& one) {
  const std::string_view name = name_of(one.path);
  const std::string_view stem = name.substr(0, name.find(".so"));
  return formatted(
      "ranks of one process share {}, which has {} bytes of variables: if it keeps "
      "something for its program, give each rank its own with WEFT_PRIVATE_LIBRARIES={} "
      "(weftrun --private-libraries), if not, WEFT_SHARED_LIBRARIES={} ends this line",
      one.path, one.writable_bytes, stem, stem);
}

}  // namespace weft::process
