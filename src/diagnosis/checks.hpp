// The findings of a job with `check` on. The job looks for locks that are held across waits; faces add what they
// find. A job without `check` has none of these objects, and its data path never looks for them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/held_locks.hpp"
#include "sched/worker.hpp"

namespace weft::diagnosis {

// Where something happened: the calls, innermost first.
using call_list = std::vector<std::uintptr_t>;
// The calls of the calling fiber.
[[nodiscard]] call_list calls_here();

// A character in the text of a finding: tell() puts the function and line of a place there. printable() removes it from
// texts of users.
inline constexpr char place_mark = '\x01';

// One line for a person. Each place_mark in the text stands for the next of `places`. The names are looked up by
// tell(), on a stack of ordinary size.
struct finding {
  enum class kind : std::uint8_t { warning, error };
  kind severity;
  std::string text;
  std::vector<call_list> places;
};

// The findings of one job. Any worker adds one; one thread at a time tells them.
class job_checks {
 public:
  job_checks();
  // Sets what any worker calls to make the monitor call tell().
  void set_call(std::function<void()> call) { call_ = std::move(call); }
  // Keeps equal findings at equal places once.
  void add(finding what);
  // Called by a worker when its running fiber, of rank `number`, is about to wait in `call`: adds findings of held
  // locks.
  void look_at_locks(worker& here, int number, const char* call);
  // Prints what was added since the last call.
  void tell();
  [[nodiscard]] bool has_errors() const;

 private:
  std::function<void()> call_;
  const lock_watch* const locks_;
  mutable std::mutex lock_;
  std::vector<finding> untold_;
  std::set<std::pair<std::string, std::vector<call_list>>> known_;
  std::size_t left_out_ = 0;
  std::set<std::string> told_;  // By tell() alone: lines of places, without the ranks.
  bool errors_ = false;
};

}  // namespace weft::diagnosis
