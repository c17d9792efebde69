// A process that only lends its number: a rank that shares its process with others has the number of such a one for its own.
// It shares memory, descriptors and directories with the process, so that there is next to nothing of it, and /proc/NUMBER
// tells of the same files and memory. It is in a process group of its own, where no signal of a terminal comes, and passes
// on what is sent to it. It ends with its maker's thread, whatever that dies of, and nobody's wait() sees it but end().
#pragma once
#include <sys/types.h>

#include <csignal>
#include <memory>

namespace weft::process {

// What is written to the descriptor `to` for each signal. A placeholder sets `number` and `details`.
struct passed_signal {
  int number;     // 0: nothing has come, but there is something to be done.
  int rank = -1;  // It is for this rank; -1: for all.
  siginfo_t details{};
};

class placeholder {
 public:
  // A thread calls it that lives as long as the process, with all signals blocked. Null, with errno, where there is
  // no further process.
  static std::unique_ptr<placeholder> make(int rank, int to) noexcept;
  ~placeholder();  // It has ended.
  placeholder(const placeholder&) = delete;
  placeholder& operator=(const placeholder&) = delete;

  [[nodiscard]] pid_t number() const noexcept { return number_; }
  // Any thread calls it, once.
  void end() noexcept;
  // The number of one that has ended and was not told to, by a signal that cannot be passed on; 0: there is none.
  [[nodiscard]] static pid_t find_ended() noexcept;

 private:
  struct shared;
  explicit placeholder(std::unique_ptr<shared> s) noexcept;
  static int stand_in(void* argument) noexcept;
  std::unique_ptr<shared> shared_;
  pid_t number_ = 0;
};

}  // namespace weft::process
