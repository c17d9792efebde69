// A program or library in the file that the linker wrote, as far as loading copies of it needs.
#pragma once
#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::process {

// How names of the standard's library of MPI begin. The number behind it is the binary interface's.
inline constexpr std::string_view abi_library = "libmpi_abi.so.";
// What it brings to a program in place of the C library's: a copy of the program has a copy of this.
inline constexpr std::string_view process_library = "libweft-process.so";
// The libraries of MPICH before version 5 and of its kin, which weft has, too; what they bring to a program, of which a copy has a copy; and
// what all ranks share.
[[nodiscard]] constexpr bool is_mpich_library(std::string_view name) noexcept {
  return name == "libmpi.so.12" || name == "libmpich.so.12";
}
inline constexpr std::string_view mpich_process_library = "libweft-process-mpich.so";
inline constexpr std::string_view mpich_functions_library = "libweft-mpich.so";
// Open MPI's, and what it brings to a program, of which a copy has a copy.
inline constexpr std::string_view openmpi_library = "libmpi.so.40";
inline constexpr std::string_view openmpi_functions_library = "libweft-openmpi.so";
[[nodiscard]] constexpr bool is_interface_of_weft(std::string_view name) noexcept {
  return name.starts_with(abi_library) || is_mpich_library(name) || name == openmpi_library;
}

// The calls before main() and after it, as addresses in the file; 0: none.
struct elf_calls {
  std::uint64_t first_init = 0;
  std::uint64_t init_array = 0;
  std::size_t init_count = 0;
  std::uint64_t last_fini = 0;
  std::uint64_t fini_array = 0;
  std::size_t fini_count = 0;
};

// The thread-locals of an executable. Its code has their distances from the thread pointer: a thread has room for one copy's.
struct placed_thread_locals {
  std::uint64_t address;  // Of their initial values: `initialized` bytes; the others are 0.
  std::size_t initialized;
  std::size_t size;
  std::size_t below;  // They begin so many bytes below the thread pointer.
  std::size_t alignment;
};

class elf_file {
 public:
  enum class form { shared_object, any_program };
  // Throws weft::error when it cannot be read or is no shared object of this machine. Of `any_program` it may be one at a fixed
  // address, which is only looked at.
  explicit elf_file(std::string path, form allowed = form::shared_object);
  ~elf_file();
  elf_file(elf_file&& other) noexcept;
  elf_file& operator=(elf_file&&) = delete;
  elf_file(const elf_file&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {base_, size_}; }
  [[nodiscard]] std::span<const ElfW(Phdr)> segments() const noexcept;
  [[nodiscard]] std::span<const ElfW(Dyn)> dynamic() const noexcept { return dynamic_; }

  // The offset in the file of the byte with this address in memory; throws when the file has none.
  [[nodiscard]] std::size_t offset_of(std::uint64_t address) const;
  [[nodiscard]] bool holds(std::uint64_t address) const noexcept;
  // The value of an entry of the dynamic section, 0 when there is none.
  [[nodiscard]] std::uint64_t value_of(std::int64_t tag) const noexcept;
  // A string of the dynamic string table, and where it lies in the file.
  [[nodiscard]] std::string_view string_at(std::uint64_t index) const;
  [[nodiscard]] std::size_t string_offset(std::uint64_t index) const;
  [[nodiscard]] std::span<const ElfW(Sym)> symbols() const;
  // The symbols for debuggers, which programs need not have.
  [[nodiscard]] std::span<const ElfW(Sym)> all_symbols() const;

