#include "process/loader/elf_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/reasons.hpp"
#include "base/system_path.hpp"
#include "process/life/thread_locals.h"
#include "weft/error.hpp"

namespace weft::process {
namespace {

#if defined(__x86_64__)
constexpr int machine = EM_X86_64;
constexpr std::uint32_t call_relocation = R_X86_64_IRELATIVE;
constexpr std::uint32_t relative_relocation = R_X86_64_RELATIVE;
constexpr std::uint32_t copy_relocation = R_X86_64_COPY;
constexpr std::array<std::uint32_t, 3> references{R_X86_64_64, R_X86_64_GLOB_DAT,
                                                  R_X86_64_JUMP_SLOT};
// By which the loader says where thread-locals are.
constexpr std::array<std::uint32_t, 4> thread_local_relocations{
    R_X86_64_DTPMOD64, R_X86_64_DTPOFF64, R_X86_64_TPOFF64, R_X86_64_TLSDESC};
constexpr std::uint32_t static_tls_relocation = R_X86_64_TPOFF64;
#elif defined(__aarch64__)
constexpr int machine = EM_AARCH64;
constexpr std::uint32_t call_relocation = R_AARCH64_IRELATIVE;
constexpr std::uint32_t relative_relocation = R_AARCH64_RELATIVE;
constexpr std::uint32_t copy_relocation = R_AARCH64_COPY;
constexpr std::array<std::uint32_t, 3> references{R_AARCH64_ABS64, R_AARCH64_GLOB_DAT,
                                                  R_AARCH64_JUMP_SLOT};
constexpr std::array<std::uint32_t, 0>
    thread_local_relocations{};  // They lie above the thread pointer: not placed.
constexpr std::uint32_t static_tls_relocation = R_AARCH64_TLS_TPREL;
#else
constexpr int machine = EM_NONE;
constexpr std::uint32_t call_relocation = 0;
constexpr std::uint32_t relative_relocation = 0;
constexpr std::uint32_t copy_relocation = 0;
constexpr std::array<std::uint32_t, 0> references{};
constexpr std::array<std::uint32_t, 0> thread_local_relocations{};
constexpr std::uint32_t static_tls_relocation = 0;
#endif

bool is_in(const ElfW(Phdr) & s, std::uint64_t address) noexcept {
  return s.p_type == PT_LOAD && address >= s.p_vaddr && address < s.p_vaddr + s.p_filesz;
}

}  // namespace

elf_file::elf_file(std::string path, form allowed) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat file {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &file) != 0) {
    const int reason = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw error(formatted("cannot read {}: {}", path_, reason_with_limit(reason)));
  }
  size_ = static_cast<std::size_t>(file.st_size);
  void* const mapped =
      ::mmap(nullptr, std::max<std::size_t>(size_, 1), PROT_READ, MAP_PRIVATE, descriptor_, 0);
  base_ = static_cast<const std::byte*>(mapped);
  const int not_mapped = errno;
  const auto refuse = [&](std::string_view why) {
    if (mapped != MAP_FAILED) ::munmap(mapped, std::max<std::size_t>(size_, 1));
    ::close(descriptor_);
    throw error(formatted("{} {}", path_, why));
  };
  if (mapped == MAP_FAILED)
    refuse(formatted("cannot be mapped: {}", reason_with_limit(not_mapped)));
  ElfW(Ehdr) header{};
  if (size_ >= sizeof header) std::memcpy(&header, base_, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) refuse("is no program of this system");
  if (header.e_machine != machine ||
      (header.e_type != ET_DYN && (allowed != form::any_program || header.e_type != ET_EXEC)))
    refuse(
        "cannot be loaded many times: it is not position-independent, or of another machine; link it with -pie, or give each "
        "rank a process: --ranks-per-process 1");
  if (header.e_phoff > size_ || header.e_phnum > (size_ - header.e_phoff) / sizeof(ElfW(Phdr)))
    refuse("is cut off");
  for (const ElfW(Phdr) & s : segments()) {
    if (s.p_type != PT_DYNAMIC) continue;
    if (s.p_offset > size_ || s.p_filesz > size_ - s.p_offset) refuse("is cut off");
    dynamic_ = table<ElfW(Dyn)>(s.p_offset, s.p_filesz / sizeof(ElfW(Dyn)));
  }
  if (dynamic_.empty()) refuse("is linked statically: programs of several ranks must not be");
}

