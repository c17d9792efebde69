#include "process/loader/copied_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/reasons.hpp"
#include "process/libc_state/own_streams.hpp"
#include "weft/error.hpp"

namespace weft::process {
namespace {

// It is above the numbers of what programs have open themselves.
constexpr int copy_number_min = 64;
constexpr std::size_t name_length_max = 200;  // The system takes 249.

std::size_t page_bytes() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}
std::size_t page_down(std::size_t at) {
  return at & ~(page_bytes() - 1);
}
std::size_t page_up(std::size_t at) {
  return page_down(at + page_bytes() - 1);
}

// The loader does not know this tag: it stands for those that it would act on.
constexpr std::int64_t ignored_tag = 0x6000beef;
bool calls_code(std::int64_t tag) {
  return tag == DT_INIT || tag == DT_FINI || tag == DT_INIT_ARRAY || tag == DT_FINI_ARRAY ||
         tag == DT_INIT_ARRAYSZ || tag == DT_FINI_ARRAYSZ;
}

std::byte* at_address(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}

// Constants and code that follow each other in the file as they do in memory: one mapping holds them. Addresses and offsets are of
// whole pages.
struct constant_run {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t offset = 0;
  bool executes = false;
  const ElfW(Phdr) * first = nullptr;  // Of its segments.
};

std::vector<constant_run> constant_runs(std::span<const ElfW(Phdr)> segments) {
  std::vector<constant_run> runs;
  for (const ElfW(Phdr) & s : segments) {
    if (s.p_type != PT_LOAD || s.p_filesz == 0 || (s.p_flags & PF_W) != 0) continue;
    const bool executes = (s.p_flags & PF_X) != 0;
    const std::size_t begin = page_down(s.p_vaddr), offset = page_down(s.p_offset);
    const std::size_t end = page_up(s.p_vaddr + s.p_filesz);
    if (!runs.empty() && runs.back().end == begin &&
        runs.back().offset + (begin - runs.back().begin) == offset) {
      runs.back().end = end;
      runs.back().executes |= executes;
    } else {
      runs.push_back({begin, end, offset, executes, &s});
    }
  }
  return runs;
}

// Replaces `size` bytes of memory at once, so that no other thread sees anything between.
bool move_over(std::byte* from, std::byte* to, std::size_t size) {
  return size == 0 || ::mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

}  // namespace

long limit_of_mappings() {
  static const long limit = [] {
    long found = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> found;
    return found;
  }();
  return limit;
}

std::size_t mappings_of_copy(const elf_file& file, bool protects) {
  // Code that the loader writes to stays as the loader maps it: each segment for itself.
  const bool is_whole = file.has_text_relocations();
  std::size_t count =
      1 + (is_whole ? 0 : constant_runs(file.segments()).size());  // And the blank page behind it.
  std::size_t protected_parts = 0;
  for (const ElfW(Phdr) & s : file.segments()) {
    if (s.p_type == PT_LOAD && s.p_filesz != 0 && (is_whole || (s.p_flags & PF_W) != 0)) ++count;
    if (s.p_type == PT_GNU_RELRO) protected_parts = 1;
  }
  return count + (protects ? protected_parts : 0);
}

std::size_t protected_copies_max(std::size_t mappings, std::size_t limit) {
  return limit / 4 / std::max<std::size_t>(mappings, 1);
}

std::size_t copies_that_fit(std::size_t protected_mappings, std::size_t mappings,
                            std::size_t limit) {
  constexpr std::size_t of_stack = 2;
  const std::size_t usable = limit - limit / 20 * 3;
  const std::size_t first = protected_copies_max(protected_mappings, limit);
  const std::size_t of_first = first * (protected_mappings + of_stack);
  if (of_first >= usable) return usable / (protected_mappings + of_stack);
  return first + (usable - of_first) / (mappings + of_stack);
}

// --- The file -------------------------------------------------------------------------------------

copied_file::~copied_file() {
  if (edited_ != nullptr) ::munmap(edited_, size());
  close_copy();
}

template <class T>
T& copied_file::edited_at(const T& original) {
  return *reinterpret_cast<T*>(
      edited_ + (reinterpret_cast<const std::byte*>(&original) - file.bytes().data()));
}

void copied_file::prepare(std::span<const numbered_file> others, bool whole) {
  void* const mapped =
      ::mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, file.descriptor(), 0);
  if (mapped == MAP_FAILED) throw error(formatted("cannot map {}", file.path()));
  edited_ = static_cast<std::byte*>(mapped);
  whole_ = whole;
  edit(whole);
  choose_ranges(whole);
  for (const numbered_file& library : others) {
    if (library.file == &file) continue;
    for (const std::uint64_t index : indices_of(*library.file))
      names_.push_back({string_checked(index), library.number});
  }
}

