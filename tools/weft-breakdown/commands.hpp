// What weft-breakdown does, one function for each of its commands. Each writes its result to standard output,
// or throws weft::error of one line.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace weft {

struct breakdown_request {
  std::string file;  // Of components, or a record; empty: the published components.
  std::vector<std::string> components;
  bool csv = false;
  std::string png;         // Empty: none.
  std::string page;        // Of report.
  std::string of_message;  // Of report: a file of measure, which the page shows as well.
  std::string events;      // Of report: an event file of the same run; empty: none.
  bool calls = false;      // Of report: calls by place and rank, as CSV.
};

struct measure_request {
  std::string face = "ranks";
  std::string transport = "shm";
  std::size_t bytes = 8;
  int samples = 300;  // Of each component in each run.
  int rounds = 10;
  bool csv = false;
  std::string out;  // JSON; empty: none.
};

struct scale_request {
  std::string pattern;  // An event file, or the name of a collective.
  std::vector<int> nodes{1};
  int ranks_per_node = 1;
  int workers_per_node = 0;           // 0: one for each rank.
  std::vector<std::string> messages;  // Files of measure.
  std::string topology = "fat-tree";  // Or dragonfly, or ideal.
  double latency_ns = 0;  // Of the network; 0: that of the paper's table, as what follows.
  double bytes_per_ns = 0;
  std::size_t bytes = 8;  // Of a collective.
  int repeat = 1;
  bool is_strong = false;  // The work is shared, not repeated, by more ranks.
  bool by_actors = false;
  std::vector<std::string> measured;  // Event files of real runs.
  bool csv = false;
  std::string png;
};

void measure_message(const measure_request& request);
void predict_scale(const scale_request& request);
struct replay_request {
  std::string events;
  std::vector<std::string> faster;  // "PLACE=PER CENT".
  double transfers_percent = 0;
  double even_percent = 0;  // By so much each rank's computation comes closer to the mean.
  double later_us = 0;      // Each message takes so much more.
  bool csv = false;
};
void replay_run(const replay_request& request);
struct causal_request {
  std::string part;  // Of the name of a place, or a region.
  std::vector<int> reductions{25, 50, 75};
  int runs = 5;           // Of each reduction.
  bool of_calls = false;  // The time in calls, not of the computation before them.
  bool csv = false;
  std::vector<std::string> words;  // The program.
};
void run_causal(const causal_request& request);
// An event file as an archive of the Open Trace Format 2, which is a new directory.
void write_otf2(const std::string& events, const std::string& directory);
[[nodiscard]] bool has_otf2() noexcept;
void print_model(const breakdown_request& request);
void print_what_if(const breakdown_request& request);
struct map_request {
  std::string file;  // A record.
  int workers = 0;   // 0: as many as the run had cores.
};
// A file for weftrun --map.
void print_map(const map_request& request);
void compare_runs(const std::vector<std::string>& files, bool csv);
void write_breakdown_report(const breakdown_request& request);

[[nodiscard]] std::string text_of_file(const std::string& path);
// Has a script of the installation draw what `csv` says.
void plot(const std::string& kind, const std::string& csv, const std::string& png);

}  // namespace weft