  [[nodiscard]] std::string_view soname() const;
  [[nodiscard]] std::vector<std::uint64_t> needed() const;  // Indices of strings.
  // Whether a file that needs `name` means this one: its soname, or its path when it has none; or `name` is a library of MPI
  // and this is what that brings.
  [[nodiscard]] bool answers_to(std::string_view name) const;
  [[nodiscard]] bool is_at_fixed_address() const noexcept;
  // Directories in which the loader looks for libraries on its account, as they are written: DT_RPATH or DT_RUNPATH.
  [[nodiscard]] std::string_view library_path() const;
  // Where the kernel starts it, as an address in the file.
  [[nodiscard]] std::uint64_t entry() const noexcept;
  // The name by which it needs a library of MPI whose interface weft has (libmpi_abi.so.1, libmpi.so.12); empty: it does not.
  // It may have been linked by any compiler then.
  [[nodiscard]] std::string_view needed_abi() const;
  [[nodiscard]] elf_calls calls() const noexcept;
  // Whether code of the file runs while it is being relocated.
  [[nodiscard]] bool runs_while_loaded() const;
  [[nodiscard]] bool has_text_relocations() const noexcept;
  // Whether the linker was told that the file's own definitions come first (-Bsymbolic).
  [[nodiscard]] bool binds_to_itself() const noexcept;
  // Whether this symbol is only for files that were linked with an older version of this one.
  [[nodiscard]] bool is_hidden_version(std::size_t symbol) const;
  // Words that are to hold the address of a symbol: where, which, and what is added.
  void each_reference(const std::function<void(const ElfW(Rela) &)>& visit) const;
  // Variables of libraries that an executable has taken to itself: where their values are to be copied to, and which.
  void each_taken_variable(const std::function<void(const ElfW(Rela) &)>& visit) const;
  // Whether it was linked as an executable (-pie), whose code counts on being the process's only one in some things.
  [[nodiscard]] bool is_executable() const noexcept {
    return (value_of(DT_FLAGS_1) & DF_1_PIE) != 0;
  }
  [[nodiscard]] bool has_thread_locals() const noexcept;
  // Where the code of an executable expects its thread-locals; nothing: it has none, or is no executable, or only the loader could place them.
  [[nodiscard]] std::optional<placed_thread_locals> thread_locals_of_executable() const;
  // Whether it looks elsewhere for what has this name.
  [[nodiscard]] bool asks_for(std::string_view name) const;
  // The name of a thread-local variable of this file that `other` means, too, where this file comes first; empty: there is none. Both may
  // define it: inline variables of C++ are one.
  [[nodiscard]] std::string_view thread_local_meant_by(const elf_file& other) const;
  // Whether code of this file has the distance of a variable of `owner` from the thread pointer.
  [[nodiscard]] bool takes_static_tls_of(const elf_file& owner) const;
  // What of it belongs to a thread, as words for people, so that a rank that uses it may not change its own; empty: nothing.
  [[nodiscard]] std::string is_of_thread() const;
  // Why a process can hold one copy of it only, as words for people that go on after its name; empty: it can hold many.
  [[nodiscard]] std::string why_only_copy() const;
  [[nodiscard]] static std::uint32_t symbol_of(const ElfW(Rela) & r) noexcept {
    return static_cast<std::uint32_t>(ELF64_R_SYM(r.r_info));
  }
  // What a relocation says that needs no symbol: the file's own address and the addend; and one that says
  // nothing.
  static const ElfW(Xword) own_address;
  static constexpr ElfW(Xword) no_relocation = 0;
  // Whether that is of a function, which the loader may look for when it is called.
  [[nodiscard]] static bool is_of_call(const ElfW(Rela) & r) noexcept;
  // Whether the linker was told that the loader is to look for all names at once.
  [[nodiscard]] bool is_bound_at_once() const noexcept;
  // Whether the linker was told that dlclose() leaves it in memory.
  [[nodiscard]] bool is_never_unloaded() const noexcept;
  // Bytes from the file's address in memory to its end there.
  [[nodiscard]] std::size_t span_bytes() const noexcept;
  // The parts of it that the program may write, as the file in memory at `base` has them.
  [[nodiscard]] std::vector<std::span<std::byte>> writable_at(std::uintptr_t base) const;
  // Bytes that the program may write and the loader does not: .data and .bss.
  [[nodiscard]] std::size_t writable_bytes() const noexcept;

 private:
  template <class T>
  std::span<const T> table(std::size_t offset, std::size_t count) const;
  template <class Visit>
  void each_relocation(Visit&& visit) const;

  std::string path_;
  int descriptor_ = -1;
  const std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::span<const ElfW(Dyn)> dynamic_;
};

// Bytes of thread-locals of these files, one copy of each, that must lie at a fixed place in every thread.
[[nodiscard]] std::size_t static_tls_bytes(std::span<const elf_file* const> files);

// Throws weft::error, with the names, when `library` means a thread-local variable of `program`, an executable: the loader does not know
// where those of copies lie.
void refuse_thread_locals_of(const elf_file& program, const elf_file& library);

}  // namespace weft::process
