// Signals as something to wait for.
#pragma once
#include "weftrun/event_loop.hpp"

namespace weft {

// Blocks the signals that weftrun handles, in this thread and those it makes later.
class signal_reader {
 public:
  signal_reader();
  int number() const noexcept { return from_.get(); }  // Readable when one has come.
  int next();                                          // 0: none.

 private:
  descriptor from_;
};

}  // namespace weft
