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

void measure_message(const measure_request& request);
void print_model(const breakdown_request& request);
void print_what_if(const breakdown_request& request);
void compare_runs(const std::vector<std::string>& files, bool csv);
void write_breakdown_report(const breakdown_request& request);

[[nodiscard]] std::string text_of_file(const std::string& path);
// Has a script of the installation draw what `csv` says.
void plot(const std::string& kind, const std::string& csv, const std::string& png);

}  // namespace weft
