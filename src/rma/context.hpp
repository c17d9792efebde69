// Which operations of a rank quiet() and fence() speak of. Those that loads and stores carry out are complete when
// their call returns; a context keeps the others.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
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
  // Its rank keeps something for it that quiet() has to see off first.
  void note_gathered() noexcept { is_busy_ = true; }

 private:
  friend class initiator;
  friend class far_operations;

  // Small puts and updates for others, until there are many: messages of one target in one.
  struct gathered {
    struct of_one {
      std::vector<std::byte> bytes;
      bool is_listed = false;  // In `filled`.
    };
    std::vector<of_one> of_rank;
    std::vector<int> filled;  // Whose may hold something.
  };

  std::unique_ptr<gathered> gathers_;  // Null: each goes by itself.
  bool is_busy_ = false;               // Something may be under way since the last quiet().
  std::vector<int> written_;      // Ranks that were sent operations since they were last asked.
  std::vector<bool> is_written_;  // By rank; empty until the first.
  std::uint32_t replies_ =
      0;  // What is to come before it is quiet: results of non-blocking operations, answers.
  std::uint32_t awaited_ = 0;  // Results that calls wait for now.
};

}  // namespace weft::rma
