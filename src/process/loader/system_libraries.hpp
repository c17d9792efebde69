// Where the system's loader finds a library by its name alone, when no search path of a program has it.
#pragma once
#include <string>
#include <string_view>

namespace weft::process {

// The file of the first entry for `name` in a cache of ldconfig (/etc/ld.so.cache, in its format since glibc 2.2), of this
// machine's kind. `cache` is not believed: empty when it is none, or has no such name.
struct cached_library {
  std::string path;
  // There are several, among which the loader chooses by what the processor can do.
  bool depends_on_processor = false;
};
[[nodiscard]] cached_library library_in_cache(std::string_view cache, std::string_view name);

// As the loader does: what its cache says, then its own directories. Empty: it finds none, or which one depends on the
// processor.
[[nodiscard]] std::string library_of_system(std::string_view name);

}  // namespace weft::process
