#include "base/stack_trace.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <string_view>
#include <unordered_map>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/own_executable.hpp"

// Its headers are enough: the library is loaded when it is needed and there, so that no program
// depends on it.
#if __has_include(<elfutils/libdwfl.h>)
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#define WEFT_HAS_LIBDW 1
#endif

namespace weft {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

namespace {

struct capture {
  std::span<std::uintptr_t> calls;
  std::size_t count = 0;
};

_Unwind_Reason_Code keep_call(_Unwind_Context* context, void* argument) {
  auto& to = *static_cast<capture*>(argument);
  if (to.count == to.calls.size()) return _URC_END_OF_STACK;
  int before_call = 0;
  const std::uintptr_t address = _Unwind_GetIPInfo(context, &before_call);
  if (address == 0) return _URC_END_OF_STACK;
  // A return address may be the first of the next function; the call lies before it.
  to.calls[to.count++] = before_call != 0 ? address : address - 1;
  return _URC_NO_REASON;
}

// "f(int) [clone .constprop.0]" is the compiler's name for f(int).
std::string without_clone(std::string name) {
  if (const std::size_t at = name.find(" [clone "); at != name.npos) name.resize(at);
  return name;
}

bool is_runtime_file(std::string_view file) {
  // The build says where the library's own files were.
  return file.starts_with(WEFT_SOURCE_ROOT) || file.find("/include/weft/") != file.npos ||
         (file.find("/include/") != file.npos && file.find("/c++/") != file.npos);
}

// Of MPI in C, and in Fortran, where the program has those between it and weft. A program's own function may have
// such a name, too.
bool is_mpi_function(std::string_view name) {
  name = name.substr(0, name.find('('));
  if (name.starts_with('P') || name.starts_with('p')) name.remove_prefix(1);
  std::string in_c;
  if (name.starts_with("MPI_")) {
    in_c.append("P").append(name);
  } else if (name.starts_with("mpi_") && name.ends_with('_') && name.size() > 5) {
    in_c.append("PMPI_").append(name.substr(4, name.size() - 5));
    in_c[5] = static_cast<char>(std::toupper(static_cast<unsigned char>(in_c[5])));
  }
  return !in_c.empty() && ::dlsym(RTLD_DEFAULT, in_c.c_str()) != nullptr;
}

bool is_runtime_function(std::string_view name) {
  if (is_mpi_function(name)) return true;
  // Without parameters, before which there may be a namespace without a name.
  constexpr std::string_view nameless = "(anonymous namespace)";
  std::size_t end = name.find('(');
  while (end != name.npos && name.substr(end).starts_with(nameless))
    end = name.find('(', end + nameless.size());
  const std::string_view called = name.substr(0, end);
  // Templates begin with their result.
  for (const std::string_view part :
       {"weft::worker::", "weft::scheduler::", "weft::context::", "weft::communicator::",
        "weft::request::", "weft::detail::", "weft::run", "weft::wait_", "weft::sleep_for",
        "weft::yield", "weft::call_watched", "weft_call_watched", "weft::capture_calls",
        "weft::mpi::", "make_fcontext", "jump_fcontext", "ontop_fcontext"})
    if (const std::size_t at = called.find(part);
        at == 0 || (at != called.npos && called[at - 1] == ' '))
      return true;
  return false;
}

// Relative where that is shorter, as compilers print it.
std::string shown(const std::string& file) {
  std::error_code failed;
  const std::string here = std::filesystem::current_path(failed).string() + "/";
  return !failed && file.starts_with(here) ? file.substr(here.size()) : file;
}

// A file of a program in memory. Ranks have copies of their program's files: `first` is where the first
// copy begins, by whose addresses all are known, so that libdw reads each file once.
struct loaded_file {
  struct part {
    std::streamoff offset;
    std::string bytes;
  };
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  std::uintptr_t first = 0;
  std::string path;         // Empty when the file there is none, or another one by now.
  std::vector<part> notes;  // Have the identity that the linker gave it.
};

bool is_as_loaded(const loaded_file& loaded) {
  std::ifstream file(loaded.path, std::ios::binary);
  for (const loaded_file::part& note : loaded.notes) {
    std::string now(note.bytes.size(), '\0');
    file.seekg(note.offset);
    file.read(now.data(), static_cast<std::streamsize>(now.size()));
    if (!file || now != note.bytes) return false;
  }
  return bool(file);
}

// Opens nothing: the loader holds its lock meanwhile, and what closes files may ask it for a function.
int add_loaded_file(dl_phdr_info* loaded, std::size_t, void* to) {
  auto& files = *static_cast<std::vector<loaded_file>*>(to);
  loaded_file one;
  for (std::size_t i = 0; i < loaded->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = loaded->dlpi_phdr[i];
    const std::uintptr_t begin = loaded->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_NOTE)
      one.notes.push_back({static_cast<std::streamoff>(part.p_offset),
                           {reinterpret_cast<const char*>(begin), part.p_filesz}});
    if (part.p_type != PT_LOAD) continue;
    one.begin = std::min(one.begin, begin & -part.p_align);
    one.end = std::max(one.end, begin + part.p_memsz);
  }
  one.first = one.begin;
  one.path = loaded->dlpi_name[0] == '\0' ? own_executable() : loaded->dlpi_name;
  files.push_back(std::move(one));
  return 0;
}

// In rising order.
std::vector<loaded_file> loaded_files() {
  std::vector<loaded_file> files;
  dl_iterate_phdr(&add_loaded_file, &files);
  std::ranges::sort(files, {}, &loaded_file::begin);
  std::unordered_map<std::string, std::uintptr_t> first_copies;
  for (loaded_file& one : files) {
    std::error_code failed;
    one.path = std::filesystem::absolute(one.path, failed).string();
    if (!is_as_loaded(one))
      one.path.clear();
    else
      one.first = first_copies.try_emplace(one.path, one.begin).first->second;
  }
  return files;
}

#if defined(WEFT_HAS_LIBDW)

// libdw, loaded at the first report and kept.
struct debug_library {
#define WEFT_LIBDW_FUNCTIONS(f)                                                             \
  f(dwfl_begin) f(dwfl_end) f(dwfl_report_module) f(dwfl_report_end) f(dwfl_addrmodule)     \
      f(dwfl_module_addrdie) f(dwfl_module_addrinfo) f(dwfl_module_getsrc) f(dwfl_lineinfo) \
          f(dwfl_linux_proc_find_elf) f(dwarf_child) f(dwarf_siblingof) f(dwarf_haspc)      \
              f(dwarf_tag) f(dwarf_diename) f(dwarf_attr_integrate) f(dwarf_formstring)     \
                  f(dwarf_attr) f(dwarf_formudata) f(dwarf_getsrcfiles) f(dwarf_filesrc)
#define WEFT_DECLARE(name) decltype(&::name) name = nullptr;
  WEFT_LIBDW_FUNCTIONS(WEFT_DECLARE)
#undef WEFT_DECLARE
  bool complete = false;

