// Libraries that a rank's copy of the program opens with dlopen(), plug-ins mostly: each rank has its own,
// with its own state, as it has of those that the program was linked with, and names in it mean the
// rank's program first. Which rank opens is told by the code that calls, so threads open as their rank.
#pragma once
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "process/loader/copied_file.hpp"

namespace weft::process {

class own_streams;

// It is held while a copy is loaded or goes: the loader's list is read then. It is never held across a wait. It is recursive: a library that
// all ranks share may open and close others as it comes and goes itself.
std::recursive_mutex& loading_lock();
// The name by which a copy of this number is loaded, and which it has in the loader's list.
[[nodiscard]] std::string loaded_name(int number);
// The entry of the copy of this number among what the handle has loaded, or has needed. Null: it is not there.
[[nodiscard]] link_map* map_of(void* handle, int number);

class opened_libraries {
 public:
  // A file of the copy of the program.
  struct own_file {
    const elf_file* file;
    int number;
    std::uintptr_t base;
  };
  struct program_files {
    std::vector<own_file> files;
    std::vector<std::size_t> order;  // Names are looked up in this order.
    void* handle;                    // The program's.
    std::string search_path;         // Directories, separated by colons.
    bool debugged;
    bool tells;  // People are told of libraries that hold state and that all ranks share.
    own_streams* streams;
  };

  // They are kept until the process ends, as copies are.
  static opened_libraries& of_copy(program_files program);

  // What dlopen() and dlclose() of the calling code return; nothing where the loader is to be asked, since it
  // is no code of a copy, no library of which each rank has its own, or a forked child. Throws weft::error.
  static std::optional<void*> open(const char* path, int flags, const void* caller);
  static std::optional<int> close(void* handle);

  // Constructors of libraries get them.
  void set_words(int argc, char** argv, char** environment);
  // Calls the destructors of what is still open. Called again when one has left by a jump.
  void finish();

 private:
  struct opened;
  explicit opened_libraries(program_files program);
  ~opened_libraries();
  [[nodiscard]] std::unique_lock<std::recursive_mutex> take_turn();
  std::optional<void*> open_from(const elf_file& by, const char* path, int flags);
  [[nodiscard]] const own_file* linked(std::string_view name, const std::string& path) const;
  [[nodiscard]] opened* find(std::string_view name, const std::string& path,
                             const std::vector<std::unique_ptr<opened>>& among) const;
  [[nodiscard]] std::string path_of(std::string_view name, const elf_file& by) const;
  [[nodiscard]] bool is_own(const std::string& path) const;
  opened& collect(const std::string& path, std::vector<std::unique_ptr<opened>>& fresh);
  struct listed;
  [[nodiscard]] std::vector<listed> all_files(
      const std::vector<std::unique_ptr<opened>>& fresh) const;
  void bind_names(std::vector<std::unique_ptr<opened>>& fresh, int flags);
  void* load(std::vector<std::unique_ptr<opened>>& fresh, int flags);
  void take(void* handle, const std::vector<std::unique_ptr<opened>>& fresh);
  // Takes out those that nobody uses any more, now that this one is used less.
  void release(opened& one, std::vector<std::unique_ptr<opened>>& unused);

  program_files program_;
  // A thread that opens has it, also while constructors run, which may wait, and open more.
  std::recursive_mutex turn_;
  std::vector<std::unique_ptr<opened>> open_;  // Each after those that it needs.
  int argc_ = 0;
  char** argv_ = nullptr;
  char** environment_ = nullptr;
};

}  // namespace weft::process