elf_file::elf_file(elf_file&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      base_(std::exchange(other.base_, nullptr)),
      size_(other.size_),
      dynamic_(other.dynamic_) {}

elf_file::~elf_file() {
  if (base_ == nullptr) return;
  ::munmap(const_cast<std::byte*>(base_), std::max<std::size_t>(size_, 1));
  ::close(descriptor_);
}

template <class T>
std::span<const T> elf_file::table(std::size_t offset, std::size_t count) const {
  if (offset > size_ || count > (size_ - offset) / sizeof(T))
    throw error(formatted("{} is cut off", path_));
  return {reinterpret_cast<const T*>(base_ + offset), count};
}

std::span<const ElfW(Phdr)> elf_file::segments() const noexcept {
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(base_);
  return {reinterpret_cast<const ElfW(Phdr)*>(base_ + header.e_phoff), header.e_phnum};
}

const ElfW(Xword) elf_file::own_address = relative_relocation;

bool elf_file::holds(std::uint64_t address) const noexcept {
  return std::ranges::any_of(segments(), [&](const ElfW(Phdr) & s) { return is_in(s, address); });
}

std::size_t elf_file::offset_of(std::uint64_t address) const {
  for (const ElfW(Phdr) & s : segments())
    if (is_in(s, address)) return address - s.p_vaddr + s.p_offset;
  throw error(formatted("{} refers to address {:#x}, which is not in it", path_, address));
}

std::uint64_t elf_file::value_of(std::int64_t tag) const noexcept {
  for (const ElfW(Dyn) & entry : dynamic_)
    if (entry.d_tag == tag) return entry.d_un.d_val;
  return 0;
}

std::size_t elf_file::string_offset(std::uint64_t index) const {
  return offset_of(value_of(DT_STRTAB)) + index;
}

std::string_view elf_file::string_at(std::uint64_t index) const {
  const auto rest = bytes().subspan(std::min(string_offset(index), size_));
  const auto end = std::ranges::find(rest, std::byte{0});
  return {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin())};
}

// Their number is not written down; the string table follows them in every linker's output, but
// the hash table is what is certain.
std::span<const ElfW(Sym)> elf_file::symbols() const {
  const std::uint64_t hash = value_of(DT_GNU_HASH);
  const std::size_t first = offset_of(value_of(DT_SYMTAB));
  if (hash == 0) {
    const std::uint64_t old_hash = value_of(DT_HASH);
    if (old_hash == 0) return {};
    return table<ElfW(Sym)>(first, table<std::uint32_t>(offset_of(old_hash), 2)[1]);
  }
  const std::size_t at = offset_of(hash);
  const auto header = table<std::uint32_t>(at, 4);
  const std::uint32_t bucket_count = header[0], unhashed = header[1], mask_words = header[2];
  const std::size_t buckets_at = at + 16 + mask_words * sizeof(ElfW(Addr));
  std::uint32_t last = 0;
  for (const std::uint32_t bucket : table<std::uint32_t>(buckets_at, bucket_count))
    last = std::max(last, bucket);
  if (last < unhashed) return table<ElfW(Sym)>(first, unhashed);
  const std::size_t chains_at = buckets_at + std::size_t{4} * bucket_count;
  // The last chain ends at a word whose lowest bit is set.
  while ((table<std::uint32_t>(chains_at + std::size_t{4} * (last - unhashed), 1)[0] & 1) == 0)
    ++last;
  return table<ElfW(Sym)>(first, last + 1);
}

std::span<const ElfW(Sym)> elf_file::all_symbols() const {
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(base_);
  for (const ElfW(Shdr) & s : table<ElfW(Shdr)>(header.e_shoff, header.e_shnum))
    if (s.sh_type == SHT_SYMTAB)
      return table<ElfW(Sym)>(s.sh_offset, s.sh_size / sizeof(ElfW(Sym)));
  return {};
}

