// The findings of a job with `check` on, and how they are told. The job looks for locks held across waits; faces add
// what they find. A job without `check` has none of these objects, and its data path never asks for them.
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

namespace weft::detail {

// Where something happened: the calls, innermost first.
using call_list = std::vector<std::uintptr_t>;
// Of the calling fiber.
[[nodiscard]] call_list calls_here();

// In the text of a finding: the function and line of a place. printable() leaves it in nothing that a user wrote.
inline constexpr char place_mark = '\x01';

// One line for a person. Each place_mark in the text stands for the next place: names are looked for when it is
// told, on a stack of ordinary size.
struct finding {
  enum class kind : std::uint8_t { warning, error };
  kind severity;
  std::string text;
  std::vector<call_list> places;
};

// The findings of one job. Added by any worker, told by one thread at a time.
class job_checks {
 public:
  job_checks();
  // `call` makes somebody call tell(); any worker calls it.
  void set_call(std::function<void()> call) { call_ = std::move(call); }
  // The same kind of finding at the same places is kept once.
  void add(finding what);
  // Of a worker, whose fiber, of rank `number`, is about to wait in `call`.
  void look_at_locks(worker& here, int number, const char* call);
  // Prints what was added since.
  void tell();
  [[nodiscard]] bool has_errors() const;

 private:
  std::function<void()> call_;
  const lock_watch* const locks_;
  mutable std::mutex lock_;
  std::vector<finding> untold_;
  std::set<std::pair<std::string, std::vector<call_list>>> known_;
  std::size_t left_out_ = 0;
  bool errors_ = false;
};

}  // namespace weft::detail
