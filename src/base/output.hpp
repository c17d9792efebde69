// Output of ranks line by line, each line with the number of the rank that wrote it.
#pragma once

namespace weft {

// While one lives, what the program writes to stdout, stderr, std::cout, std::cerr and std::clog
// leaves in whole lines that begin with "[rank] "; lines that several ranks put together piece by
// piece do not mix. Text written where `current_rank` gives a negative number passes unchanged.
// Several may live at once; they are one.
class tagged_output {
 public:
  explicit tagged_output(int (*current_rank)() noexcept);
  ~tagged_output();  // Ends lines that were begun.
  tagged_output(const tagged_output&) = delete;
  tagged_output& operator=(const tagged_output&) = delete;
};

}  // namespace weft