std::string_view elf_file::soname() const {
  const std::uint64_t index = value_of(DT_SONAME);
  if (index != 0) return string_at(index);
  const std::string_view path = path_;
  return path.substr(path.rfind('/') + 1);
}

bool elf_file::answers_to(std::string_view name) const {
  const std::string_view wanted = name.substr(name.rfind('/') + 1);
  return soname() == wanted || (soname() == process_library && wanted.starts_with(abi_library)) ||
         (soname() == mpich_process_library && is_mpich_library(wanted)) ||
         (soname() == openmpi_functions_library && wanted == openmpi_library);
}

bool elf_file::is_at_fixed_address() const noexcept {
  return reinterpret_cast<const ElfW(Ehdr)*>(base_)->e_type == ET_EXEC;
}

std::string_view elf_file::library_path() const {
  const std::uint64_t newer = value_of(DT_RUNPATH);
  const std::uint64_t index = newer != 0 ? newer : value_of(DT_RPATH);
  return index != 0 ? string_at(index) : std::string_view();
}

std::uint64_t elf_file::entry() const noexcept {
  return reinterpret_cast<const ElfW(Ehdr)*>(base_)->e_entry;
}

std::string_view elf_file::needed_abi() const {
  for (const std::uint64_t index : needed())
    if (is_interface_of_weft(string_at(index))) return string_at(index);
  return {};
}

std::vector<std::uint64_t> elf_file::needed() const {
  std::vector<std::uint64_t> indices;
  for (const ElfW(Dyn) & entry : dynamic_) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) indices.push_back(entry.d_un.d_val);
  }
  return indices;
}

elf_calls elf_file::calls() const noexcept {
  return {value_of(DT_INIT), value_of(DT_INIT_ARRAY), value_of(DT_INIT_ARRAYSZ) / sizeof(void*),
          value_of(DT_FINI), value_of(DT_FINI_ARRAY), value_of(DT_FINI_ARRAYSZ) / sizeof(void*)};
}

bool elf_file::runs_while_loaded() const {
  const auto any_call = [&](std::int64_t where, std::int64_t size) {
    if (value_of(where) == 0) return false;
    const auto all =
        table<ElfW(Rela)>(offset_of(value_of(where)), value_of(size) / sizeof(ElfW(Rela)));
    return std::ranges::any_of(all, [](const ElfW(Rela) & r) {
      return static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info)) == call_relocation;
    });
  };
  const auto chosen_by_call = [](const ElfW(Sym) & s) {
    return ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC && s.st_shndx != SHN_UNDEF;
  };
  return any_call(DT_RELA, DT_RELASZ) || any_call(DT_JMPREL, DT_PLTRELSZ) ||
         std::ranges::any_of(symbols(), chosen_by_call);
}

bool elf_file::has_text_relocations() const noexcept {
  return (value_of(DT_FLAGS) & DF_TEXTREL) != 0 ||
         std::ranges::any_of(dynamic_, [](const ElfW(Dyn) & e) { return e.d_tag == DT_TEXTREL; });
}

bool elf_file::binds_to_itself() const noexcept {
  return (value_of(DT_FLAGS) & DF_SYMBOLIC) != 0 ||
         std::ranges::any_of(dynamic_, [](const ElfW(Dyn) & e) { return e.d_tag == DT_SYMBOLIC; });
}

bool elf_file::is_hidden_version(std::size_t symbol) const {
  const std::uint64_t at = value_of(DT_VERSYM);
  return at != 0 && (table<std::uint16_t>(offset_of(at) + 2 * symbol, 1)[0] & 0x8000) != 0;
}

template <class Visit>
void elf_file::each_relocation(Visit&& visit) const {
  for (const auto& [where, size] : {std::pair{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}}) {
    if (value_of(where) == 0) continue;
    for (const ElfW(Rela) & r :
         table<ElfW(Rela)>(offset_of(value_of(where)), value_of(size) / sizeof(ElfW(Rela))))
      visit(r, static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info)));
  }
}

void elf_file::each_reference(const std::function<void(const ElfW(Rela) &)>& visit) const {
  each_relocation([&](const ElfW(Rela) & r, std::uint32_t kind) {
    if (symbol_of(r) != 0 && std::ranges::find(references, kind) != references.end()) visit(r);
  });
}

