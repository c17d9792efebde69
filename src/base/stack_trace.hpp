// Where a thread or a fiber stands: the addresses of its calls, and their names for people.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Fills `calls` with the addresses in the callers of the running code, innermost first; returns how
// many. Allocates nothing; needs stack_trace_bytes of stack.
std::size_t capture_calls(std::span<std::uintptr_t> calls) noexcept;
inline constexpr std::size_t stack_trace_bytes = 8 * 1024;

// The name of a function or type as its program has it, from that of its symbol or std::type_info.
[[nodiscard]] std::string demangled(const char* name);

// Names of addresses in this process: function and line where the program has debug information and
// libdw can be loaded, function and offset where it has symbols, else file and offset. Called by one
// thread, with a stack of ordinary size.
class symbol_table {
 public:
  symbol_table();
  // Of addresses in files, which need not be loaded here: those of place_in() alone. A file that cannot be read
  // has no names.
  explicit symbol_table(std::span<const std::string> files);
  ~symbol_table();
  symbol_table(const symbol_table&) = delete;
  symbol_table& operator=(const symbol_table&) = delete;

  // Functions that were compiled into their callers count as calls: innermost first. Calls inside
  // weft and inside the standard library are left out.
  const std::vector<std::string>& calls_at(std::uintptr_t address);

  // The variable that lies there, "count" or "count+8"; empty where no symbol says.
  [[nodiscard]] std::string variable_at(std::uintptr_t address) const;

  // Stands for what lies `offset` behind where that file begins in memory; a table of files only.
  [[nodiscard]] static std::uintptr_t place_in(std::size_t file, std::uint64_t offset) noexcept;

  // One address for what is the same in all copies of a program.
  [[nodiscard]] std::uintptr_t place_of(std::uintptr_t address) const;

 private:
  struct contents;
  std::unique_ptr<contents> contents_;
};

// One line for each call: the innermost ones, with a word on what is left out.
[[nodiscard]] std::string call_lines(symbol_table& symbols, std::span<const std::uintptr_t> calls,
                                     std::string_view indent);

}  // namespace weft
