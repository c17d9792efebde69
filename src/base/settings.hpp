// The one table of settings. A row gives the name, from which the environment variable
// (WEFT_STACK), the word of a program (--weft-stack) and the option of weftrun (--stack) follow,
// the help, the allowed values, and how to read and write its field of weft::options.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/options.hpp"

namespace weft {

inline constexpr std::string_view setting_variable_prefix = "WEFT_";

struct setting {
  std::string_view name;
  std::string_view value_name;  // The name of the value in a help text; empty for a switch.
  std::string allowed;          // The allowed values, in words.
  std::string_view help;
  // Returns false and changes nothing when `text` is not an allowed value.
  std::function<bool(options&, std::string_view text)> assign;
  std::function<std::string(const options&)> text;  // The value as assign() takes it.
  // Of a setting that may stand without a value: what it means then, and further values that weftrun takes from the word
  // behind it.
  std::vector<std::string_view> words = {};

  bool may_stand_alone() const noexcept { return !words.empty(); }
  bool takes_from_next(std::string_view word) const noexcept;
  // Whether the value is one of a few words, which `allowed` lists.
  bool is_choice() const noexcept { return value_name == "WORD"; }
  std::string environment_name() const;
};

std::span<const setting> settings();

const setting* find_setting(std::string_view name);
// The setting with the most similar name; null when none is similar.
const setting* nearest_setting(std::string_view name);

// Assigns, or throws weft::error. `origin` is the name that the user wrote: "--weft-ranks", "WEFT_RANKS".
void assign_setting(options& values, const setting& row, std::string_view origin,
                    std::string_view text);

// " (did you mean --ranks?)" for a name similar to one of the table; empty otherwise. `before` is the prefix of names
// where the user wrote it: "--".
std::string suggestion_for(std::string_view name, std::string_view before);

enum class setting_source { default_value, environment, command_line };

struct resolved_options {
  options values;
  std::vector<setting_source> sources;  // One per row of settings().
};

// Defaults, then environment, then --weft-* words, which are removed from argv. A lone "--" ends
// the search: what follows belongs to the program. Throws weft::error; argv is then unchanged.
resolved_options resolve_options(int& argc, char** argv);

// Checks options that a program filled in itself: throws weft::error naming a field that is out of range.
void check_options(const options& values);

// The setting "parcelport"; in a program that has resolved no settings, its environment variable.
std::string parcelport_setting();

// The setting "plugins"; in a program that has resolved no settings, its environment variable. Empty: not set.
std::string plugin_directory();

// The setting "reorder"; in a program that has resolved no settings, its environment variable.
bool reorder_setting();

// The signal that asks for a report, 0 for none.
int report_signal_number(const options& values) noexcept;

}  // namespace weft
