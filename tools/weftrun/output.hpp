// Carries what processes print to where it belongs, by whole lines: lines of different processes
// never mix. A line's beginning may be passed on when it has rested; what another process prints then begins a new line. A thread of its own does it, so that an output that nobody reads holds up the output
// and nothing else.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
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

// Whether the beginning of a line, such as a question, is passed on when nothing has followed for begun_rest_s.
enum class begun_lines { wait, pass };
inline constexpr double begun_rest_s = 0.1;

class output_forwarder {
 public:
  explicit output_forwarder(line_sink sink, begun_lines begun = begun_lines::wait);
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
    std::string begun;        // A line whose end has not come, and which has not been passed on.
    std::uint64_t reads = 0;  // So far.
  };
  void read_from(source& s);
  void pass_begun(int number, std::uint64_t reads);
  // Lines of the source with this descriptor come next; -1: of no source.
  [[nodiscard]] std::string_view end_of_open_line(int number, int stream);
  void leave(int number);
  void finish_if_empty();
  bool deliver(int process, int stream, std::string_view lines);

  line_sink sink_;
  event_loop loop_;
  std::map<int, std::unique_ptr<source>> sources_;
  std::vector<char> read_;            // Between a source and the sink.
  std::atomic<bool> closed_[3] = {};  // By stream: nobody reads it.
  const begun_lines begun_;
  int open_[3] = {
      -1, -1,
      -1};  // By stream: the source whose last line has been passed on without its end; -1: none.
  std::function<void()> finished_;  // None until finish().
  std::thread thread_;
};

}  // namespace weft
