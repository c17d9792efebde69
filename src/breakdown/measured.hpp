// A message that has been measured stage by stage: its components, what they sum up to, and what a run
// without probes took. weft-breakdown measure makes it, what-if, model and report read it from its file.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "breakdown/model.hpp"

namespace weft::breakdown {

// How samples lie, in nanoseconds.
struct distribution {
  static constexpr int steps = 20;
  double mean = 0;  // The longest are left out: something else had the core (longest_kept).
  double deviation = 0;
  std::uint64_t samples = 0;
  std::uint64_t left_out = 0;
  std::array<double, steps + 1> quantiles{};  // 0, 5, ... 100 %.
};
// Nanoseconds. A stage may well take several times its median, where a cache line is elsewhere; an
// interrupt takes longer than that.
[[nodiscard]] double longest_kept(double median) noexcept;
[[nodiscard]] distribution distribution_of(std::vector<double> ns);

struct measured_part {
  std::string name;
  std::string level;  // high, low, network or test; misc of what no level has.
  std::string meaning;
  distribution ns;
};

struct measured_sum {
  std::vector<measured_part> parts;
  distribution observed;
  // With misc, if there is such a part: then it is what all take together, measured as a whole, and its error tells what the
  // stamps change, not whether the stages are right.
  [[nodiscard]] double modelled() const noexcept;
  // Without misc: what the stages predict, each measured alone.
  [[nodiscard]] double of_stages() const noexcept;
  [[nodiscard]] bool has_misc() const noexcept;
  // In per cent of what was observed.
  [[nodiscard]] double error_percent() const noexcept;
  [[nodiscard]] double error_percent_of_stages() const noexcept;
};

struct measured_window {
  int messages = 1;
  double modelled = 0, observed = 0;  // Nanoseconds for each of its messages.
};

struct measured {
  std::string face, transport, host, processor;
  std::uint64_t bytes = 0;
  int rounds = 0;
  distribution overhead;  // What a pair of time stamps takes; it has been subtracted.
  measured_sum injection, latency;
  distribution interval;        // Between two messages of a window where they are taken.
  bool is_on_one_core = false;  // Both sides are.
  std::vector<measured_window> windows;

  [[nodiscard]] double post() const noexcept;  // What the poster is busy with for a message.
  [[nodiscard]] double completion()
      const noexcept;  // The time from its end until an answer can be there.
  [[nodiscard]] double posts_min() const noexcept;  // So many hide a completion.
  // From one message of a window to the next: they come as fast as the slower side lets them, and on one core both
  // sides have their turn.
  [[nodiscard]] double gap() const noexcept;
  // The model: a window is answered as a whole. The way there and back is that of one message; the others follow by gaps.
  [[nodiscard]] double in_window(int messages) const noexcept;
};

[[nodiscard]] std::string text_of(const measured& m);
[[nodiscard]] std::string csv_of(const measured& m);
[[nodiscard]] std::string json_of(const measured& m);
// Whether a file of components is one that measure has written, rather than lines "name = ns".
[[nodiscard]] bool is_measured(std::string_view text) noexcept;
// Throws weft::error of one line that names file, member and what is allowed.
[[nodiscard]] measured read_measured(std::string_view text, std::string_view file);

// Its parts and levels, each with its share of either sum.
[[nodiscard]] std::vector<improvement> improvements_of(const measured& m);

}  // namespace weft::breakdown
