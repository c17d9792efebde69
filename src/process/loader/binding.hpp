// Which definition a name means in a copy of a program: the one that it means in a process of its own.
// The loader of a copy looks in the host and in the C library first; in a process of its own the program and its libraries come
// first. What the loader has found elsewhere is put right afterwards.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "process/loader/elf_file.hpp"

namespace weft::process {

// A word of one file that is to hold the address of something in another, or in itself.
struct binding {
  std::uint64_t address;  // The word's, in the file that refers to the definition.
  // The file that defines it, among the files of the program; their number: the copy's streams do.
  std::size_t file;
  std::uint64_t value;  // The definition's address in that file.
};

// The words of each file that refer to names which one of the files defines.
// `order` lists the files as the loader of a process would look at them. Files before `first` get no words.
[[nodiscard]] std::vector<std::vector<binding>> bindings_of(std::span<const elf_file* const> files,
                                                            std::span<const std::size_t> order,
                                                            std::size_t first = 0);

// Whether it defines names that bindings_of() leaves to the loader: the allocator's, which copies do not
// use, thread-local variables, and functions that are chosen when they are bound.
[[nodiscard]] bool has_names_left_to_loader(const elf_file& file);

}  // namespace weft::process