std::string copied_file::reason_of_refusal(int error_number) {
  rlimit numbers{};
  getrlimit(RLIMIT_NOFILE, &numbers);
  // EINVAL: not even the first of these numbers is below the limit.
  if (error_number == EMFILE || error_number == EINVAL)
    return formatted(
        "the limit on open files (ulimit -n) is {}, and each file of a copy takes a number from {} on: raise it, "
        "or run with --ranks-per-process 1",
        numbers.rlim_cur, copy_number_min);
  if (error_number == ENFILE || error_number == ENOMEM) return reason_with_limit(error_number);
  return formatted(
      "memfd_create: {}: ranks that share a process need files in memory, which this system or sandbox refuses; run "
      "with --ranks-per-process 1",
      std::strerror(error_number));
}

bool copied_file::open_copy() {
  static std::mutex lock;
  static int next_number = copy_number_min;
  const std::string_view path = file.path();
  const std::string name(path.substr(path.rfind('/') + 1, name_length_max));
  const int made = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (made < 0) return false;
  const std::lock_guard hold(lock);
  copy_ = number_ = ::fcntl(made, F_DUPFD_CLOEXEC, next_number);
  const int reason = errno;
  ::close(made);
  errno = reason;
  if (copy_ < 0) return false;
  next_number = number_ + 1;
  return true;
}

void copied_file::write_copy() {
  for (const library_name& n : names_) {
    const std::string number = std::to_string(*n.number);
    std::memcpy(edited_ + n.offset, number.c_str(), number.size() + 1);
  }
  if (::ftruncate(copy_, static_cast<off_t>(page_up(size()))) != 0) fail("cannot grow");
  for (const range& r : written_)
    if (::pwrite(copy_, edited_ + r.offset, r.size, static_cast<off_t>(r.offset)) !=
        static_cast<ssize_t>(r.size))
      fail("cannot write");
}

void copied_file::close_copy() noexcept {
  if (copy_ >= 0) ::close(std::exchange(copy_, -1));
}

void copied_file::bind(std::uintptr_t base, const std::vector<std::uintptr_t>& bases,
                       const std::vector<copied_variable>& variables) {
  if (bindings_.empty() && variables.empty()) return;
  // Of a copy that is not whole the loader has protected nothing: edit().
  const auto [constant, size] = whole_ ? constant_part() : std::pair<std::size_t, std::size_t>{};
  if (size != 0 && ::mprotect(at_address(base + constant), size, PROT_READ | PROT_WRITE) != 0)
    fail("cannot bind the names of");
  for (const binding& b : bindings_)
    *reinterpret_cast<std::uintptr_t*>(base + b.address) = bases[b.file] + b.value;
  for (const copied_variable& v : variables) std::memcpy(v.to, v.from, v.size);
  if (size != 0 && ::mprotect(at_address(base + constant), size, PROT_READ) != 0)
    fail("cannot protect");
}

void copied_file::keep_findings(std::uintptr_t base, const std::vector<std::uintptr_t>& bases,
                                const std::vector<std::unique_ptr<copied_file>>& all) {
  if (file.has_text_relocations()) return;
  bindings_.clear();
  file.each_reference([&](const ElfW(Rela) & r) {
    if (!file.holds(r.r_offset)) return;
    const auto value = *reinterpret_cast<const std::uintptr_t*>(base + r.r_offset);
    ElfW(Rela)& told = edited_at(r);
    // The end of a file belongs to it, and so do the marks behind it: a blank page follows each copy.
    std::size_t at = 0;
    while (at < all.size() &&
           (value < bases[at] || value - bases[at] > page_up(all[at]->file.span_bytes())))
      ++at;
    if (at < all.size() && all[at].get() == this) {
      told.r_info = elf_file::own_address;
      told.r_addend = static_cast<ElfW(Sxword)>(value - base);
      return;
    }
    told.r_info = elf_file::no_relocation;
    if (at < all.size() || value - bases[at] < own_streams::size_bytes)
      bindings_.push_back({r.r_offset, at, value - bases[at]});
    else
      std::memcpy(edited_ + file.offset_of(r.r_offset), &value, sizeof value);
  });
}

