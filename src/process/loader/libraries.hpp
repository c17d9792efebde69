// Which shared libraries of a program each rank has its own copy of, and which of the others hold state
// that ranks of a process then share.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/library_lists.hpp"
#include "process/loader/elf_file.hpp"

namespace weft::process {

struct library_choice {
  std::vector<std::string> own;  // Absolute paths.
  struct shared_state {
    std::string path;
    std::size_t writable_bytes;
  };
  // Shared libraries with writable data of which nobody has said that sharing it does no harm.
  std::vector<shared_state> shared;
};

// `loaded` are the paths of what the loader brings for the program. Throws weft::error when one cannot
// be read.
[[nodiscard]] library_choice choose_libraries(const elf_file& program,
                                              std::span<const std::string> loaded,
                                              const library_list_settings& how);

// `files`: a program, then libraries that it needs. Their numbers in the order in which they are loaded: each after
// those that it needs, the program last.
[[nodiscard]] std::vector<std::size_t> order_of_loading(std::span<const elf_file* const> files);

// A library of the system that the loader finds by this name and that needs MPI, itself or by way of others; empty: there is none.
[[nodiscard]] std::string mpi_user_of_system(std::string_view name);

// The choice for one that the program opens by itself. `is_private` says whether the program has a library of
// this name that each rank has its own copy of.
struct opened_library_choice {
  bool own;
  std::optional<library_choice::shared_state> shared;
};
[[nodiscard]] opened_library_choice choose_opened(
    const elf_file& file, const library_list_settings& how,
    const std::function<bool(std::string_view)>& is_private);

// Whether it is a library that calls functions of its user on threads of its own, of which there are some for the whole process.
[[nodiscard]] bool has_threads_of_process(std::string_view path);

// One line for a person.
[[nodiscard]] std::string text_of(const library_choice::shared_state& one);

}  // namespace weft::process
