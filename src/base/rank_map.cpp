#include "base/rank_map.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

// The worker that slot `slot` of `ranks` belongs to when neighbouring slots share a worker.
int block_worker(int slot, int ranks, int workers) {
  return static_cast<int>(std::int64_t{slot} * workers / ranks);
}

// Reads one file; every failure names the place.
class order_reader {
 public:
  order_reader(const std::string& path, int ranks)
      : path_(path), seen_(static_cast<std::size_t>(ranks), false) {}

  std::vector<int> read() {
    // What is no file may have no end, or nobody who writes to it.
    std::error_code unknown;
    const auto status = std::filesystem::status(path_, unknown);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      throw error(
          formatted("map {}: not a regular file; give block, cyclic or a file in "
                    "MPICH_RANK_ORDER format",
                    path_));
    if (const auto size = std::filesystem::file_size(path_, unknown);
        !unknown && size > map_file_bytes_max)
      throw error(
          formatted("map {}: {} bytes; a map has at most {}", path_, size, map_file_bytes_max));
    std::ifstream file(path_);
    if (!file)
      throw error(formatted("map {}: {}; give block, cyclic or a file in MPICH_RANK_ORDER format",
                            path_, std::strerror(errno)));
    while (std::getline(file, line_)) {
      ++line_number_;
      line_.erase(std::min(line_.find('#'), line_.size()));
      read_line();
    }
    const auto missing = std::ranges::find(seen_, false);
    if (missing != seen_.end())
      throw error(formatted("map {}: rank {} of {} is not in it; name every rank once", path_,
                            missing - seen_.begin(), seen_.size()));
    return order_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw error(formatted("map {}, line {}, column {}: {}", path_, line_number_, at_ + 1, what));
  }

  void skip_space() { at_ = std::min(line_.find_first_not_of(" \t\r", at_), line_.size()); }
  bool at_end() const { return at_ == line_.size(); }

  // A comma may stand at the end of a line as well as between two items.
  void read_line() {
    at_ = 0;
    for (skip_space(); !at_end(); skip_space()) {
      const std::size_t begin = at_;
      const int first = number();
      int last = first;
      if (!at_end() && line_[at_] == '-') {
        ++at_;
        last = number();
      }
      const std::size_t end = std::exchange(at_, begin);
      append(first, last);
      at_ = end;
      skip_space();
      if (at_end()) return;
      if (line_[at_] != ',')
        fail(formatted("'{}' where a comma is expected",
                       printable(std::string_view(line_).substr(at_, 1))));
      ++at_;
    }
  }

  int number() {
    int value = 0;
    const char* const begin = line_.data() + at_;
    const auto [stop, failure] = std::from_chars(begin, line_.data() + line_.size(), value);
    if (failure != std::errc() || value < 0) fail("expected a rank or a range such as 0-3");
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }

  void append(int first, int last) {
    const auto ranks = static_cast<int>(seen_.size());
    if (first > last) fail(formatted("the range {}-{} runs backwards", first, last));
    if (last >= ranks) fail(formatted("there is no rank {}; the job has {}", last, ranks));
    for (int rank = first; rank <= last; ++rank) {
      if (seen_[static_cast<std::size_t>(rank)]) fail(formatted("rank {} is there twice", rank));
      seen_[static_cast<std::size_t>(rank)] = true;
      order_.push_back(rank);
    }
  }

  std::string path_;
  std::vector<bool> seen_;
  std::vector<int> order_;
  std::string line_;
  int line_number_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<int> map_ranks(const std::string& map, int ranks, int workers) {
  WEFT_ASSERT(ranks > 0);
  WEFT_ASSERT(workers > 0);
  std::vector<int> home(static_cast<std::size_t>(ranks));
  if (map == "cyclic") {
    for (int rank = 0; rank < ranks; ++rank) home[static_cast<std::size_t>(rank)] = rank % workers;
    return home;
  }
  std::vector<int> order;
  if (map != "block") order = order_reader(map, ranks).read();
  for (int slot = 0; slot < ranks; ++slot) {
    const int rank = order.empty() ? slot : order[static_cast<std::size_t>(slot)];
    home[static_cast<std::size_t>(rank)] = block_worker(slot, ranks, workers);
  }
  return home;
}

rank_block ranks_of_process(int process, int ranks, int processes) {
  WEFT_ASSERT(process >= 0);
  WEFT_ASSERT(process < processes);
  // The first rank r with r * processes / ranks >= process, as block_worker() counts.
  const auto begin = [=](std::int64_t p) {
    return static_cast<int>((p * ranks + processes - 1) / processes);
  };
  return {begin(process), begin(process + 1) - begin(process)};
}

}  // namespace weft
