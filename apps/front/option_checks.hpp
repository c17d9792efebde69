// What programs check of their words beyond what CLI11 does.
#pragma once
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <sstream>
#include <string>
#include <system_error>
#include <weft/error.hpp>

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

// Reads a program's words. False: they asked for help, which is on standard output. Words that are wrong throw weft::error in one
// line that names the program's --help.
inline bool parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::ParseError& e) {
    std::string what = e.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    throw weft::error(what + "; " + app.get_name() + " --help lists the options");
  }
}

// What this machine has.
inline double memory_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

struct output_option {
  const char* name;         // "--csv"
  const std::string& path;  // Empty: not given.
};

// Throws weft::error when two options name the same file.
inline void check_outputs_differ(std::initializer_list<output_option> outputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one)
    for (auto other = outputs.begin(); other != one; ++other)
      if (!one->path.empty() && !other->path.empty() && is_same_file(one->path, other->path))
        throw weft::error(std::string(other->name) + " and " + one->name +
                          " would both write to '" + one->path + "': give each a file of its own");
}

}  // namespace front
