#include "weftrun/program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <unordered_set>

#include "base/format.hpp"
#include "base/library_lists.hpp"
#include "base/limits.hpp"
#include "base/system_path.hpp"
#include "process/loader/copied_file.hpp"
#include "process/loader/elf_file.hpp"
#include "process/loader/libraries.hpp"
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

// A library of MPI that a program needs, whichever MPI's.
struct mpi_use {
  std::string needed;   // The name by which it, or a library of it, needs that.
  std::string library;  // Which library does; empty: the program itself.
};

// What others than weft call their libraries for C: libmpi.so.40, libmpich.so.10.
bool is_library_of_mpi(std::string_view name) {
  return name.starts_with("libmpi.so") || name.starts_with("libmpich.so") ||
         process::is_interface_of_weft(name);
}

constexpr const char* directories_of_system =
    "/usr/local/lib:/usr/lib64:/usr/lib:" WEFT_SYSTEM_LIBRARIES;

// The file that the loader takes for `name`; empty: none.
std::string first_library(std::string_view name, const std::string& directories,
                          const std::string& origin_of_file) {
  std::istringstream all(directories);
  for (std::string directory; std::getline(all, directory, ':');) {
    for (const std::string_view origin : {"${ORIGIN}", "$ORIGIN"})
      if (const std::size_t at = directory.find(origin); at != directory.npos)
        directory.replace(at, origin.size(), origin_of_file);
    if (directory.empty()) continue;
    if (const auto library = std::filesystem::path(directory) / name;
        ::access(library.c_str(), R_OK) == 0)
      return library;
  }
  return "";
}

// Libraries are looked for where the loader does, as far as the program, the variable and the system's usual directories say; those
// of MPI's own library do not matter. `seen` are files that have been looked at, the program first.
void add_mpi_uses(const std::string& path, std::set<std::string>& seen, std::vector<mpi_use>& to) {
  const bool is_program = seen.empty();
  if (seen.contains(path)) return;
  try {
    const process::elf_file file(path, process::elf_file::form::any_program);
    seen.insert(path);
    const char* const variable = std::getenv("LD_LIBRARY_PATH");
    // A name with a directory stays as it is, whatever stands before it.
    const std::string all = formatted("{}:{}:{}:/", file.library_path(),
                                      variable != nullptr ? variable : "", directories_of_system);
    const std::string origin_of_file = std::filesystem::canonical(path).parent_path().string();
    std::vector<std::string> others;
    for (const std::uint64_t index : file.needed()) {
      const std::string_view name = file.string_at(index);
      if (is_library_of_mpi(name))
        to.push_back({std::string(name), is_program ? "" : path});
      else if (const std::string library = first_library(name, all, origin_of_file);
               !library.empty())
        others.push_back(library);
    }
    for (const std::string& library : others) add_mpi_uses(library, seen, to);
  } catch (const error&) {                              // No file of this machine.
  } catch (const std::filesystem::filesystem_error&) {  // Or it has just gone.
  }
}

// Whether it has the name of the shared library, or a name that the static one brings along.
bool is_linked_to_weft(const std::string& bytes) {
  return bytes.find("libweft.so") != bytes.npos || bytes.find("WEFT_JOB") != bytes.npos;
}

// Of a program that is not weft's, what it needs itself first. `files` becomes what has been looked at: the program and its libraries.
std::vector<mpi_use> mpi_uses_of(const std::string& path, std::set<std::string>& files) {
  const std::string bytes = bytes_of_program(path);
  std::vector<mpi_use> uses;
  if (!bytes.empty() && !is_linked_to_weft(bytes)) add_mpi_uses(path, files, uses);
  return uses;
}
std::vector<mpi_use> mpi_uses_of(const std::string& path) {
  std::set<std::string> files;
  return mpi_uses_of(path, files);
}

// The first of them whose interface weft has; null: none.
const mpi_use* own_interface(const std::vector<mpi_use>& uses) {
  const auto at = std::ranges::find_if(
      uses, [](const mpi_use& one) { return process::is_interface_of_weft(one.needed); });
  return at != uses.end() ? &*at : nullptr;
}

bool knows_weft(const std::string& path) {
  return is_linked_to_weft(bytes_of_program(path)) || own_interface(mpi_uses_of(path)) != nullptr;
}

