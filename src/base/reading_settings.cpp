// Reading settings: from the environment and the command line, and what a program filled in itself.
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/settings.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

constexpr std::string_view word_prefix = "--weft-";

// Edits (insert, delete, replace) that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

// What no single row can see.
void check_combination(const options& values) {
  if (values.schedule && (values.workers > 1 || values.helpers > 0))
    throw error(
        "a schedule is repeatable on one worker only; leave out workers and helpers, or "
        "the schedule");
  if (values.schedule && values.processes > 1)
    throw error(
        "a schedule is repeatable in one process only; leave out processes, or the schedule");
  if (values.processes > 0 && values.ranks > 0 && values.processes > values.ranks)
    throw error(formatted("{} processes for {} ranks; give at least one rank to each process",
                          values.processes, values.ranks));
  if (values.processes > 0 && values.ranks > 0 && values.ranks_per_process > 0 &&
      std::int64_t{values.processes} * values.ranks_per_process < values.ranks)
    throw error(
        formatted("{} processes of at most {} ranks cannot hold {} ranks; leave out "
                  "processes or ranks-per-process",
                  values.processes, values.ranks_per_process, values.ranks));
}

}  // namespace

const setting* find_setting(std::string_view name) {
  const auto rows = settings();
  const auto found = std::ranges::find(rows, name, &setting::name);
  return found == rows.end() ? nullptr : &*found;
}

const setting* nearest_setting(std::string_view name) {
  const setting* nearest = nullptr;
  std::size_t distance = 3;  // Three edits make another word.
  for (const setting& row : settings()) {
    const std::size_t edits = edit_distance(name, row.name);
    if (edits < distance && edits < row.name.size()) {
      nearest = &row;
      distance = edits;
    }
  }
  return nearest;
}

void assign_setting(options& values, const setting& row, std::string_view origin,
                    std::string_view text) {
  if (!row.assign(values, text))
    throw error(
        formatted("{}: '{}' is not allowed; give {}", origin, printable(text), row.allowed));
}

std::string suggestion_for(std::string_view name, std::string_view before) {
  const setting* const nearest = nearest_setting(name);
  return nearest == nullptr ? "" : formatted(" (did you mean {}{}?)", before, nearest->name);
}

resolved_options resolve_options(int& argc, char** argv) {
  const auto rows = settings();
  resolved_options result;
  result.sources.assign(rows.size(), setting_source::default_value);
  note_environment_read();

  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name = rows[i].environment_name();
    const char* const text = ::secure_getenv(name.c_str());
    if (text == nullptr || *text == '\0') continue;
    assign_setting(result.values, rows[i], name, text);
    result.sources[i] = setting_source::environment;
  }

  // The words of whoever started a setuid or setgid program are no better than the variables, which secure_getenv()
  // does not give: such a program has them all for itself.
  if (::getauxval(AT_SECURE) != 0) return result;

  std::vector<char*> kept;
  int position = 0;
  for (; position < argc && std::string_view(argv[position]) != "--"; ++position) {
    const std::string_view word = argv[position];
    if (position == 0 || !word.starts_with(word_prefix)) {
      kept.push_back(argv[position]);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string_view option = word.substr(0, equals);
    const std::string_view name = option.substr(word_prefix.size());
    const setting* const row = find_setting(name);
    if (row == nullptr)
      throw error(formatted("unknown option {}{}; weft-info lists all settings", option,
                            suggestion_for(name, "--weft-")));
    std::string_view text;
    if (equals != word.npos) {
      text = word.substr(equals + 1);
    } else if (row->may_stand_alone()) {
      text = row->words.front();
    } else {
      if (position + 1 == argc)
        throw error(formatted("{} needs a value; give {}", option, row->allowed));
      text = argv[++position];
    }
    assign_setting(result.values, *row, option, text);
    result.sources[static_cast<std::size_t>(row - rows.data())] = setting_source::command_line;
  }
  check_combination(result.values);
  kept.insert(kept.end(), argv + position, argv + argc);
  std::ranges::copy(kept, argv);
  if (static_cast<int>(kept.size()) < argc) argv[kept.size()] = nullptr;
  argc = static_cast<int>(kept.size());
  return result;
}

options parse_options(int& argc, char** argv) {
  return resolve_options(argc, argv).values;
}

void check_options(const options& values) {
  // Each value goes through its own text, so what a program may set is what a user may write.
  options scratch;
  for (const setting& row : settings())
    assign_setting(scratch, row, formatted("option {}", row.name), row.text(values));
  check_combination(values);
}

}  // namespace weft