  debug_library() {
    void* const library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    complete = true;
#define WEFT_LOAD(name)                                           \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name)); \
  complete = complete && name != nullptr;
    WEFT_LIBDW_FUNCTIONS(WEFT_LOAD)
#undef WEFT_LOAD
  }
};

const debug_library& libdw() {
  static const debug_library loaded;
  return loaded;
}

#endif

}  // namespace

std::size_t capture_calls(std::span<std::uintptr_t> calls) noexcept {
  capture to{calls};
  _Unwind_Backtrace(&keep_call, &to);
  return to.count;
}

std::string call_lines(symbol_table& symbols, std::span<const std::uintptr_t> calls,
                       std::string_view indent) {
  std::string text;
  std::size_t shown = 0;
  for (const std::uintptr_t call : calls)
    for (const std::string& name : symbols.calls_at(call))
      if (shown++ < calls_shown_max) text += formatted("{}{}\n", indent, name);
  if (shown == 0)
    text += formatted(
        "{}a function without a name here: compile with -g "
        "-fno-optimize-sibling-calls\n",
        indent);
  if (shown > calls_shown_max)
    text += formatted("{}and {} calls more\n", indent, shown - calls_shown_max);
  return text;
}

struct symbol_table::contents {
  std::unordered_map<std::uintptr_t, std::vector<std::string>> known;
#if defined(WEFT_HAS_LIBDW)
  // Loaded before the files are listed, so that nobody else is in the loader meanwhile: of the loader's lock, under
  // which the list is read, ThreadSanitizer knows nothing.
  const debug_library& names = libdw();
#endif
  std::vector<loaded_file> loaded = loaded_files();

  std::uintptr_t in_first_copy(std::uintptr_t address) const {
    const auto after = std::ranges::upper_bound(loaded, address, {}, &loaded_file::begin);
    if (after == loaded.begin() || address >= std::prev(after)->end) return address;
    return address - std::prev(after)->begin + std::prev(after)->first;
  }

  contents() {
    report();
  }
  explicit contents(std::vector<loaded_file> made_up) : loaded(std::move(made_up)) {
    report();
  }

#if !defined(WEFT_HAS_LIBDW)
  void report() {}
#else
  Dwfl* files = nullptr;

