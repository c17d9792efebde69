// Causes of what is brought about in another process: who computed it leaves a stamp under the name of the call, and who
// takes the result tells of it in the other's name. As accounts.hpp, while tracing() only.
#pragma once
#include <cstdint>

#include "profile/accounts.hpp"

namespace weft::profile {

// The key of a call that has this name in the process that made it.
[[nodiscard]] std::uint64_t key_of_call(int process, std::uint64_t call) noexcept;
// Does what leave_cause_of_task() does: the calling thread has computed what `action` returns. The name stays.
void leave_cause_of_action(std::uint64_t key, const char* action);

// While it lives, what the calling thread leaves a cause of was brought about by whoever left one under that key.
class brought_about {
 public:
  [[gnu::always_inline]] brought_about(int process, std::uint64_t call) noexcept
      : is_on_(tracing()) {
    if (is_on_) [[unlikely]]
      begin(key_of_call(process, call));
  }
  [[gnu::always_inline]] ~brought_about() {
    if (is_on_) [[unlikely]]
      end();
  }
  brought_about(const brought_about&) = delete;
  brought_about& operator=(const brought_about&) = delete;

 private:
  static void begin(std::uint64_t key) noexcept;
  static void end() noexcept;

  const bool is_on_;
};

}  // namespace weft::profile
