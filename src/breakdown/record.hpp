// The accounts of a job that is over, as a file holds them: read with nothing in it believed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/accounts.hpp"

namespace weft::breakdown {

class record {
 public:
  // A file has a checksum, which the memory of a job has not.
  enum class from { memory, file };
  // Takes what `file` held. Throws weft::error of one line, which names the file, the field and what is
  // allowed, when that is no record, or part of one.
  record(std::vector<std::byte> content, std::string_view file, from where = from::memory);

  [[nodiscard]] const profile::file_header& header() const noexcept;
  [[nodiscard]] profile::file_header& header() noexcept;
  [[nodiscard]] int ranks() const noexcept { return header().ranks; }
  [[nodiscard]] const profile::account& of(int rank) const noexcept;
  [[nodiscard]] profile::account& of(int rank) noexcept;
  // The calls that lead to its sites; empty: they were not asked for.
  [[nodiscard]] std::span<const profile::caller> callers(int rank) const noexcept;
  [[nodiscard]] std::span<profile::caller> callers(int rank) noexcept;
  [[nodiscard]] double seconds(std::uint64_t ticks) const noexcept;

  // Counts what goes on until `end_ticks` for the ranks that did not come to their end.
  void close(std::uint64_t end_ticks) noexcept;
  // Looks up where the call sites are, in files of this machine.
  void find_places();
  // What a file of it holds: without the tables that only a running job needs. Sets its checksum.
  [[nodiscard]] std::span<const std::byte> bytes();

 private:
  [[nodiscard]] std::uint32_t checksum();
  std::vector<std::byte> content_;
};

// "main at /a/long/way/to/solver/step.c:12" as "main at solver/step.c:12".
[[nodiscard]] std::string with_short_path(const std::string& place);

// Calls of which each is in the next one: "f at a.c:3 <- main at a.c:9". Nothing stands behind main.
inline constexpr std::string_view called_by = " <- ";
[[nodiscard]] std::string as_path(std::string first, std::string_view callers);
// Calls in the sense of symbol_table::calls_at(), one in the next, with short paths of files.
[[nodiscard]] std::string as_path(std::span<const std::string> calls);

// Throws weft::error that names the file and the reason.
[[nodiscard]] record read_record(const std::string& path);

}  // namespace weft::breakdown
