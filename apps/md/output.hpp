// What rank 0 writes: thermo lines, extended XYZ frames, a progress bar, the checks at the end.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "md/simulation.hpp"

namespace md {

// A file that is written to; every failure throws weft::error with the path.
class output_file {
 public:
  // What the file holds stays until begin().
  explicit output_file(const std::string& path);
  void begin();
  [[gnu::format(printf, 2, 3)]] void print(const char* format, ...);
  void flush();
  [[nodiscard]] std::FILE* stream() const { return file_.get(); }

 private:
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, closer> file_;
};

void write_thermo_header(output_file& csv);
void write_thermo(output_file& csv, const thermo& t, double picoseconds);
void write_frame(output_file& xyz, const std::vector<atom_record>& atoms,
                 const std::string& element, const vec3& box, double picoseconds);

// Shows how far a run has come, on a terminal only; elsewhere it writes nothing.
class progress_bar {
 public:
  explicit progress_bar(std::uint64_t steps);
  ~progress_bar() { clear(); }
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  void show(std::uint64_t step);
  void clear();  // Makes room for other output.

 private:
  using clock = std::chrono::steady_clock;
  std::uint64_t steps_;
  bool on_terminal_, visible_ = false;
  clock::time_point start_ = clock::now(), shown_{};
};

// The line that fits best through the total energy.
class energy_trend {
 public:
  void add(double step, double energy);
  // Change of the fitted line over the samples' whole range, relative to the energy itself.
  double relative_drift() const;

 private:
  std::vector<double> steps_, energies_;
};

}  // namespace md