void elf_file::each_taken_variable(const std::function<void(const ElfW(Rela) &)>& visit) const {
  if (value_of(DT_RELA) == 0) return;
  for (const ElfW(Rela) & r :
       table<ElfW(Rela)>(offset_of(value_of(DT_RELA)), value_of(DT_RELASZ) / sizeof(ElfW(Rela))))
    if (symbol_of(r) != 0 && static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info)) == copy_relocation)
      visit(r);
}

bool elf_file::has_thread_locals() const noexcept {
  return std::ranges::any_of(segments(), [](const ElfW(Phdr) & s) { return s.p_type == PT_TLS; });
}

bool elf_file::asks_for(std::string_view name) const {
  return std::ranges::any_of(symbols(), [&](const ElfW(Sym) & s) {
    return s.st_shndx == SHN_UNDEF && string_at(s.st_name) == name;
  });
}

std::string_view elf_file::thread_local_meant_by(const elf_file& other) const {
  const auto is_own = [](const ElfW(Sym) & s) {
    return ELF64_ST_TYPE(s.st_info) == STT_TLS && s.st_shndx != SHN_UNDEF &&
           ELF64_ST_BIND(s.st_info) != STB_LOCAL;
  };
  const auto looks_elsewhere = [&](const ElfW(Sym) & s) {
    return s.st_shndx == SHN_UNDEF || (is_own(s) && !other.binds_to_itself() &&
                                       ELF64_ST_VISIBILITY(s.st_other) == STV_DEFAULT);
  };
  for (const ElfW(Sym) & mine : symbols()) {
    if (!is_own(mine)) continue;
    const std::string_view name = string_at(mine.st_name);
    if (std::ranges::any_of(other.symbols(), [&](const ElfW(Sym) & s) {
          return looks_elsewhere(s) && other.string_at(s.st_name) == name;
        }))
      return name;
  }
  return {};
}

bool elf_file::takes_static_tls_of(const elf_file& owner) const {
  bool found = false;
  const std::span<const ElfW(Sym)> all = symbols();
  each_relocation([&](const ElfW(Rela) & r, std::uint32_t kind) {
    if (found || kind != static_tls_relocation || symbol_of(r) == 0 || symbol_of(r) >= all.size())
      return;
    const ElfW(Sym)& wanted = all[symbol_of(r)];
    if (wanted.st_shndx != SHN_UNDEF) return;
    const std::string_view name = string_at(wanted.st_name);
    found = std::ranges::any_of(owner.symbols(), [&](const ElfW(Sym) & s) {
      return ELF64_ST_TYPE(s.st_info) == STT_TLS && s.st_shndx != SHN_UNDEF &&
             owner.string_at(s.st_name) == name;
    });
  });
  return found;
}

std::string elf_file::is_of_thread() const {
  if (has_thread_locals()) return formatted("{} has thread_local variables", path_);
  // The system's, such as Fortran's run time, use errno around no call that waits.
  if (!is_of_system(path_) && asks_for("__errno_location"))
    return formatted(
        "{} keeps the address of errno: compile all that uses errno by weftcc or weftcxx", path_);
  return {};
}

std::optional<placed_thread_locals> elf_file::thread_locals_of_executable() const {
  if (!is_executable() || !has_thread_locals() || thread_local_relocations.empty()) return {};
  // Its own, of which the loader is asked all the same: linkers leave none.
  const std::span<const ElfW(Sym)> all = symbols();
  bool asks_loader = false;
  each_relocation([&](const ElfW(Rela) & r, std::uint32_t kind) {
    if ((symbol_of(r) == 0 || all[symbol_of(r)].st_shndx != SHN_UNDEF) &&
        std::ranges::find(thread_local_relocations, kind) != thread_local_relocations.end())
      asks_loader = true;
  });
  if (asks_loader) return {};
  const auto at = std::ranges::find(segments(), PT_TLS, &ElfW(Phdr)::p_type);
  const std::size_t alignment = std::max<std::size_t>(at->p_align, 1);
  if (!std::has_single_bit(alignment)) return {};
  // As the C library places those of the process's own executable.
  const std::size_t first = (0 - at->p_vaddr) & (alignment - 1);
  const std::size_t below = ((at->p_memsz - first + alignment - 1) & ~(alignment - 1)) + first;
  if (at->p_memsz < at->p_filesz || at->p_memsz < first || below < at->p_memsz) return {};
  return placed_thread_locals{at->p_vaddr, at->p_filesz, at->p_memsz, below, alignment};
}

