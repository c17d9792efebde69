// What a worker looks at besides the mail of other workers when its process is one of several. The runtime
// implements it on a communication core, of which the scheduler knows nothing. One object per
// worker; everything is called on that worker's own thread.
#pragma once
#include <atomic>
#include <cstdint>

namespace weft {

class outside {
 public:
  // In every pass of the worker: all that there is. True when something came.
  virtual bool poll() noexcept = 0;
  // Between two passes, while the worker spins: only what is cheap to look at.
  virtual bool glance() noexcept = 0;
  // Whether something is left to do that poll() will do, so that the worker may not park.
  [[nodiscard]] virtual bool busy() const noexcept = 0;
  // Whether nothing is under way that writes into the memory of fibers: else they may not unwind.
  [[nodiscard]] virtual bool at_rest() const noexcept = 0;

  // The worker is about to sleep: from now on what comes rings one of bells() or calls
  // worker::notify(). False when something is there already. After it, in any case: disarm().
  [[nodiscard]] virtual bool arm() noexcept = 0;
  virtual void disarm() noexcept = 0;
  // A word of memory on which a futex wait for `value` ends when something comes.
  struct bell {
    const std::atomic<std::uint32_t>* word = nullptr;
    std::uint32_t value = 0;
    bool shared = false;  // Rung from other processes.
  };
  // Called between arm() and disarm(); null when what comes calls notify().
  [[nodiscard]] virtual bell ringing() const noexcept = 0;
  // The longest sleep after which it wants to be polled all the same; negative: any.
  [[nodiscard]] virtual std::int64_t sleep_ns_max() const noexcept = 0;

 protected:
  ~outside() = default;
};

}  // namespace weft
