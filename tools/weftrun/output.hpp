// Carries what processes print to where it belongs, by whole lines: lines of different processes
// never mix. A thread of its own does it, so that an output that nobody reads holds up the output
// and nothing else.
#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "weftrun/event_loop.hpp"

namespace weft {

// Where lines go. Called by the thread of the forwarder; may block. Returns false when nobody will
// read any more.
using line_sink = std::function<bool(int process, int stream, std::string_view lines)>;

// Writes to this process's own stdout and stderr; false, and errno says why, when not all was written.
bool write_lines(int stream, std::string_view lines);

class output_forwarder {
 public:
  explicit output_forwarder(line_sink sink);
  ~output_forwarder();
  output_forwarder(const output_forwarder&) = delete;
  output_forwarder& operator=(const output_forwarder&) = delete;

  // From the thread that owns this. `stream` is 1 or 2.
  void add(int process, int stream, descriptor from);
  // Lines that have come another way; `written` is called when they have left, with
  // false when nobody reads that stream any more.
  void pass(int process, int stream, std::string lines, std::function<void(bool)> written);
  // Calls `done`, on the forwarder's thread, when all that was added has come to its end and has
  // left, at the latest after output_grace_s: what daemons keep open does not hold up the end.
  void finish(std::function<void()> done);
  // Nobody reads stdout, or stderr, any more. Called by any thread; a process that then dies of a
  // broken pipe dies after this is true.
  bool reader_is_gone() const noexcept { return closed_[1] || closed_[2]; }

 private:
  struct source {
    int process;
    int stream;
    descriptor from;
    std::string begun;  // A line whose end has not come.
  };
  void read_from(source& s);
  void leave(int number);
  void finish_if_empty();
  bool deliver(int process, int stream, std::string_view lines);

  line_sink sink_;
  event_loop loop_;
  std::map<int, std::unique_ptr<source>> sources_;
  std::vector<char> read_;            // Between a source and the sink.
  std::atomic<bool> closed_[3] = {};  // By stream: nobody reads it.
  std::function<void()> finished_;    // None until finish().
  std::thread thread_;
};

}  // namespace weft