constexpr std::array shells{"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox"};
// Some of these are started by scripts of a shell.
constexpr std::array interpreters{"python", "pypy", "ipython", "R", "Rscript", "julia", "octave"};

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}
// python3.11 is python.
std::string without_version(const std::string& name) {
  return name.substr(0, name.find_last_not_of("0123456789.") + 1);
}

// What the first line of a script names; empty where it is none.
std::string interpreter_of(const std::string& script) {
  std::ifstream file(script, std::ios::binary);
  std::string line(2, '\0');
  if (!file.read(line.data(), 2) || line != "#!" || !std::getline(file, line)) return "";
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (name_of(word) == "env")
    while (words >> word && (word.starts_with('-') || word.find('=') != word.npos)) continue;
  return word;
}

bool imports(const process::elf_file& file, std::string_view function) {
  return std::ranges::any_of(file.symbols(), [&](const ElfW(Sym) & s) {
    return s.st_shndx == SHN_UNDEF && file.string_at(s.st_name) == function;
  });
}

}  // namespace

bool is_of_shell(const std::vector<std::string>& command) {
  const auto is_shell = [](const std::string& path) {
    return std::ranges::find(shells, without_version(name_of(path))) != shells.end();
  };
  return is_shell(command.front()) || is_shell(interpreter_of(path_of(command.front())));
}

bool opens_modules(const std::vector<std::string>& command) {
  const std::string path = path_of(command.front());
  const std::string name = without_version(name_of(command.front()));
  if (std::ranges::find(interpreters, name) != interpreters.end()) return true;
  if (is_of_shell(command)) return false;
  if (const std::string interpreter = interpreter_of(path); !interpreter.empty()) {
    const std::string its = without_version(name_of(interpreter));
    return std::ranges::find(interpreters, its) != interpreters.end();
  }
  try {
    const process::elf_file program(path);
    if (!imports(program, "dlopen") || knows_weft(path)) return false;
  } catch (const error&) {
    return false;
  }
  // A tool, say a debugger, with the program as its word.
  return std::none_of(command.begin() + 1, command.end(), [](const std::string& word) {
    return knows_weft(word) &&
           bytes_of_program(word).find("/ld-linux") != std::string::npos;  // No library.
  });
}

namespace {

// Tools that know one program in a process, by a function of each: of ThreadSanitizer one that instrumented code does not call, since
// libweft has those for weftcc -check.
struct tool {
  std::string_view function, word;
};
constexpr std::array one_program_tools{
    tool{"__asan_init", "address"}, tool{"__tsan_create_fiber", "thread"},
    tool{"__hwasan_init", "hwaddress"}, tool{"__lsan_init", "leak"}};
constexpr std::array tool_libraries{tool{"libasan.", "address"}, tool{"libtsan.", "thread"},
                                    tool{"libhwasan.", "hwaddress"}, tool{"liblsan.", "leak"}};
// What they change is the process's, or the thread's on which other ranks run, and no function can stand before them: docs/images.md.
constexpr std::array calls_of_process{"chroot",   "setns",     "unshare",   "signalfd",  "setuid",
                                      "seteuid",  "setreuid",  "setresuid", "setgid",    "setegid",
                                      "setregid", "setresgid", "setgroups", "initgroups"};

std::string sanitizer_of(const process::elf_file& program) {
  for (const auto& [library, word] : tool_libraries)
    for (const std::uint64_t index : program.needed())
      if (program.string_at(index).starts_with(library)) return std::string(word);
  for (const auto& [function, word] : one_program_tools)
    for (const ElfW(Sym) & s : program.symbols())
      if (program.string_at(s.st_name) == function) return std::string(word);
  return "";
}

// What weftcc links to a program.
bool has_description(const process::elf_file& program) {
  return std::ranges::any_of(program.symbols(), [&](const ElfW(Sym) & s) {
    return s.st_shndx != SHN_UNDEF && program.string_at(s.st_name) == "weft_program";
  });
}

bool is_of_other_compiler(const std::string& path) {
  return own_interface(mpi_uses_of(path)) != nullptr;
}

// Of an executable with thread-local variables, what stands against a thread for each rank, in words; empty: nothing does.
std::string why_no_threads(const process::elf_file& program, const std::string& path,
                           const options& how) {
  if (const std::string why = program.why_only_copy(); !why.empty()) return why;
  std::set<std::string> files;
  std::vector<mpi_use> uses;
  add_mpi_uses(path, files, uses);
  // What no library is linked to is exported for those that are opened.
  const auto is_exported = [](const ElfW(Sym) & s) {
    return ELF64_ST_TYPE(s.st_info) == STT_TLS && s.st_shndx != SHN_UNDEF;
  };
  const bool exports = std::ranges::any_of(program.symbols(), is_exported);
  if (exports && imports(program, "dlopen"))
    return "exports thread-local variables, calls dlopen() and was linked as an executable";
  for (const std::string& one : files) {
    if (one == path) continue;
    if (process::has_threads_of_process(one))
      return formatted(
          "has thread-local variables and was linked as an executable, and {} calls it on threads of all ranks",
          one);
    const process::elf_file file(one, process::elf_file::form::any_program);
    if (const std::string_view name = program.thread_local_meant_by(file); !name.empty())
      return formatted(
          "has the thread-local variable {}, which {} uses, and was linked as an executable", name,
          one);
    if (exports && !is_of_system(one) && imports(file, "dlopen"))
      return formatted(
          "exports thread-local variables and was linked as an executable, and {} calls dlopen()",
          one);
  }
  if (how.schedule || (how.workers != 0 && how.workers < how.ranks))
    return formatted(
        "has thread-local variables and was linked as an executable, so that a worker has one rank, {}",
        how.schedule ? "with a schedule, which has one worker" : "with fewer workers than ranks");
  return "";
}

// A library of LD_PRELOAD that needs Open MPI's; empty: none.
std::string preloaded_with_openmpi() {
  const char* const list = std::getenv("LD_PRELOAD");
  std::string names = list != nullptr ? list : "";
  std::ranges::replace(names, ':', ' ');
  std::istringstream all(names);
  for (std::string library; all >> library;)
    for (const mpi_use& use : mpi_uses_of(library))
      if (use.needed == process::openmpi_library) return library;
  return "";
}

}  // namespace