std::string elf_file::why_only_copy() const {
  if (!is_executable() || !has_thread_locals()) return {};
  const std::optional<placed_thread_locals> placed = thread_locals_of_executable();
  if (!placed)
    return "has thread-local variables, of which it asks the loader, and was linked as an executable";
  if (placed->below > weft_thread_locals_max ||
      placed->alignment > weft_thread_locals_alignment_max)
    return formatted(
        "has {} bytes of thread-local variables, aligned to {}, and was linked as an executable, of which several copies "
        "may have {}, aligned to {}",
        placed->size, placed->alignment, +weft_thread_locals_max,
        +weft_thread_locals_alignment_max);
  return {};
}

bool elf_file::is_of_call(const ElfW(Rela) & r) noexcept {
  return static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info)) == references.back();
}

bool elf_file::is_bound_at_once() const noexcept {
  return (value_of(DT_FLAGS_1) & DF_1_NOW) != 0 || (value_of(DT_FLAGS) & DF_BIND_NOW) != 0;
}

bool elf_file::is_never_unloaded() const noexcept {
  return (value_of(DT_FLAGS_1) & DF_1_NODELETE) != 0;
}

std::size_t elf_file::span_bytes() const noexcept {
  std::size_t end = 0;
  for (const ElfW(Phdr) & s : segments())
    if (s.p_type == PT_LOAD) end = std::max(end, s.p_vaddr + s.p_memsz);
  return end;
}

// What the loader writes is of the constant segment, and the table of calls when names are looked up
// late.
std::vector<std::span<std::byte>> elf_file::writable_at(std::uintptr_t base) const {
  std::vector<std::span<std::byte>> all;
  for (const ElfW(Phdr) & s : segments())
    if (s.p_type == PT_LOAD && (s.p_flags & PF_W) != 0)
      all.push_back({reinterpret_cast<std::byte*>(base + s.p_vaddr), s.p_memsz});
  return all;
}

std::size_t elf_file::writable_bytes() const noexcept {
  std::size_t writable = 0, constant = 0;
  for (const ElfW(Phdr) & s : segments()) {
    if (s.p_type == PT_LOAD && (s.p_flags & PF_W) != 0) writable += s.p_memsz;
    if (s.p_type == PT_GNU_RELRO) constant += s.p_memsz;
  }
  const std::size_t calls =
      value_of(DT_PLTRELSZ) / sizeof(ElfW(Rela)) * sizeof(void*) + 3 * sizeof(void*);
  const std::size_t rest = writable - std::min(writable, constant);
  return rest - std::min(rest, is_bound_at_once() ? 0 : calls);
}

// Linkers mark shared objects whose code has such distances, and executables not.
std::size_t static_tls_bytes(std::span<const elf_file* const> files) {
  std::size_t all = 0;
  for (const elf_file* const one : files) {
    const auto at = std::ranges::find(one->segments(), PT_TLS, &ElfW(Phdr)::p_type);
    if (at == one->segments().end()) continue;
    if ((one->value_of(DT_FLAGS) & DF_STATIC_TLS) != 0 ||
        std::ranges::any_of(files, [&](const elf_file* other) {
          return other != one && other->takes_static_tls_of(*one);
        }))
      all += at->p_memsz + at->p_align;
  }
  return all;
}

void refuse_thread_locals_of(const elf_file& program, const elf_file& library) {
  if (const std::string_view name = program.thread_local_meant_by(library); !name.empty())
    throw error(formatted(
        "{} uses the thread-local variable {} of {}, which was linked as an executable: link that with weftcc "
        "(mpicc), or start it with --ranks-per-process 1",
        library.path(), name, program.path()));
}

}  // namespace weft::process