  void report() {
    if (!names.complete) return;
    // Debug information is looked for in the program's files only: libdw would ask servers too.
    static const Dwfl_Callbacks callbacks{
        libdw().dwfl_linux_proc_find_elf,
        [](Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
           char**) { return -1; },
        nullptr, nullptr};
    files = libdw().dwfl_begin(&callbacks);
    if (files == nullptr) return;
    for (const loaded_file& one : loaded)
      if (!one.path.empty() && one.begin == one.first)
        libdw().dwfl_report_module(files, one.path.c_str(), one.begin, one.end);
    libdw().dwfl_report_end(files, nullptr, nullptr);
  }
  ~contents() {
    if (files != nullptr) libdw().dwfl_end(files);
  }
  contents(const contents&) = delete;
  contents& operator=(const contents&) = delete;

  std::uint64_t number_of(Dwarf_Die* die, unsigned what) const {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (libdw().dwarf_attr(die, what, &attribute) != nullptr)
      libdw().dwarf_formudata(&attribute, &value);
    return value;
  }

  std::string name_of(Dwarf_Die* die) const {
    Dwarf_Attribute attribute;
    if (libdw().dwarf_attr_integrate(die, DW_AT_name, &attribute) == nullptr) return "?";
    const char* const name = libdw().dwarf_formstring(&attribute);
    return name != nullptr ? name : "?";
  }

  // A file as the debug information names it, which may be relative to where the compiler ran.
  std::string file_of(Dwarf_Die* unit, const char* name) const {
    if (name == nullptr) return "?";
    Dwarf_Attribute attribute;
    const char* const ran_in = libdw().dwarf_attr(unit, DW_AT_comp_dir, &attribute) == nullptr
                                   ? nullptr
                                   : libdw().dwarf_formstring(&attribute);
    const std::filesystem::path from = ran_in == nullptr ? "" : ran_in;
    return (from / name).lexically_normal().string();
  }

  // The function that has this address, and what is compiled into it there, outermost first. A lambda
  // is found within a function that does not have its addresses.
  bool find_scopes(Dwarf_Die* within, Dwarf_Addr address, std::vector<Dwarf_Die>& to) const {
    Dwarf_Die child;
    for (int more = libdw().dwarf_child(within, &child); more == 0;
         more = libdw().dwarf_siblingof(&child, &child)) {
      const int kind = libdw().dwarf_tag(&child);
      const bool is_code = kind == DW_TAG_subprogram || kind == DW_TAG_inlined_subroutine;
      const bool is_one = is_code && libdw().dwarf_haspc(&child, address) > 0;
      if (kind == DW_TAG_inlined_subroutine && !is_one) continue;
      if (is_one) to.push_back(child);
      if (find_scopes(&child, address, to) || is_one) return true;
    }
    return false;
  }

  // False when there is no debug information for this address. `symbol` may be null.
  bool find_lines(Dwfl_Module* module, std::uintptr_t address, const char* symbol,
                  std::vector<std::string>& to) const {
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = libdw().dwfl_module_addrdie(module, address, &bias);
    Dwfl_Line* const at = unit == nullptr ? nullptr : libdw().dwfl_module_getsrc(module, address);
    if (at == nullptr) return false;
    int line = 0;
    std::string file =
        file_of(unit, libdw().dwfl_lineinfo(at, nullptr, &line, nullptr, nullptr, nullptr));
    std::vector<Dwarf_Die> scopes;
    if (!find_scopes(unit, address - bias, scopes)) return false;
    Dwarf_Files* sources = nullptr;
    std::size_t source_count = 0;
    libdw().dwarf_getsrcfiles(unit, &sources, &source_count);
    for (Dwarf_Die& scope : std::views::reverse(scopes)) {
      const bool is_outermost = &scope == &scopes.front();
      std::string name = name_of(&scope);
      if (is_outermost && symbol != nullptr && name == "operator()")
        name = without_clone(demangled(symbol));
      if (!is_runtime_file(file)) to.push_back(formatted("{} at {}:{}", name, shown(file), line));
      if (is_outermost) break;
      line = static_cast<int>(number_of(&scope, DW_AT_call_line));
      const char* const caller =
          sources == nullptr ? nullptr
                             : libdw().dwarf_filesrc(sources, number_of(&scope, DW_AT_call_file),
                                                     nullptr, nullptr);
      file = file_of(unit, caller);
    }
    return true;
  }
#endif

  static std::vector<std::string> named(const char* name, std::uintptr_t offset) {
    const std::string text = without_clone(demangled(name));
    if (is_runtime_function(text) || text.starts_with("std::")) return {};
    return {formatted("{}+{:#x}", text, offset)};
  }

