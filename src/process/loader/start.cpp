// What a program does before anything of it runs: it stays as it is when it is one rank, and makes
// room for a host that loads copies of it when its process holds several.
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "process/loader/start.h"

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "base/topology.hpp"
#include "process/life/program.h"
#include "process/loader/image.hpp"
#include "process/loader/libraries.hpp"
#include "weft/error.hpp"

namespace weft::process {
namespace {

// What the loader has brought for this program.
std::vector<std::string> loaded_libraries() {
  std::vector<std::string> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
        return 0;
      },
      &found);
  return found;
}

std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

// The globals of a program that stays as it is, and of the libraries of which each copy would have its own, in the order in which copies
// tell them.
std::vector<std::span<std::byte>> statics_in_place() {
  struct loaded {
    std::string path;
    std::uintptr_t base;
  };
  std::vector<loaded> all;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        static_cast<std::vector<loaded>*>(to)->push_back({info->dlpi_name, info->dlpi_addr});
        return 0;
      },
      &all);
  all[0].path = own_path();  // The program comes first, without a name.
  std::vector<std::string> paths;
  for (const loaded& one : all) paths.push_back(one.path);
  const elf_file program(paths[0]);
  const library_choice libraries =
      choose_libraries(program, std::span(paths).subspan(1), library_lists());
  std::vector<std::unique_ptr<elf_file>> own;
  std::vector<const elf_file*> files{&program};
  for (const std::string& path : libraries.own)
    files.push_back(own.emplace_back(std::make_unique<elf_file>(path)).get());
  std::vector<std::span<std::byte>> statics;
  const std::vector<std::size_t> order = order_of_loading(files);
  for (std::size_t i = order.size(); i-- > 0;) {
    const elf_file& file = *files[order[i]];
    const auto is_it = [&](const loaded& one) {
      return one.path == file.path() || std::filesystem::absolute(one.path) == file.path();
    };
    if (const auto at = std::ranges::find_if(all, is_it); at != all.end())
      for (const std::span<std::byte> part : file.writable_at(at->base)) statics.push_back(part);
  }
  return statics;
}

void tell_statics_in_place(weft_statics_visitor* visit, void* into) {
  for (const std::span<std::byte> part : statics_in_place()) visit(into, part.data(), part.size());
}

// It lies beside libweft. One has room for thread-local variables of an executable in each thread.
std::string host_path(bool has_thread_locals) {
  Dl_info here{};
  dladdr(reinterpret_cast<const void*>(&weft_become_host), &here);
  const std::string library = here.dli_fname != nullptr ? here.dli_fname : "";
  return std::filesystem::canonical(library).parent_path().string() +
         (has_thread_locals ? "/weft-host-threads" : "/weft-host");
}

// Changes a variable and notes what it was.
void replace_variable(host_request& request, const char* name, const std::string& value) {
  const char* const before = std::getenv(name);
  request.restored.push_back(before == nullptr ? name : formatted("{}={}", name, before));
  ::setenv(name, value.c_str(), 1);
}

// Whether it is a library of MPI by which programs of other compilers come to weft.
bool is_interface(const std::string& path) {
  return path.ends_with(mpich_functions_library) || path.find("/libmpi_abi.so") != path.npos;
}

// The host has libweft before all else, where the functions of MPI mean the standard's interface: those of MPICH's come before
// it, behind what the user preloads.
void put_interface_before_libweft(host_request& request, std::span<const std::string> loaded) {
  for (const std::string& path : loaded)
    if (path.ends_with(mpich_functions_library)) {
      const char* const before = std::getenv("LD_PRELOAD");
      replace_variable(
          request, "LD_PRELOAD",
          formatted("{}{}{}", before != nullptr ? before : "", before != nullptr ? ":" : "", path));
    }
}

void make_room_for_static_tls(host_request& request, const elf_file& program, int ranks) {
  std::vector<elf_file> libraries;
  for (const std::string& library : request.libraries) libraries.emplace_back(library);
  std::vector<const elf_file*> files{&program};
  for (const elf_file& library : libraries) files.push_back(&library);
  const std::size_t each = static_tls_bytes(files);
  if (each == 0) return;
  const char* const before = std::getenv("GLIBC_TUNABLES");
  const std::size_t all = each * static_cast<std::size_t>(ranks) + static_tls_spare_bytes;
  replace_variable(request, "GLIBC_TUNABLES",
                   formatted("{}{}glibc.rtld.optional_static_tls={}",
                             before != nullptr ? before : "", before != nullptr ? ":" : "", all));
}

// Ranks that this process holds at most; 0: known only when the processes have met.
int ranks_here(const options& how) {
  if (how.ranks_per_process == 1) return 1;
  const char* const job = std::getenv("WEFT_JOB");
  if (job == nullptr) return how.ranks == 0 ? 1 : how.ranks;
  // weftrun has said how many, if neighbours stay together.
  if (const char* const colon = std::strchr(job, ':'); colon != nullptr && how.map == "block")
    return std::atoi(colon + 1);
  if (how.ranks == 0) return 0;
  return how.processes > 1 ? (how.ranks + how.processes - 1) / how.processes : how.ranks;
}

