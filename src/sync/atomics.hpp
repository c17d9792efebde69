// The atomics that the lock-free structures are written in. Each structure takes them as a template
// parameter, so that the same code runs here and under the model checker (tests/model), which
// brings its own.
//
// `Atomics::order<"R1">(memory_order)` is the ordering with the label R1 of the structure's table:
// here the ordering itself; in a model test one that can be weakened by its label.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft {

inline constexpr std::size_t cache_line = 64;
// Neighbouring lines are fetched in pairs by some processors: what different workers write is
// kept this far apart.
inline constexpr std::size_t padding_bytes = 128;

// A label as a template argument.
template <std::size_t Length>
struct order_label {
  char text[Length]{};
  consteval order_label(const char (&label)[Length]) noexcept {
    std::copy_n(label, Length, text);
  }
};

// The asymmetric fence pair: after heavy_fence() in one thread, either it sees what another thread
// stored before its light_fence(), or that thread sees after its light_fence() what this one stored
// before. Costs the light side nothing (membarrier, private expedited); where the kernel forbids
// that, both are full fences.
void heavy_fence() noexcept;
extern std::atomic<bool> light_fence_is_full;

struct std_atomics {
  template <class T>
  using atomic = std::atomic<T>;

  // A field without concurrent access; the model checker looks for races on it.
  template <class T>
  class plain {
   public:
    [[nodiscard]] T get() const noexcept { return value_; }
    void set(T value) noexcept { value_ = value; }

   private:
    T value_{};
  };

  template <order_label Label>
  [[nodiscard]] static constexpr std::memory_order order(std::memory_order labelled) noexcept {
    return labelled;
  }

  static void light_fence() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // Relaxed: set once at start-up, before there is a second thread.
    if (light_fence_is_full.load(std::memory_order_relaxed)) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  static void heavy_fence() noexcept { weft::heavy_fence(); }

  // Futex: sleeps while `word` is `expected`, at most `timeout_ns` (negative: no limit).
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                   std::int64_t timeout_ns) noexcept;
  static void wake(std::atomic<std::uint32_t>& word) noexcept;
};

}  // namespace weft
