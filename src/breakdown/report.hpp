// A summary in the forms that people and programs read.
#pragma once
#include <string>
#include <string_view>

#include "breakdown/analysis.hpp"

namespace weft::breakdown {

// The text for a terminal has lines of about 150 characters at most, each ended.
[[nodiscard]] std::string text_of(const summary& s);
[[nodiscard]] std::string json_of(const summary& s);
// A row per rank, with a header line.
[[nodiscard]] std::string csv_of(const summary& s);
// What each rank's calls took and took along, by place; then of all ranks, as rank "*".
[[nodiscard]] std::string calls_csv_of(const record& r, const summary& s);
// One page that needs no network. `library` is the text of d3, or empty: then the page has tables in place
// of plots. `data` is json_of() of the summary; `message`, if any, that of a message that has been measured.
[[nodiscard]] std::string page_of(std::string_view data, std::string_view library,
                                  std::string_view message = {});

// The inside of a JSON string.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace weft::breakdown
