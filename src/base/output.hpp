// Output of ranks line by line, if wanted each line with the number of the rank that wrote it.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

namespace weft {

// Each holds back more than the one before it.
enum class line_style {
  plain,   // Standard error is written at once, for processes that die.
  whole,   // It, too, waits for the ends of lines.
  tagged,  // Lines begin with "[rank] ".
};

// While one lives, what the program writes to stdout, stderr, std::cout, std::cerr and std::clog
// leaves in whole lines; lines that several ranks put together piece by piece do not mix. Of
// untagged ones, what std::cout has flushed, what has a carriage return and what is longer than
// output_line_bytes_max is written before its end. Text written where `current_rank`
// gives a negative number passes unchanged, and streams that the program has replaced are left alone.
// Several may live at once; they are one, of the greatest style among them.
class line_output {
 public:
  line_output(int (*current_rank)() noexcept, line_style style);
  ~line_output();  // Writes lines that were begun; they end, untagged all but the last.
  line_output(const line_output&) = delete;
  line_output& operator=(const line_output&) = delete;

 private:
  line_style style_;
};

// For what a program writes below stdio: appends to the calling rank's line of standard output (1)
// or standard error (2). False when no line_output lives; nothing is written then.
bool append_to_line(int descriptor, std::string_view text);

// The calling rank, while its lines are collected; negative otherwise.
[[nodiscard]] int writing_rank() noexcept;

// Whether this is a stream of lines that ranks of the process share, during a job and after it. In a forked child it is
// not: `stream` is then the process's own that stood there before, and stands there again. Called by any thread.
[[nodiscard]] bool is_shared_stream(std::FILE*& stream) noexcept;

// What a rank may do that gives its standard output or error another file.
enum class own_output {
  refused,     // Its streams are everybody's.
  of_process,  // It is the process's only rank: the process's own streams and descriptors are changed.
  of_rank,     // What it writes is led away from the process's.
};
// Called when a rank begins, always with the same.
void allow_own_output(own_output how) noexcept;
[[nodiscard]] own_output allowed_own_output() noexcept;

// From now on what the calling rank, and threads that it has made, write to standard output (1) or standard error (2) goes to
// `to`, a descriptor that this closes in the end; -1: to the process's again. While a line_output lives.
void lead_output_away(int descriptor, int to);
// Where it goes; -1: to the process's.
[[nodiscard]] int own_output_of_rank(int descriptor);
// The process's own stream, which stands in the place of the shared one from now on. As give_back in a forked child.
[[nodiscard]] std::FILE* end_shared_stream(std::FILE* stream) noexcept;

// Where the calls that would change such a stream stand in the place of the C library's: links them to
// the program.
void link_calls_of_streams() noexcept;

// For a rank that ends the process: ends every line that was begun.
void end_begun_lines();

// For a handler of a signal that ends the process: writes and ends the lines that were begun, unless it has
// interrupted another that writes.
void write_begun_lines_before_death() noexcept;

// Writes out what stdio and std::cout hold, and says what became of standard output since the last call:
// empty when all of it was written, or when nobody reads it any longer.
[[nodiscard]] std::string lost_output();

// All of it by write(2), whatever the program has put in its place; waits where the descriptor would not. 0, or
// the errno of what kept it from the rest. Handlers of signals may call it.
int write_directly(int descriptor, std::string_view text) noexcept;

}  // namespace weft
