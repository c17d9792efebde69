// How far a run has come.
#pragma once
#include <chrono>
#include <cstdint>

namespace front {

// Shows how far a run has come, on a terminal only; elsewhere it writes nothing.
class progress_bar {
 public:
  explicit progress_bar(std::uint64_t steps);
  ~progress_bar() { clear(); }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  void show(std::uint64_t step);
  void clear();  // Makes room for other output.

 private:
  using clock = std::chrono::steady_clock;
  std::uint64_t steps_;
  bool on_terminal_, visible_ = false;
  clock::time_point start_ = clock::now(), shown_{};
};

}  // namespace front
