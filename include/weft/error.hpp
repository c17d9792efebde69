// The exception of set-up and misuse. Its text is one line: what was wrong, the limit, the remedy.
#pragma once
#include <stdexcept>
#include <string>

namespace weft {

struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Of an exception that tells people more than its what(), which is the program's.
class explained_exception {
 public:
  [[nodiscard]] virtual std::string explanation() const = 0;

 protected:
  ~explained_exception() = default;
};

// Thrown out of a rank's body it ends the job with this exit status, not 0, where others end it
// with 1.
class rank_failure : public error {
 public:
  rank_failure(const std::string& text, int exit_status) : error(text), exit_status_(exit_status) {}
  [[nodiscard]] int exit_status() const noexcept { return exit_status_; }

 private:
  int exit_status_;
};

}  // namespace weft
