// Which definition a name means in a copy of a program: the one that it means in a process of its own.
// The loader looks in the host and in the C library first, where the program and its libraries come
// first otherwise; what it has found otherwise is put right after it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "image/elf_file.hpp"

namespace weft {

// A word of one file that is to hold the address of something in another, or in itself.
struct binding {
  std::uint64_t place;  // In the file that refers to it, as an address of that file.
  std::size_t
      file;  // Where it is defined, among the files of the program; their number: in the copy's streams.
  std::uint64_t value;  // There.
};

// For each file the words that refer to names which one of the files defines.
// `order` lists the files as the loader of a process would look at them. Of files before `first` nothing is told.
[[nodiscard]] std::vector<std::vector<binding>> bindings_of(std::span<const elf_file* const> files,
                                                            std::span<const std::size_t> order,
                                                            std::size_t first = 0);

// Whether it defines names that bindings_of() leaves to the loader: the allocator's, which copies do not
// use, thread-local variables, and functions that are chosen when they are bound.
[[nodiscard]] bool has_names_left_to_loader(const elf_file& file);

}  // namespace weft