void copied_file::keep_from_loader(bool late) {
  std::set<std::uint64_t> bound;
  for (const binding& b : bindings_) bound.insert(b.address);
  file.each_reference([&](const ElfW(Rela) & r) {
    if (bound.contains(r.r_offset) && !(late && elf_file::is_of_call(r)))
      edited_at(r).r_info = elf_file::no_relocation;
  });
}

void copied_file::share_pages(std::uintptr_t base, bool protects) const {
  if (!file.has_text_relocations())
    for (const constant_run& run : constant_runs(file.segments())) {
      const int access = PROT_READ | (run.executes ? PROT_EXEC : 0);
      if (::mmap(at_address(base + run.begin), run.end - run.begin, access, MAP_PRIVATE | MAP_FIXED,
                 file.descriptor(), static_cast<off_t>(run.offset)) == MAP_FAILED)
        fail("cannot map the code of");
    }
  for (const ElfW(Phdr) & s : file.segments()) {
    if (s.p_type != PT_LOAD || s.p_filesz == 0 || (s.p_flags & PF_W) == 0) continue;
    const std::size_t first = page_down(s.p_vaddr);
    share_writable(base, first, page_up(s.p_vaddr + s.p_filesz) - first,
                   static_cast<off_t>(page_down(s.p_offset)), protects);
  }
}

void copied_file::fail(const char* what) const {
  const int reason = errno;
  throw error(formatted(
      "{} a copy of {}: {}; vm.max_map_count is {}: raise it, or divide the ranks among more processes (weftrun "
      "--processes)",
      what, file.path(), std::strerror(reason), limit_of_mappings()));
}

// Build systems that take flags from the wrappers link an executable, which differs in a mark, and in
// that its code knows where its thread-locals are.
void copied_file::take_for_library() {
  if (!file.is_executable()) return;
  if (const std::string why = file.why_only_copy(); !why.empty())
    throw error(
        formatted("{} {}: link it with weftcc (mpicc), or start it with --ranks-per-process 1",
                  file.path(), why));
  // Its code does not ask the loader for them: they have their place in each thread already (thread_locals.cpp).
  for (const ElfW(Phdr) & s : file.segments())
    if (s.p_type == PT_TLS) edited_at(s).p_type = PT_NULL;
  for (const ElfW(Dyn) & entry : file.dynamic())
    if (entry.d_tag == DT_FLAGS_1)
      edited_at(entry).d_un.d_val &= ~static_cast<ElfW(Xword)>(DF_1_PIE);
  // The loader would copy what stands there while it loads, which is not what stands there when the rank starts.
  const std::span<const ElfW(Sym)> symbols = file.symbols();
  file.each_taken_variable([&](const ElfW(Rela) & r) {
    const ElfW(Sym)& s = symbols[elf_file::symbol_of(r)];
    taken_.push_back({std::string(file.string_at(s.st_name)), r.r_offset, s.st_size});
    edited_at(r).r_info = elf_file::no_relocation;
  });
}

std::vector<copied_variable> copied_file::variables_of(
    std::uintptr_t base, const std::vector<std::uintptr_t>& bases,
    const std::vector<std::unique_ptr<copied_file>>& all) const {
  std::vector<copied_variable> found;
  for (const taken_variable& t : taken_) {
    const std::byte* from = nullptr;
    std::size_t size = t.size;
    for (std::size_t i = 0; from == nullptr && i < all.size(); ++i) {
      if (all[i].get() == this) continue;
      for (const ElfW(Sym) & s : all[i]->file.symbols())
        if (s.st_shndx != SHN_UNDEF && all[i]->file.string_at(s.st_name) == t.name) {
          from = at_address(bases[i] + s.st_value);
          size = std::min<std::size_t>(size, s.st_size);
        }
    }
    const bool is_own = from != nullptr;
    if (!is_own) from = shared_variable(t.name);
    if (from == nullptr)
      throw error(formatted("{} needs the variable {}, which none of its libraries has",
                            file.path(), t.name));
    const auto [constant, constant_size] = constant_part();
    const bool is_constant = t.address >= constant && t.address < constant + constant_size;
    found.push_back({at_address(base + t.address), from, size, is_constant || is_own});
  }
  return found;
}

