#include "process/environment/own_environment.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>

#include "base/format.hpp"
#include "job/state.hpp"

namespace weft::process {
namespace {

int node_of(const detail::job& j, int rank) {
  return j
      .node_of_process[static_cast<std::size_t>(j.places[static_cast<std::size_t>(rank)].process)];
}

rank_values values_of(const detail::job_rank& me) {
  const detail::job& j = *me.of;
  const int size = static_cast<int>(j.places.size());
  const bool is_one_node = std::ranges::all_of(
      j.node_of_process, [&](int node) { return node == j.node_of_process.front(); });
  if (is_one_node) return {me.number, size, me.number, size};
  rank_values found{me.number, size, 0, 0};
  for (int rank = 0; rank < size; ++rank) {
    if (node_of(j, rank) != node_of(j, me.number)) continue;
    if (rank < me.number) ++found.local_number;
    ++found.local_size;
  }
  return found;
}

std::string_view name_of(std::string_view entry) noexcept {
  return entry.substr(0, entry.find('='));
}
std::string_view value_of(std::string_view entry) noexcept {
  const std::size_t end = entry.find('=');
  return end == entry.npos ? std::string_view() : entry.substr(end + 1);
}

const rank_variable* find_variable(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(rank_variables, name, &rank_variable::name);
  return found == rank_variables.end() ? nullptr : found;
}

const char* find_entry(char* const* table, std::string_view name) noexcept {
  for (; table != nullptr && *table != nullptr; ++table)
    if (name_of(*table) == name) return *table;
  return nullptr;
}

// -1: none.
int number_in(const char* entry) noexcept {
  if (entry == nullptr) return -1;
  const std::string_view text = value_of(entry);
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// What all ranks of this process have in common.
struct known_job {
  int size;
  int local_size;
  std::array<const char*, rank_variables.size()>
      given{};  // Entries that the process was given; null: none.
};

// Relaxed: a rank that starts a program has made it known before, and so have the threads that it has made.
std::atomic<const known_job*> known{nullptr};

bool says(std::string_view text, int number) noexcept {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return text == std::string_view(digits, static_cast<std::size_t>(end - digits));
}

// What weftrun has told of this very rank, for a script that has started the program, is none of another launcher's.
known_job job_of(const rank_values& mine, char* const* given) {
  known_job made{mine.size, mine.local_size};
  const char* const told = find_entry(given, "WEFT_RANK");
  const bool by_weftrun = told != nullptr && says(value_of(told), mine.number);
  for (std::size_t i = 0; i < rank_variables.size(); ++i)
    if (const char* const entry = find_entry(given, rank_variables[i].name);
        entry != nullptr &&
        !(by_weftrun && says(value_of(entry), mine.of(rank_variables[i].value))))
      made.given[i] = ::strdup(entry);
  return made;
}

}  // namespace

int rank_values::of(rank_variable_value which) const noexcept {
  switch (which) {
    case rank_variable_value::number:
      return number;
    case rank_variable_value::size:
      return size;
    case rank_variable_value::local_number:
      return local_number;
    case rank_variable_value::local_size:
      return local_size;
  }
  return -1;
}

std::vector<std::string> variables_of_rank(const rank_values& values) {
  std::vector<std::string> all;
  for (const rank_variable& one : rank_variables)
    all.push_back(formatted("{}={}", one.name, values.of(one.value)));
  return all;
}

char** environment_of_rank(const detail::job_rank& me, char** given) {
  if (me.of->how.transport.starts_with("mpi")) return given;
  const rank_values mine = values_of(me);
  std::size_t entries = rank_variables.size() + 1;
  for (char** entry = given; entry != nullptr && *entry != nullptr; ++entry) ++entries;
  char** const table = new char*[entries];
  char** to = table;
  for (char** entry = given; entry != nullptr && *entry != nullptr; ++entry)
    if (find_variable(name_of(*entry)) == nullptr) *to++ = *entry;
  for (const std::string& one : variables_of_rank(mine)) *to++ = ::strdup(one.c_str());
  *to = nullptr;
  static const known_job made = job_of(mine, given);  // Before a rank has changed anything.
  known.store(&made, std::memory_order_relaxed);
  return table;
}

std::size_t entries_without_rank_variables(char* const* table) noexcept {
  if (table == nullptr || known.load(std::memory_order_relaxed) == nullptr) return 0;
  std::size_t count = rank_variables.size() + 1;
  for (; *table != nullptr; ++table) ++count;
  return count;
}

void without_rank_variables(char* const* table, char** to) noexcept {
  const known_job& of = *known.load(std::memory_order_relaxed);
  const rank_values mine{number_in(find_entry(table, "WEFT_RANK")), of.size,
                         number_in(find_entry(table, "WEFT_LOCAL_RANK")), of.local_size};
  for (; *table != nullptr; ++table) {
    const rank_variable* const one = find_variable(name_of(*table));
    if (one == nullptr || !says(value_of(*table), mine.of(one->value))) {
      *to++ = *table;
      continue;
    }
    if (const char* const before = of.given[static_cast<std::size_t>(one - rank_variables.data())];
        before != nullptr)
      *to++ = const_cast<char*>(before);
  }
  *to = nullptr;
}

}  // namespace weft::process
