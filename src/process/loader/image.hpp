// Private images: copies of one program in one process, each with globals of its own, that share
// their code. docs/images.md says how.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "process/libc_state/own_streams.hpp"
#include "process/life/caller.h"
#include "process/life/thread_locals.hpp"
#include "process/loader/copied_file.hpp"
#include "process/loader/loader_list.hpp"
#include "process/loader/opened_libraries.hpp"

struct weft_own_state;

namespace weft::process {

// A copy that has been loaded; it stays until the process ends. Its constructors have not run.
class image {
 public:
  using main_function = int (*)(int, char**, char**);
  [[nodiscard]] main_function main() const noexcept { return main_; }
  // The copy's own globals: the program's first, then those of its libraries in the order in which they are loaded.
  [[nodiscard]] std::vector<std::span<std::byte>> statics() const {
    std::vector<std::span<std::byte>> all;
    for (std::size_t i = parts_.size(); i-- > 0;)
      for (const std::span<std::byte> part : parts_[i].writable()) all.push_back(part);
    return all;
  }
  // What the copy has in place of the C library's. Its begin() comes before anything else.
  [[nodiscard]] const weft_own_state& own() const noexcept { return *own_; }
  // The rank that owns the copy calls each once: constructors of globals, libraries first;
  // atexit() handlers and destructors, in the opposite order. When one of the latter has left
  // destroy() by a jump, the next call goes on with the others.
  void construct(int argc, char** argv, char** environment);
  void destroy();

 private:
  friend class image_program;
  std::vector<copied_variable> variables_;
  std::vector<loaded_part> parts_;  // Libraries before those that need them, the program last.
  opened_libraries* opened_ = nullptr;
  own_streams* streams_ = nullptr;
  thread_locals thread_locals_;  // The program's, where it was linked as an executable.
  bool uses_streams_ = false;
  main_function main_ = nullptr;
  const weft_own_state* own_ = nullptr;
};

class image_program {
 public:
  // `libraries` are those of which each copy of the program has its own; `tells` of libraries that a copy opens
  // when all have one. Throws weft::error.
  image_program(const std::string& path, const std::vector<std::string>& libraries, bool tells);
  ~image_program();
  image_program(const image_program&) = delete;
  image_program& operator=(const image_program&) = delete;

  // Any thread calls it. It throws weft::error, naming the limit that was met.
  [[nodiscard]] image load();
  // What of the program belongs to threads, so that its ranks may not change theirs; empty when it has no such thing.
  [[nodiscard]] std::string bound_to_threads_by() const;
  // Whether a thread has room for one copy of it only, so that each rank needs a thread of its own.
  [[nodiscard]] bool needs_thread_of_rank() const noexcept { return thread_locals_.has_value(); }

 private:
  void bind_names();
  void choose_thread_locals();
  [[nodiscard]] image::main_function main_of_foreign(void* handle, std::uintptr_t base) const;
  void open_copies();
  void close_copies() noexcept;
  // How many mappings a copy is.
  [[nodiscard]] std::size_t mappings(bool protects) const;
  [[nodiscard]] std::string failure_text(std::string_view reason) const;

  std::vector<std::unique_ptr<copied_file>> sources_;  // They stand in the order of image::parts_.
  std::vector<std::size_t> order_;                     // Names are looked up in them in this order.
  std::optional<placed_thread_locals> thread_locals_;
  std::string search_path_;  // LD_LIBRARY_PATH of the program.
  bool debugged_ = false;    // A debugger reads what is loaded through the file's name, at once.
  bool tells_ = false;
  bool uses_streams_ = false;
  bool must_see_all_ = false;  // loader_list::open() takes it.
  std::size_t loaded_ = 0;
  loader_list list_;
};

// How the process of a program becomes the host of its copies: one variable of the environment.
struct host_request {
  std::string program;
  std::vector<std::string> libraries;
  // They say what the environment was before, "NAME=value" or "NAME".
  std::vector<std::string> restored;

  [[nodiscard]] std::string text() const;
  static host_request parse(std::string_view text);
};
inline constexpr const char* host_variable = "WEFT_IMAGE";

}  // namespace weft::process