// A variable of a library that all copies share: the one that the process sees, or that of a library which the program needs.
const std::byte* copied_file::shared_variable(const std::string& name) const {
  if (const void* const seen = ::dlsym(RTLD_DEFAULT, name.c_str()); seen != nullptr)
    return static_cast<const std::byte*>(seen);
  for (const std::uint64_t index : file.needed()) {
    void* const library =
        ::dlopen(std::string(file.string_at(index)).c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const void* const its = ::dlsym(library, name.c_str());
    ::dlclose(library);
    if (its != nullptr) return static_cast<const std::byte*>(its);
  }
  return nullptr;
}

void copied_file::edit(bool whole) {
  for (const ElfW(Dyn) & entry : file.dynamic())
    if (calls_code(entry.d_tag)) edited_at(entry).d_tag = ignored_tag;
  take_for_library();
  // Symbols that shall exist once in the process are to exist once in each copy.
  for (const ElfW(Sym) & s : file.symbols())
    if (ELF64_ST_BIND(s.st_info) == STB_GNU_UNIQUE)
      edited_at(s).st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(s.st_info));
  // A page that belongs to no file ends each copy: tools that read the list of mappings would
  // take two copies side by side for one.
  const ElfW(Phdr)* last = nullptr;
  for (const ElfW(Phdr) & s : file.segments())
    if (s.p_type == PT_LOAD) last = &s;
  if (last != nullptr)
    edited_at(*last).p_memsz =
        page_up(last->p_vaddr + last->p_memsz) + page_bytes() - last->p_vaddr;
  if (whole) return show_own_variables();
  // share_writable() protects what is put in its place. That the loader had done so could fail at a limit of the
  // system when it has the file in its list already (loader_list.hpp).
  for (const ElfW(Phdr) & s : file.segments())
    if (s.p_type == PT_GNU_RELRO) edited_at(s).p_type = PT_NULL;
  merge_constants();
  // The sections are not written.
  auto& header = *reinterpret_cast<ElfW(Ehdr)*>(edited_);
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;
}

// The loader makes one mapping of constants and code, too: a process of many copies has few for each.
void copied_file::merge_constants() {
  if (file.has_text_relocations()) return;
  for (const constant_run& run : constant_runs(file.segments()))
    for (const ElfW(Phdr) & s : file.segments()) {
      if (s.p_type != PT_LOAD || (s.p_flags & PF_W) != 0 || s.p_vaddr <= run.first->p_vaddr ||
          s.p_vaddr >= run.end)
        continue;
      ElfW(Phdr)& whole = edited_at(*run.first);
      whole.p_flags |= s.p_flags;
      whole.p_memsz = whole.p_filesz = s.p_vaddr + s.p_filesz - whole.p_vaddr;
      edited_at(s).p_type = PT_NULL;
    }
}

// gdb takes a global variable of a library for that of the first file which has a symbol of its
// name, as if the linker had copied it there, and looks for names that a file does not define itself in
// all files but where a mark says that the frame's own comes first.
void copied_file::show_own_variables() {
  for (const ElfW(Sym) & s : file.all_symbols())
    if (ELF64_ST_TYPE(s.st_info) == STT_OBJECT && s.st_shndx != SHN_UNDEF)
      edited_at(s).st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
  // The loader obeys the mark, too: then most names mean what they are bound to anyhow.
  if (has_names_left_to_loader(file)) return;
  for (const ElfW(Dyn) & entry : file.dynamic())
    if (calls_code(entry.d_tag)) {
      edited_at(entry).d_tag = DT_SYMBOLIC;
      return;
    }
}

