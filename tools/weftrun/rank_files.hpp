// What ranks print, shared out to a file for each.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/rank_map.hpp"
#include "weftrun/job_request.hpp"

namespace weft {

// Used by one thread, that of the forwarder of output.
class rank_files {
 public:
  explicit rank_files(rank_file_names names) : names_(std::move(names)) {}
  ~rank_files();
  rank_files(const rank_files&) = delete;
  rank_files& operator=(const rank_files&) = delete;

  // Takes whole lines of a process that holds the ranks `of`: a line of a rank begins with "[rank] " where its program is
  // one of weft's. Returns those that belong on weftrun's own stream. Throws weft::error when a file cannot be written.
  [[nodiscard]] std::string take(rank_block of, int stream, std::string_view lines,
                                 bool keeps_tags);

 private:
  int file_of(int rank, int stream);

  const rank_file_names names_;
  std::map<std::pair<int, int>, int> open_;  // Descriptors, by rank and stream.
  std::set<std::string> begun_;              // Names of files that hold lines of this job.
};

// The name of a rank's file.
[[nodiscard]] std::string rank_file_name(std::string_view pattern, int rank);

}  // namespace weft
