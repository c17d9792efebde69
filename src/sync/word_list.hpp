// Words of memory at which a thread sleeps all at once.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

// Used by one thread.
class word_list {
 public:
  void clear() noexcept { words_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }
  // The sleep ends when somebody has changed the word from `expected` and wakes those that sleep at it (std_atomics::wake).
  // `is_shared`: it lies in memory of several processes, and those wake.
  void add(const std::atomic<std::uint32_t>& word, std::uint32_t expected, bool is_shared = false) {
    words_.push_back({&word, expected, is_shared});
  }
  // Returns at once when a word is not as expected, after `timeout_ns` (negative: no limit), and now and then for no
  // reason. A kernel that cannot wait for so many words sleeps for a millisecond at most.
  void sleep(std::int64_t timeout_ns) const noexcept;

 private:
  struct expected_word {
    const std::atomic<std::uint32_t>* word;
    std::uint32_t expected;
    bool is_shared;
  };
  std::vector<expected_word> words_;
};

}  // namespace weft