// What the loader reads: headers, tables, what is relocated. Code only when it runs meanwhile.
void copied_file::choose_ranges(bool whole) {
  if (whole || file.runs_while_loaded()) {
    written_ = {{0, size()}};
    return;
  }
  constexpr std::int64_t tables[] = {DT_SYMTAB, DT_STRTAB, DT_GNU_HASH, DT_HASH,  DT_RELA,
                                     DT_JMPREL, DT_VERSYM, DT_VERNEED,  DT_VERDEF};
  for (const ElfW(Phdr) & s : file.segments()) {
    if (s.p_type != PT_LOAD || s.p_filesz == 0) continue;
    const bool read = s.p_offset == 0 || (s.p_flags & PF_W) != 0 ||
                      std::ranges::any_of(tables, [&](std::int64_t tag) {
                        const std::uint64_t at = file.value_of(tag);
                        return at >= s.p_vaddr && at < s.p_vaddr + s.p_filesz;
                      });
    if (read) written_.push_back({s.p_offset, s.p_filesz});
  }
}

// The places where this file names that library: as needed, and as the origin of versions.
std::vector<std::uint64_t> copied_file::indices_of(const elf_file& library) const {
  std::vector<std::uint64_t> indices;
  for (const std::uint64_t index : file.needed())
    if (library.answers_to(file.string_at(index))) indices.push_back(index);
  std::uint64_t at = file.value_of(DT_VERNEED);
  for (std::uint64_t left = file.value_of(DT_VERNEEDNUM); left > 0; --left) {
    ElfW(Verneed) entry;
    std::memcpy(&entry, file.bytes().data() + file.offset_of(at), sizeof entry);
    if (library.answers_to(file.string_at(entry.vn_file))) indices.push_back(entry.vn_file);
    at += entry.vn_next;
  }
  return indices;
}

// Linkers let a string end another one; such a name cannot be changed alone.
std::size_t copied_file::string_checked(std::uint64_t index) const {
  const std::size_t offset = file.string_offset(index);
  if (file.bytes()[offset - 1] != std::byte{0})
    throw error(
        formatted("{} names its library {} in a way that no rank can have its own: link "
                  "the library statically, or run with --ranks-per-process 1",
                  file.path(), file.string_at(index)));
  return offset;
}

// Whole pages that only the loader writes: first address and size.
std::pair<std::size_t, std::size_t> copied_file::constant_part() const {
  for (const ElfW(Phdr) & s : file.segments())
    if (s.p_type == PT_GNU_RELRO) {
      const std::size_t first = page_down(s.p_vaddr);
      return {first, page_down(s.p_vaddr + s.p_memsz) - first};
    }
  return {0, 0};
}

void copied_file::share_writable(std::uintptr_t base, std::size_t first, std::size_t size,
                                 off_t offset, bool protects) const {
  std::byte* const target = at_address(base + first);
  void* const mapped =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.descriptor(), offset);
  if (mapped == MAP_FAILED) fail("cannot map the data of");
  auto* const fresh = static_cast<std::byte*>(mapped);
  for (std::size_t at = 0; at < size; at += page_bytes())
    if (std::memcmp(fresh + at, target + at, page_bytes()) != 0)
      std::memcpy(fresh + at, target + at, page_bytes());
  // The pages move in one call; what only the loader writes is read-only then. Each call that moves or protects pages interrupts all
  // cores that this process runs on.
  if (!move_over(fresh, target, size)) fail("cannot place");
  const auto [constant_first, constant_size] = constant_part();
  const std::size_t constant =
      protects && constant_first == first ? std::min(size, constant_size) : 0;
  if (constant != 0 && ::mprotect(target, constant, PROT_READ) != 0) fail("cannot protect");
}
// --- What was loaded ------------------------------------------------------------------------------

void loaded_part::construct(int argc, char** argv, char** environment) const {
  using initializer = void (*)(int, char**, char**);
  if (calls_.first_init != 0)
    reinterpret_cast<initializer>(base_ + calls_.first_init)(argc, argv, environment);
  const auto* const all = reinterpret_cast<const initializer*>(base_ + calls_.init_array);
  for (std::size_t i = 0; i < calls_.init_count; ++i) all[i](argc, argv, environment);
}

void loaded_part::finish() {
  using finisher = void (*)();
  const auto* const all = reinterpret_cast<const finisher*>(base_ + calls_.fini_array);
  while (fini_left_ > 0) {
    if (++attempts_ <= finisher_attempts_max) all[fini_left_ - 1]();
    --fini_left_;
    attempts_ = 0;
  }
  if (calls_.last_fini != 0)
    reinterpret_cast<finisher>(base_ + std::exchange(calls_.last_fini, 0))();
}

}  // namespace weft::process
