// The files of a report: the page, and beside it what programs read.
#pragma once
#include <string>
#include <string_view>

#include "breakdown/analysis.hpp"
#include "breakdown/record.hpp"

namespace weft::breakdown {

// "out/run.html" makes "out/run.json" and "out/run.record".
[[nodiscard]] std::string beside(const std::string& page, std::string_view extension);

// Throws weft::error that names the file when it could not be written; leaves one that is there as it is.
void check_writable(const std::string& path);
// The same of a new directory, which is not there yet.
void check_can_be_made(const std::string& directory);
[[nodiscard]] std::string content_of(const std::string& path);  // Throws likewise.
void write_file(const std::string& path, std::string_view content);

// d3, which the installation takes from a package; empty when it is not there. `share` is the directory
// that weft installs files into, as seen from its programs.
[[nodiscard]] std::string plot_library(std::string_view share);
// That directory lies beside the directory of the running program.
[[nodiscard]] std::string share_directory(std::string_view from_programs);

// The page, its data, and the record itself.
void write_report(record& r, const summary& s, const std::string& page, std::string_view library);

}  // namespace weft::breakdown
