// What programs check of their words beyond what CLI11 does.
#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>

namespace front {

inline const CLI::Validator not_empty(
    [](const std::string& text) { return std::string(text.empty() ? "needs a name" : ""); }, "");

// Also of files that are not there yet.
inline bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code none;
  const auto place_of = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
  };
  return place_of(one) == place_of(other);
}

// The range is named in the error, not in the help, where it would hide the meaning. CLI::Range
// takes NaN for a number within it.
template <class Number>
CLI::Validator limits(Number least, Number most) {
  const auto check = [least, most](std::string& text) {
    Number value{};
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most)
      return std::string();
    std::ostringstream what;
    what << text << " is not a number from " << least << " to " << most;
    return what.str();
  };
  return CLI::Validator(check, "");
}

}  // namespace front