// Tools that know one program in a process, by a function of each that libweft has not (rank/instrumented_code.cpp).
void look_at_tools(const std::string& program) {
  for (const auto& [function, word] :
       {std::pair{"__asan_init", "address"}, std::pair{"__tsan_create_fiber", "thread"},
        std::pair{"__hwasan_init", "hwaddress"}, std::pair{"__lsan_do_leak_check", "leak"}})
    if (::dlsym(RTLD_DEFAULT, function) != nullptr)
      throw error(formatted(
          "{} is linked with -fsanitize={}, which knows one program in a process: run it with "
          "--ranks-per-process 1 (WEFT_RANKS_PER_PROCESS=1)",
          program, word));
  const char* const preloaded = std::getenv("LD_PRELOAD");
  if (preloaded != nullptr && std::strstr(preloaded, "/vgpreload_") != nullptr)
    log_line(
        "valgrind does not follow {} to the process that holds its ranks, and would find no lines there: run "
        "weftrun --ranks-per-process 1 ... valgrind {}",
        program, program);
}

// A thread that runs code of several ranks has room for the thread-local variables of one copy of an executable.
void refuse_threads_of_process(const elf_file& program, std::span<const std::string> loaded,
                               std::span<const std::string> own) {
  for (const std::string& path : loaded)
    if (has_threads_of_process(path) &&
        std::ranges::find(own, std::filesystem::absolute(path).string()) == own.end())
      throw error(formatted(
          "{} has thread-local variables and was linked as an executable, and {} calls it on threads of all ranks: link it "
          "with weftcc (mpicc), or start it with --ranks-per-process 1",
          program.path(), path));
}

void become_host(int argc, char** argv) {
  // A program that runs with the rights of another user does not become the host, which was not made for that.
  if (::getauxval(AT_SECURE) != 0) return;
  std::vector<char*> words(argv, argv + argc + 1);  // The host takes weft's words out itself.
  const options how = resolve_options(argc, words.data()).values;
  const int ranks = ranks_here(how);
  if (ranks == 1) return weft_set_statics_finder(&tell_statics_in_place);
  host_request request;
  request.program = own_path();
  look_at_tools(request.program);
  const elf_file program(request.program);
  const std::vector<std::string> loaded = loaded_libraries();
  library_choice libraries = choose_libraries(program, loaded, library_lists());
  if (how.check)
    for (const library_choice::shared_state& one : libraries.shared)
      log_line("check: {}", text_of(one));
  const bool has_thread_locals = program.is_executable() && program.has_thread_locals();
  if (has_thread_locals) refuse_threads_of_process(program, loaded, libraries.own);
  request.libraries = std::move(libraries.own);
  const int ranks_at_most =
      ranks != 0 ? ranks : static_cast<int>(machine_topology().threads.size());
  make_room_for_static_tls(request, program, ranks_at_most);
  put_interface_before_libweft(request, loaded);
  const std::string host = host_path(has_thread_locals);
  // The copies are found by their numbers, and MPI in the host's own folder, also what a program opens later; but where messages
  // go over another MPI, that one's own library is wanted.
  const std::string of_interface =
      !(how.transport.starts_with("mpi") || parcelport_setting().starts_with("mpi")) ||
              std::ranges::any_of(loaded, is_interface)
          ? formatted(":{}", std::filesystem::path(host).parent_path().append("host").string())
          : "";
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  const std::string path = formatted("/proc/{}/fd{}{}{}", getpid(), of_interface,
                                     before != nullptr ? ":" : "", before != nullptr ? before : "");
  replace_variable(request, "LD_LIBRARY_PATH", path);
  ::setenv(host_variable, request.text().c_str(), 1);
  ::execv(host.c_str(), argv);
  throw error(
      formatted("cannot run {}: {}; it belongs beside libweft, where `make install` puts it", host,
                std::strerror(errno)));
}

}  // namespace

// Lines, since the names of files hardly contain a line's end.
std::string host_request::text() const {
  std::string lines = program;
  for (const std::string& word : restored) lines += "\n=" + word;
  for (const std::string& library : libraries) lines += "\n" + library;
  return lines;
}

host_request host_request::parse(std::string_view text) {
  host_request request;
  for (bool first = true; !text.empty(); first = false) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (first)
      request.program = line;
    else if (line.starts_with('='))
      request.restored.emplace_back(line.substr(1));
    else
      request.libraries.emplace_back(line);
  }
  return request;
}

}  // namespace weft::process

extern "C" void weft_become_host(int argc, char** argv) {
  try {
    weft::process::become_host(argc, argv);
  } catch (const std::exception& e) {
    weft::log_text(e.what());
    ::_exit(2);
  }
}