std::string why_one_rank(const std::vector<std::string>& command, const options& how) {
  const std::string path = path_of(command.front());
  try {
    const process::elf_file program(path, process::elf_file::form::any_program);
    const std::vector<mpi_use> uses = mpi_uses_of(path);
    const mpi_use* const use = own_interface(uses);
    const bool is_foreign = use != nullptr;
    if (!is_foreign && !has_description(program)) return "";
    if (program.is_at_fixed_address())
      return is_foreign
                 ? "is linked at a fixed address (-no-pie), of which a process holds one copy: each rank gets a "
                   "process of its own; ranks share one when it is linked with -pie"
                 : "";
    constexpr const char* remedy =
        ": each rank gets a process of its own; ranks share one when its objects are compiled with weftcc (mpicc)";
    if (program.is_executable() && program.has_thread_locals())
      if (const std::string why = why_no_threads(program, path, how); !why.empty())
        return why + remedy;
    // What speaks Open MPI's interface is each rank's own, and would come before it.
    if (const std::string tool = preloaded_with_openmpi();
        is_foreign && use->needed == process::openmpi_library && !tool.empty())
      return formatted(
          "is run behind {} (LD_PRELOAD), which sees calls of Open MPI's interface where it is the process's: each "
          "rank gets a process of its own; ranks share one when it is linked with that library",
          tool);
    if (const std::string word = sanitizer_of(program); !word.empty())
      return formatted(
          "is linked with -fsanitize={}, which knows one program in a process: each rank gets a process of "
          "its own",
          word);
    for (const char* const call : calls_of_process)
      if (imports(program, call))
        return formatted(
            "calls {}(), which changes the process for all ranks in it: each rank gets a process of its own; "
            "--ranks-per-process N has them share one all the same",
            call);
  } catch (const error&) {  // None that the kernel would start so.
  }
  return "";
}

