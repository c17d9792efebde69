// Which operations of a rank quiet() and fence() speak of. Those that loads and stores carry out are complete when
// their call returns; a context keeps the others.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "remote/gathering.hpp"

namespace weft::rma {

// One rank uses a context, on its worker. A context is quiet when it goes.
class context {
 public:
  context() = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  // Whether nothing is under way: quiet() is then no more than a fence of the processor.
  [[nodiscard]] bool is_quiet() const noexcept { return !is_busy_; }
  // Its rank keeps something for it that quiet() has to send first.
  void note_gathered() noexcept { is_busy_ = true; }

 private:
  friend class initiator;
  friend class far_operations;

  // Bytes of small puts and updates that go to one rank in one message.
  static constexpr std::size_t gathered_bytes_max = 8192;

  // By rank of the job; null: each goes by itself.
  std::unique_ptr<remote::gathering<gathered_bytes_max>> gathers_;
  bool is_busy_ = false;          // Something may be under way since the last quiet().
  std::vector<int> written_;      // Ranks that were sent operations since they were last asked.
  std::vector<bool> is_written_;  // Has an element for each rank of the job once one is written.
  std::uint32_t replies_ =
      0;  // Results of non-blocking operations, and answers, that are to come before it is quiet.
  std::uint32_t awaited_ = 0;  // Results that calls wait for now.
};

}  // namespace weft::rma
