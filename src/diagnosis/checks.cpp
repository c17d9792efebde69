#include "diagnosis/checks.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/stack_trace.hpp"
#include "diagnosis/races.hpp"

namespace weft::diagnosis {

call_list calls_here() {
  std::array<std::uintptr_t, calls_captured_max> calls;
  const std::size_t count = capture_calls(calls);
  return {calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(count)};
}

namespace {

// The innermost call of the program.
std::string name_of(symbol_table& symbols, const call_list& calls) {
  for (const std::uintptr_t call : calls)
    if (const auto& names = symbols.calls_at(call); !names.empty()) return names.front();
  return "a function without a name here (compile with -g)";
}

// The line without the numbers of ranks.
std::string without_ranks(std::string_view line) {
  constexpr std::string_view word = "rank ";
  std::string result;
  for (std::size_t begin; (begin = line.find(word)) != line.npos;) {
    result += line.substr(0, begin + word.size());
    line.remove_prefix(begin + word.size());
    line.remove_prefix(std::min(line.find_first_not_of("0123456789"), line.size()));
  }
  return result += line;
}

const void* running_fiber() noexcept {
  const worker* here = worker::current();
  return here == nullptr || here->identity() == nullptr ? nullptr : &here->running_here();
}

}  // namespace

// --- The findings of a job -----------------------------------------------------------------------

job_checks::job_checks() : locks_(find_lock_watch()) {
  if (locks_ != nullptr)
    locks_->begin(&running_fiber);
  else
    log_line(
        "check: mutexes held across a wait are not looked for: start the program with "
        "weftrun --check");
}

void job_checks::add(finding what) {
  const std::lock_guard hold(lock_);
  if (what.severity == finding::kind::error) errors_ = true;
  // Ranks that do the same at the same places say it once.
  if (!known_.emplace(what.places.empty() ? what.text : "", what.places).second) return;
  if (known_.size() > findings_max)
    ++left_out_;
  else
    untold_.push_back(std::move(what));
  if (call_) call_();
}

void job_checks::look_at_locks(worker& here, int number, const char* call) {
  if (locks_ == nullptr) return;
  struct view {
    job_checks* self;
    worker* here;
    int number;
    const char* call;
  } v{this, &here, number, call};
  locks_->each_held(
      &here.running(),
      [](held_lock& held, void* argument) {
        if (std::exchange(held.told, true)) return;
        const view& seen = *static_cast<view*>(argument);
        seen.self->add(
            {finding::kind::warning,
             formatted("rank {} waits in {} while it holds the {} at {}, taken in {}: give it back "
                       "before the wait; a rank of worker {} that wants it would block them all",
                       seen.number, seen.call, held.kind, held.address, place_mark,
                       seen.here->index()),
             {call_list(held.calls, held.calls + held.call_count)}});
      },
      &v);
}

void job_checks::tell() {
  std::vector<finding> findings;
  std::size_t left_out = 0;
  {
    const std::lock_guard hold(lock_);
    findings.swap(untold_);
    left_out = std::exchange(left_out_, 0);
  }
  symbol_table symbols;
  for (const finding& f : findings) {
    std::string line = f.severity == finding::kind::error ? "check: error: " : "check: ";
    std::string_view rest = f.text;
    const bool names_must_differ = rest.starts_with(names_differ_mark);
    if (names_must_differ) rest.remove_prefix(1);
    std::set<std::string> names;
    for (const call_list& place : f.places) {
      const std::size_t at = rest.find(place_mark);
      const std::string name = name_of(symbols, place);
      names.insert(name);
      line += formatted("{}{}", rest.substr(0, at), name);
      rest.remove_prefix(at + 1);
    }
    line.append(rest);
    if (names_must_differ && names.size() < f.places.size()) continue;
    // Copies of a program have other addresses for the same places.
    if (f.places.empty() || told_.insert(without_ranks(line)).second) log_text(line);
  }
  if (left_out != 0) log_line("check: {} findings more", left_out);
}

bool job_checks::has_errors() const {
  const std::lock_guard hold(lock_);
  return errors_;
}

}  // namespace weft::diagnosis