namespace {

// weft's library of this name; empty: it has none.
std::string own_library(const std::string& name) {
  std::string library = library_beside_this((WEFT_LIBRARIES "/" + name).c_str());
  if (library.empty())
    library = library_beside_this(("../lib/weft/" + name).c_str());  // Not installed.
  return library;
}

// What weft's library of MPI `needed` brings along, where functions beyond the standard are, and MPICH's variables.
std::vector<std::string> brought_by(const std::string& needed) {
  if (process::is_mpich_library(needed))
    return {own_library(std::string(process::mpich_process_library)),
            own_library(std::string(process::mpich_functions_library))};
  if (needed == process::openmpi_library)
    return {own_library(std::string(process::openmpi_functions_library))};
  std::vector<std::string> libraries{own_library(std::string(process::process_library))};
  const process::elf_file first(libraries.front());
  for (const std::uint64_t index : first.needed())
    if (const std::string name(first.string_at(index)); name.starts_with("libweft.so"))
      libraries.push_back(own_library(name));
  return libraries;
}

// The files of which each copy has its own: the program and the libraries that the loader brings for it.
std::vector<process::elf_file> files_of_copy(const std::string& path) {
  std::set<std::string> files;
  std::vector<mpi_use> uses;
  add_mpi_uses(path, files, uses);
  std::vector<std::string> libraries(files.begin(), files.end());
  std::erase(libraries, path);
  if (const mpi_use* const use = own_interface(uses); use != nullptr) {
    libraries.push_back(own_library(use->needed));
    for (const std::string& brought : brought_by(use->needed)) libraries.push_back(brought);
  }
  std::vector<process::elf_file> own;
  own.emplace_back(path, process::elf_file::form::any_program);
  const process::library_choice chosen =
      process::choose_libraries(own.front(), libraries, library_lists());
  for (const std::string& library : chosen.own) own.emplace_back(library);
  return own;
}

}  // namespace

bool ranks_have_threads(const std::vector<std::string>& command) {
  try {
    const std::string path = path_of(command.front());
    const process::elf_file program(path, process::elf_file::form::any_program);
    return program.is_executable() && program.has_thread_locals() &&
           (has_description(program) || is_of_other_compiler(path));
  } catch (const error&) {  // None that the kernel would start so.
    return false;
  }
}

int ranks_of_one_process(const std::vector<std::string>& command, int limit) {
  try {
    const std::string path = path_of(command.front());
    const process::elf_file program(path, process::elf_file::form::any_program);
    if (!has_description(program) && !is_of_other_compiler(path)) return ranks_max;
    std::size_t mappings = 0, protected_mappings = 0;
    for (const process::elf_file& file : files_of_copy(path)) {
      mappings += process::mappings_of_copy(file, false);
      protected_mappings += process::mappings_of_copy(file, true);
    }
    const std::size_t fit = process::copies_that_fit(protected_mappings, mappings,
                                                     static_cast<std::size_t>(std::max(limit, 1)));
    return static_cast<int>(std::clamp<std::size_t>(fit, 1, ranks_max));
  } catch (const error&) {  // None that the kernel would start so.
    return ranks_max;
  }
}

namespace {

using names = std::unordered_set<std::string>;

names defined_by(const std::string& library) {
  names all;
  const process::elf_file file(library, process::elf_file::form::any_program);
  for (const ElfW(Sym) & s : file.symbols())
    if (s.st_shndx != SHN_UNDEF) all.emplace(file.string_at(s.st_name));
  return all;
}

bool begins_with(std::string_view name, std::initializer_list<const char*> beginnings) {
  return std::ranges::any_of(beginnings, [&](const char* one) { return name.starts_with(one); });
}

// The functions of MPI that a program or library calls, of which nothing is known. MPICH's own libraries for Fortran and C++ name all that
// their release has beside the standard; a program calls little of it.
std::vector<std::string> functions_not_in(const names& known, const std::string& path) {
  const process::elf_file program(path, process::elf_file::form::any_program);
  const bool is_of_mpi = name_of(path).starts_with("libmpi");
  std::vector<std::string> missing;
  for (const ElfW(Sym) & s : program.symbols()) {
    const std::string name(program.string_at(s.st_name));
    if (s.st_shndx == SHN_UNDEF && ELF64_ST_BIND(s.st_info) != STB_WEAK && !known.contains(name) &&
        (begins_with(name, {"MPI_", "PMPI_"}) ||
         (!is_of_mpi && begins_with(name, {"MPIX_", "PMPIX_"}))))
      missing.push_back(name);
  }
  return missing;
}

// What speaks another interface than `use`, among all that a program needs.
const mpi_use* other_mpi(const std::vector<mpi_use>& uses, const mpi_use& use) {
  const auto at = std::ranges::find_if(uses, [&](const mpi_use& one) {
    const auto is_same = [&](const auto& speaks) {
      return speaks(use.needed) && speaks(one.needed);
    };
    return !is_same([](std::string_view name) { return process::is_mpich_library(name); }) &&
           !is_same([](std::string_view name) { return name.starts_with(process::abi_library); }) &&
           use.needed != one.needed;
  });
  return at != uses.end() ? &*at : nullptr;
}

std::string through(const mpi_use& use) {
  return use.library.empty() ? "" : formatted(" through {}", use.library);
}

}  // namespace