  // Of libweft.so, whose functions are none of the program, whatever they are called.
  static bool is_runtime(std::uintptr_t address) {
    static const char* const own = [] {
      Dl_info found{};
      return dladdr(reinterpret_cast<const void*>(&capture_calls), &found) != 0 ? found.dli_fname
                                                                                : nullptr;
    }();
    if (own == nullptr || std::strstr(own, "libweft.so") == nullptr) return false;
    Dl_info found{};
    return dladdr(reinterpret_cast<const void*>(address), &found) != 0 &&
           found.dli_fname != nullptr && std::strcmp(found.dli_fname, own) == 0;
  }

  // A variable of a function has a number behind its name.
  static std::string named_variable(const char* name, std::uintptr_t offset) {
    std::string text = demangled(name);
    if (const std::size_t at = text.rfind('.');
        at != text.npos && text.find_first_not_of("0123456789", at + 1) == text.npos)
      text.resize(at);
    return offset == 0 ? text : formatted("{}+{}", text, offset);
  }

  std::string find_variable(std::uintptr_t address) const {
    Dl_info exported{};
#if defined(WEFT_HAS_LIBDW)
    if (Dwfl_Module* const module =
            files == nullptr ? nullptr : libdw().dwfl_addrmodule(files, address)) {
      GElf_Off offset = 0;
      GElf_Sym symbol{};
      const char* const name = libdw().dwfl_module_addrinfo(module, address, &offset, &symbol,
                                                            nullptr, nullptr, nullptr);
      if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT ||
          offset >= std::max<GElf_Xword>(symbol.st_size, 1))
        return {};
      return named_variable(name, offset);
    }
#endif
    if (::dladdr(reinterpret_cast<const void*>(address), &exported) == 0 ||
        exported.dli_sname == nullptr)
      return {};
    return named_variable(exported.dli_sname,
                          address - reinterpret_cast<std::uintptr_t>(exported.dli_saddr));
  }

  std::vector<std::string> find(std::uintptr_t address) const {
    std::vector<std::string> calls;
    if (is_runtime(address)) return calls;
#if defined(WEFT_HAS_LIBDW)
    if (Dwfl_Module* const module =
            files == nullptr ? nullptr : libdw().dwfl_addrmodule(files, address)) {
      // Also names that the program does not export.
      GElf_Off offset = 0;
      GElf_Sym symbol;
      const char* const name = libdw().dwfl_module_addrinfo(module, address, &offset, &symbol,
                                                            nullptr, nullptr, nullptr);
      // What the build writes for Fortran lies in no directory of sources.
      const std::string function = name == nullptr ? std::string() : demangled(name);
      if (is_mpi_function(function)) return calls;
      // The program's code may be compiled into a template of weft, which the lines tell.
      const bool is_of_runtime = is_runtime_function(function);
      if (find_lines(module, address, name, calls) || is_of_runtime) return calls;
      if (name != nullptr) return named(name, offset);
    }
#endif
    Dl_info found{};
    if (dladdr(reinterpret_cast<const void*>(address), &found) == 0) return calls;
    if (found.dli_sname != nullptr)
      return named(found.dli_sname, address - reinterpret_cast<std::uintptr_t>(found.dli_saddr));
    if (found.dli_fname != nullptr)
      calls.push_back(formatted("{}+{:#x}", shown(found.dli_fname),
                                address - reinterpret_cast<std::uintptr_t>(found.dli_fbase)));
    return calls;
  }
};

symbol_table::symbol_table() : contents_(std::make_unique<contents>()) {}

namespace {
// Beyond what any file takes, and apart from what is loaded.
constexpr std::uintptr_t made_up_bytes = std::uintptr_t{1} << 36;
constexpr std::uintptr_t made_up_begin = std::uintptr_t{1} << 48;
}  // namespace

symbol_table::symbol_table(std::span<const std::string> files) {
  std::vector<loaded_file> all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    loaded_file one;
    one.begin = one.first = place_in(i, 0);
    one.end = one.begin + made_up_bytes;
    one.path = files[i];
    all.push_back(std::move(one));
  }
  contents_ = std::make_unique<contents>(std::move(all));
}

std::uintptr_t symbol_table::place_in(std::size_t file, std::uint64_t offset) noexcept {
  return made_up_begin + file * made_up_bytes + std::min<std::uint64_t>(offset, made_up_bytes - 1);
}
symbol_table::~symbol_table() = default;

std::uintptr_t symbol_table::place_of(std::uintptr_t address) const {
  return contents_->in_first_copy(address);
}

std::string symbol_table::variable_at(std::uintptr_t address) const {
  return contents_->find_variable(place_of(address));
}

const std::vector<std::string>& symbol_table::calls_at(std::uintptr_t address) {
  address = place_of(address);
  const auto [entry, is_new] = contents_->known.try_emplace(address);
  if (is_new) entry->second = contents_->find(address);
  return entry->second;
}

}  // namespace weft
