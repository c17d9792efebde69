// A process is quiescent: its workers were all parked at one moment, with fibers alive, and nothing in this process will make
// one of them go on. docs/protocols/parking.md.
#pragma once
#include <cstdint>

namespace weft {

class worker;

// Learns that the process is quiescent.
class quiescence_observer {
 public:
  enum class answer : std::uint8_t {
    sleep,       // There is nothing to say.
    look_again,  // Not known: the worker looks at its sources of work, and parks anew.
    tell,        // Call tell().
  };
  // Called by the worker that parked last, while it counts as parked: it sends nothing here.
  [[nodiscard]] virtual answer look(worker& last) noexcept = 0;
  // Called by the same worker, awake again. Afterwards it looks at its sources of work, and parks anew.
  virtual void tell(worker& last) = 0;

 protected:
  ~quiescence_observer() = default;
};

// What brings work while all workers are parked, and ends by itself: threads that ranks have made, and timers. How many of
// them had ended before a worker parked.
struct quiescence_look {
  std::uint64_t threads_ended;
  std::uint64_t timers_ended;
};

}  // namespace weft