std::string mpi_library_for(const std::vector<std::string>& command) {
  const std::string path = path_of(command.front());
  std::set<std::string> files;
  const std::vector<mpi_use> uses = mpi_uses_of(path, files);
  const mpi_use* const use = own_interface(uses);
  if (use == nullptr) return "";
  if (const mpi_use* const other = other_mpi(uses, *use))
    throw error(
        formatted("{} is linked with two MPIs, {}{} and {}{}: link all of it with one of them",
                  command.front(), use->needed, through(*use), other->needed, through(*other)));
  std::set<std::string> needed;  // libmpi.so.12 and libmpich.so.12, say, are one MPI.
  for (const mpi_use& one : uses) needed.insert(one.needed);
  std::string libraries;
  for (const std::string& name : needed) {
    const std::string library = own_library(name);
    if (library.empty())
      throw error(formatted(
          "{} asks for {}, which weft does not have: libmpi_abi.so.1 is the library of the standard's binary "
          "interface; build the program with mpicc_abi",
          command.front(), name));
    libraries += (libraries.empty() ? "" : ":") + library;
  }
  for (const mpi_use& one : uses) {
    const std::string& user = one.library.empty() ? path : one.library;
    std::vector<std::string> missing = functions_not_in(defined_by(own_library(one.needed)), user);
    // Others have functions of their own, too, whose names begin so.
    std::vector<std::string> others = brought_by(one.needed);
    others.insert(others.end(), files.begin(), files.end());
    for (auto other = others.begin(); !missing.empty() && other != others.end(); ++other)
      std::erase_if(missing, [theirs = defined_by(*other)](const std::string& name) {
        return theirs.contains(name);
      });
    if (!missing.empty())
      throw error(formatted(
          "{} calls {}(){}, which weft's {} does not have: it has the functions of MPI 5.0; do without it, or run "
          "the program with the MPI that it was built with",
          command.front(), missing.front(),
          one.library.empty() ? "" : formatted(" in {}", one.library), one.needed));
  }
  return libraries;
}

bool knows_ranks(const std::vector<std::string>& command) {
  const std::string path = path_of(command.front());
  const std::string bytes = bytes_of_program(path);
  if (bytes.empty()) return false;
  if (knows_weft(path)) return true;
  const auto refuse = [&](std::string_view mpi) {
    throw error(
        formatted("{} is linked with another MPI ({}...), which would take each process "
                  "for a job of its own: build it with weftcc, weftcxx or weftfc, or "
                  "start it with that MPI's mpirun",
                  command.front(), mpi));
  };
  for (const char* const mpi : {"libmpi.so", "libmpich.so"})
    if (bytes.find(mpi) != bytes.npos) refuse(mpi);
  // libmpi_cray.so, libmpi_cxx.so, and all others but the standard's.
  for (std::size_t at = 0; (at = bytes.find("libmpi_", at)) != bytes.npos; ++at) {
    const std::string_view name = std::string_view(bytes).substr(
        at, bytes.find_first_of(std::string_view(". \0", 3), at) - at);
    if (name != "libmpi_abi" && bytes.compare(at + name.size(), 3, ".so") == 0) refuse(name);
  }
  return false;
}

std::string not_built_with_weft(const std::vector<std::string>& command) {
  if (knows_ranks(command) || opens_modules(command) ||
      bytes_of_program(path_of(command.front())).empty())
    return "";
  // A tool, say a debugger, with the program as its word; or started for its own sake.
  if (command.front().find('/') == std::string::npos) return "";
  for (std::size_t i = 1; i < command.size(); ++i)
    if (knows_weft(command[i])) return "";
  return formatted(
      "{} was not built with weft and knows nothing of ranks: build it with weftcc, "
      "weftcxx or weftfc",
      command.front());
}

std::string library_beside_this(const char* place) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto library = (self.parent_path() / place).lexically_normal();
  return std::filesystem::exists(library, failed) ? library.string() : "";
}

int status_of_failed_start(int reason) {
  return reason == ENOENT ? status_not_found : status_cannot_execute;
}

}  // namespace weft
