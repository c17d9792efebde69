// The integers that stand for handles in Fortran. A predefined handle is its own number; others are numbered when
// they are first converted. The memory of an object is only used again for objects of its kind, so a number stays
// with its address, and freed handles are recognised as in C. They are converted outside of calls: threads of a rank that may
// call at the same time convert under `lock()`.
#pragma once
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace weft::mpi {

class handle_numbers {
 public:
  static constexpr std::uintptr_t predefined_end = 0x1000;

  [[nodiscard]] int number_of(std::uintptr_t handle) {
    if (handle < predefined_end) return static_cast<int>(handle);
    if (handle == last_handle_) return last_number_;
    const auto next = static_cast<int>(predefined_end + handles_.size());
    const auto [at, is_new] = numbers_.try_emplace(handle, next);
    if (is_new) handles_.push_back(handle);
    last_handle_ = handle;
    return last_number_ = at->second;
  }
  // The handle of a number. A number that was never given out becomes a handle of no object, which is refused as in C.
  [[nodiscard]] std::uintptr_t handle_of(int number) const noexcept {
    if (number >= 0 && number < static_cast<int>(predefined_end))
      return static_cast<std::uintptr_t>(number);
    const auto index = static_cast<std::size_t>(number) - predefined_end;
    return number > 0 && index < handles_.size() ? handles_[index] : 0;
  }

  // Held while threads of the rank convert. Not taken by a rank without such threads.
  [[nodiscard]] std::unique_lock<std::mutex> lock(bool has_threads) const {
    return has_threads ? std::unique_lock(lock_) : std::unique_lock<std::mutex>();
  }

 private:
  mutable std::mutex lock_;
  std::vector<std::uintptr_t> handles_;
  std::unordered_map<std::uintptr_t, int> numbers_;
  std::uintptr_t last_handle_ = 0;  // A cache of one: programs convert the same request repeatedly.
  int last_number_ = 0;
};

}  // namespace weft::mpi
