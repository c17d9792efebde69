// What a worker looks at besides the mail of other workers when its process is one of several. The runtime
// implements it on a communication core, of which the scheduler knows nothing. One object per
// worker; everything is called on that worker's own thread.
#pragma once
#include <atomic>
#include <cstdint>

namespace weft {

class event_source {
 public:
  // Called in every pass of the worker: looks at everything. True when something came.
  virtual bool poll() noexcept = 0;
  // Called between two passes, while the worker spins: looks only at what is cheap. True when something came.
  virtual bool poll_cheap() noexcept = 0;
  // Whether poll() has something left to do: then the worker may not park.
  [[nodiscard]] virtual bool busy() const noexcept = 0;
  // Whether nothing under way writes into the memory of fibers. Until then they may not unwind.
  [[nodiscard]] virtual bool no_writes_pending() const noexcept = 0;

  // Called before the worker parks. When it may be the last, since all others are parked, it notes what quiescence_observer::look()
  // compares with; otherwise nothing, and that look does not know.
  virtual void look_before_parking(bool may_be_last) noexcept = 0;
  // Called before the worker sleeps: from now on whatever comes rings the bell of ringing() or calls worker::notify().
  // False when something is there already. Either way the worker calls disarm() afterwards.
  [[nodiscard]] virtual bool arm() noexcept = 0;
  virtual void disarm() noexcept = 0;
  // A word of memory on which a futex wait for `value` ends when something comes.
  struct bell {
    const std::atomic<std::uint32_t>* word = nullptr;
    std::uint32_t value = 0;
    bool shared = false;  // Rung from other processes.
  };
  // Called between arm() and disarm(). Its word is null when whatever comes calls notify().
  [[nodiscard]] virtual bell ringing() const noexcept = 0;
  // After how long a sleep it needs a poll although nothing has rung; negative: never.
  [[nodiscard]] virtual std::int64_t sleep_ns_max() const noexcept = 0;

 protected:
  ~event_source() = default;
};

}  // namespace weft
