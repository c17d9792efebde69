// Hands what comes on stdin to process 0, a piece at a time: the next is read when the last one has
// been taken, so nothing piles up.
#pragma once
#include <functional>
#include <string>

#include "weftrun/event_loop.hpp"

namespace weft {

class input_pump {
 public:
  explicit input_pump(event_loop& loop) : loop_(loop) {}
  // `take` gets each piece, and an empty one at the end.
  void start(std::function<void(std::string)> take);
  void more();  // The last piece has been taken.
  void stop();

 private:
  void read();

  event_loop& loop_;
  std::function<void(std::string)> take_;  // None: not started, or at the end.
};

}  // namespace weft
