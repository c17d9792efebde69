// One file of a program as its copies are loaded from it: written anew for the loader with what must be
// different, and put in place of what has been loaded where both are equal. image.cpp says how that goes.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/private_code.hpp"
#include "process/loader/binding.hpp"
#include "process/loader/elf_file.hpp"

namespace weft::process {

// What the kernel allows a process (vm.max_map_count).
[[nodiscard]] long limit_of_mappings();

// How many mappings a copy of the file is, where what only the loader writes is read-only (`protects`) and where not.
[[nodiscard]] std::size_t mappings_of_copy(const elf_file& file, bool protects);
// As many copies of a process are protected, each of so many mappings; further ones are not, as stacks go without gaps where there
// are very many.
[[nodiscard]] std::size_t protected_copies_max(std::size_t mappings, std::size_t limit);
// How many ranks a process holds: their copies of so many mappings each and their stacks are 85 % of its mappings. The rest is
// the program's.
[[nodiscard]] std::size_t copies_that_fit(std::size_t protected_mappings, std::size_t mappings,
                                          std::size_t limit);

// A file, and where its number is written by which the loader knows the copy that is meant.
struct numbered_file {
  const elf_file* file;
  const int* number;
};

// A variable of a library that a program which was linked as an executable has in itself. It has the library's value
// when the program begins.
struct copied_variable {
  std::byte* to;
  const std::byte* from;
  std::size_t size;
  // Its value stays the one of loading: nobody may write the page then, or the library is the copy's own.
  bool is_kept;
};

class copied_file {
 public:
  explicit copied_file(const std::string& path) : file(path) { note_private_file(file.path()); }
  ~copied_file();
  copied_file(const copied_file&) = delete;
  copied_file& operator=(const copied_file&) = delete;

  // It is called once, when it is known which libraries have copies of their own. A debugger reads a copy that
  // is `whole`.
  void prepare(std::span<const numbered_file> others, bool whole);

  // Makes the file that one copy is loaded from. A number names a file for the life of the process, since
  // glibc remembers what it has loaded: none comes twice. False: errno says why.
  [[nodiscard]] bool open_copy();
  // What that errno means, in words, and what to do.
  [[nodiscard]] static std::string reason_of_refusal(int error_number);
  // All copies must have been opened: those of the libraries are known by their numbers.
  void write_copy();
  void close_copy() noexcept;

  // Puts right what the loader has found elsewhere. `bases` are those of all files that bindings name.
  void bind(std::uintptr_t base, const std::vector<std::uintptr_t>& bases,
            const std::vector<copied_variable>& variables = {});
  // Those of a copy at `base`.
  [[nodiscard]] std::vector<copied_variable> variables_of(
      std::uintptr_t base, const std::vector<std::uintptr_t>& bases,
      const std::vector<std::unique_ptr<copied_file>>& all) const;
  void set_bindings(std::vector<binding> all) { bindings_ = std::move(all); }

  // It is called for the first copy, when its names have been bound: each word that refers to one is left to the
  // loader as an address of this file, is to be bound when it is of another file of the copy, or is
  // the same in all copies.
  void keep_findings(std::uintptr_t base, const std::vector<std::uintptr_t>& bases,
                     const std::vector<std::unique_ptr<copied_file>>& all);
  // The loader looks for no name that is bound: it would not find them all. When it looks for those of
  // functions only as they are called, `late`, it may be told of these afterwards.
  void keep_from_loader(bool late);

  // Maps the original in place of the copy, wherever both are equal. Who `protects` what only the loader writes pays a mapping more.
  void share_pages(std::uintptr_t base, bool protects) const;

  // A debugger opens it when it likes.
  void leave_copy_open() noexcept { copy_ = -1; }

  // The number of the copy that was opened last.
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] numbered_file numbered() const noexcept { return {&file, &number_}; }
  // The name for the links that glibc keeps: a debugger and a stack trace take it for the file's.
  [[nodiscard]] char* shown_name() const { return ::strdup(file.path().c_str()); }

  const elf_file file;

 private:
  struct range {
    std::size_t offset;
    std::size_t size;
  };
  struct library_name {
    std::size_t offset;
    const int* number;
  };
  struct taken_variable {
    std::string name;
    std::uint64_t address;
    std::size_t size;
  };
  [[nodiscard]] const std::byte* shared_variable(const std::string& name) const;
  [[nodiscard]] std::size_t size() const noexcept { return file.bytes().size(); }
  template <class T>
  T& edited_at(const T& original);
  [[noreturn]] void fail(const char* what) const;
  void take_for_library();
  void edit(bool whole);
  void show_own_variables();
  void choose_ranges(bool whole);
  [[nodiscard]] std::vector<std::uint64_t> indices_of(const elf_file& library) const;
  [[nodiscard]] std::size_t string_checked(std::uint64_t index) const;
  [[nodiscard]] std::pair<std::size_t, std::size_t> constant_part() const;
  void share_writable(std::uintptr_t base, std::size_t first, std::size_t size, off_t offset,
                      bool protects) const;
  void merge_constants();

  std::byte* edited_ = nullptr;
  std::vector<range> written_;
  std::vector<library_name> names_;
  std::vector<binding> bindings_;
  std::vector<taken_variable> taken_;
  bool whole_ = false;
  int copy_ = -1;
  int number_ = -1;
};

// One file that has been loaded: its calls before main() and after it.
class loaded_part {
 public:
  loaded_part(const elf_file& file, std::uintptr_t base) noexcept
      : file_(&file), base_(base), calls_(file.calls()), fini_left_(calls_.fini_count) {}
  [[nodiscard]] std::uintptr_t base() const noexcept { return base_; }
  // The part's own copy of its globals.
  [[nodiscard]] std::vector<std::span<std::byte>> writable() const {
    return file_->writable_at(base_);
  }
  void construct(int argc, char** argv, char** environment) const;
  // A call that was left by a jump is made again when this is called again: that which calls the handlers
  // of atexit() goes on with those that are left. One that leaves each time is given up.
  void finish();
  [[nodiscard]] bool is_finished() const noexcept {
    return fini_left_ == 0 && calls_.last_fini == 0;
  }

 private:
  const elf_file* file_;
  std::uintptr_t base_;
  elf_calls calls_;
  std::size_t fini_left_;
  int attempts_ = 0;  // Attempts at the finisher that is next.
};

}  // namespace weft::process
