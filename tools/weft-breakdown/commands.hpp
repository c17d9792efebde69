// What weft-breakdown does, one function for each of its commands. Each writes its result to standard output,
// or throws weft::error of one line.
#pragma once
#include <string>
#include <vector>

namespace weft {

struct breakdown_request {
  std::string file;  // Of components, or a record; empty: the published components.
  std::vector<std::string> components;
  bool csv = false;
  std::string png;   // Empty: none.
  std::string page;  // Of report.
};

void print_model(const breakdown_request& request);
void print_what_if(const breakdown_request& request);
void write_breakdown_report(const breakdown_request& request);

// Has a script of the installation draw what `csv` says.
void plot(const std::string& kind, const std::string& csv, const std::string& png);

}  // namespace weft
