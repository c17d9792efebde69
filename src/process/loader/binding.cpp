#include "process/loader/binding.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "process/libc_state/own_streams.hpp"

namespace weft::process {
namespace {

struct definition {
  std::size_t file;
  std::uint64_t value;
};
using definitions = std::unordered_map<std::string_view, definition>;

// All copies use one allocator, that of the process (shared_symbols.list).
bool is_of_allocator(std::string_view name) {
  constexpr std::array words{"malloc", "calloc",   "realloc",           "reallocarray",
                             "free",   "memalign", "aligned_alloc",     "posix_memalign",
                             "valloc", "pvalloc",  "malloc_usable_size"};
  return std::ranges::find(words, name) != words.end() || name.starts_with("_Znwm") ||
         name.starts_with("_Znam") || name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv");
}

// What C++ merges across files is merged with libstdc++'s, which all copies share.
bool is_of_standard_library(std::string_view name) {
  if (!name.starts_with("_Z")) return false;
  name.remove_prefix(2);
  for (const std::string_view kind : {"TV", "TI", "TS", "TT", "GV"})
    if (name.starts_with(kind)) name.remove_prefix(2);
  if (name.starts_with('N')) name.remove_prefix(1);
  if (name.starts_with('K')) name.remove_prefix(1);
  // "St" is std, as are the abbreviations of its strings and streams.
  constexpr std::array parts{"St", "Sa", "Ss",         "Sb",          "Si",
                             "So", "Sd", "9__gnu_cxx", "10__cxxabiv1"};
  return std::ranges::any_of(parts, [&](const char* part) { return name.starts_with(part); });
}

bool is_common(std::string_view name) {
  return is_of_allocator(name) || is_of_standard_library(name);
}

void add_definitions(definitions& to, const elf_file& file, std::size_t index) {
  const std::span<const ElfW(Sym)> symbols = file.symbols();
  for (std::size_t i = 1; i < symbols.size(); ++i) {
    const ElfW(Sym)& s = symbols[i];
    const auto type = ELF64_ST_TYPE(s.st_info);
    if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || ELF64_ST_BIND(s.st_info) == STB_LOCAL ||
        type == STT_TLS || type == STT_GNU_IFUNC || file.is_hidden_version(i))
      continue;
    to.try_emplace(file.string_at(s.st_name), definition{index, s.st_value});
  }
}

}  // namespace

bool has_names_left_to_loader(const elf_file& file) {
  return std::ranges::any_of(file.symbols(), [&](const ElfW(Sym) & s) {
    if (s.st_shndx == SHN_UNDEF) return false;
    const int type = ELF64_ST_TYPE(s.st_info);
    return type == STT_TLS || type == STT_GNU_IFUNC || is_of_allocator(file.string_at(s.st_name));
  });
}

std::vector<std::vector<binding>> bindings_of(std::span<const elf_file* const> files,
                                              std::span<const std::size_t> order,
                                              std::size_t first) {
  definitions all;
  for (const std::size_t index : order) add_definitions(all, *files[index], index);
  std::vector<std::vector<binding>> result(files.size());
  for (std::size_t at = first; at < files.size(); ++at) {
    const elf_file& file = *files[at];
    if (file.has_text_relocations()) continue;
    definitions own;
    if (file.binds_to_itself()) add_definitions(own, file, at);
    const std::span<const ElfW(Sym)> symbols = file.symbols();
    file.each_reference([&](const ElfW(Rela) & r) {
      const std::string_view name = file.string_at(symbols[elf_file::symbol_of(r)].st_name);
      // Unless the program has the variable itself, as an executable does.
      if (const auto stream = own_streams::offset_of(name); stream && !all.contains(name)) {
        result[at].push_back(
            {r.r_offset, files.size(), *stream + static_cast<std::uint64_t>(r.r_addend)});
        return;
      }
      if (name.empty() || is_common(name)) return;
      auto found = own.find(name);
      if (found == own.end() && (found = all.find(name)) == all.end()) return;
      const definition& meant = found->second;
      result[at].push_back(
          {r.r_offset, meant.file, meant.value + static_cast<std::uint64_t>(r.r_addend)});
    });
  }
  return result;
}

}  // namespace weft::process
