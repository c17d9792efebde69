// Which operations of a rank quiet() and fence() speak of. Those that loads and stores carry out are complete when
// their call returns; a context keeps the others.
#pragma once
#include <cstdint>
#include <vector>

namespace weft::rma {

// Of one rank; used on its worker. It must be quiet when it goes.
class context {
 public:
  context() = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  // Whether nothing is under way: quiet() is then no more than a fence of the processor.
  [[nodiscard]] bool is_quiet() const noexcept { return !is_busy_; }

 private:
  friend class initiator;
  friend class far_operations;

  bool is_busy_ = false;          // Something may be under way since the last quiet().
  std::vector<int> written_;      // Ranks that were sent operations since they were last asked.
  std::vector<bool> is_written_;  // By rank; empty until the first.
  std::uint32_t replies_ =
      0;  // What is to come before it is quiet: results of non-blocking operations, answers.
  std::uint32_t awaited_ = 0;  // Results that calls wait for now.
};

}  // namespace weft::rma
