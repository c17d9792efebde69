// The accounts of a job that is over, as a file holds them: read with nothing in it believed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/accounts.hpp"

namespace weft::breakdown {

class record {
 public:
  // Takes what `file` held. Throws weft::error of one line, which names the file, the field and what is
  // allowed, when that is no record, or part of one.
  record(std::vector<std::byte> content, std::string_view file);

  [[nodiscard]] const accounts::file_header& header() const noexcept;
  [[nodiscard]] accounts::file_header& header() noexcept;
  [[nodiscard]] int ranks() const noexcept { return header().ranks; }
  [[nodiscard]] const accounts::account& of(int rank) const noexcept;
  [[nodiscard]] accounts::account& of(int rank) noexcept;
  [[nodiscard]] double seconds(std::uint64_t ticks) const noexcept;

  // Counts what goes on until `end_ticks` for the ranks that did not come to their end.
  void close(std::uint64_t end_ticks) noexcept;
  // Looks up where the call sites are, in files of this machine.
  void find_places();
  // What a file of it holds: without the tables that only a running job needs.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept;

 private:
  std::vector<std::byte> content_;
};

// "main at /a/long/way/to/solver/step.c:12" as "main at solver/step.c:12".
[[nodiscard]] std::string with_short_path(const std::string& place);

// Throws weft::error that names the file and the reason.
[[nodiscard]] record read_record(const std::string& path);

}  // namespace weft::breakdown
