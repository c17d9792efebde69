// What a replay of a run says of it: on what its end hangs, who made others wait, what would make it shorter.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "breakdown/record.hpp"
#include "breakdown/replay.hpp"

namespace weft::breakdown {

inline constexpr std::array<double, 3> losses_borne{0.01, 0.02, 0.05};
inline constexpr std::array<int, 5> reductions_replayed{10, 30, 50, 70, 90};  // Per cent.

struct run_summary {
  double recorded_seconds = 0;
  double replayed_seconds = 0;
  std::uint64_t missing = 0;  // Events before, which were overwritten.
  std::vector<place_cost> critical_path, delays;
  // The gain of the run, in per cent, when a part takes so many per cent less.
  struct gains {
    std::string part;
    bool is_transfer = false;
    std::array<double, reductions_replayed.size()> percent{};
  };
  std::vector<gains> what_if;
  // How many seconds more each message may take until the run takes so much longer; infinite: any time.
  std::array<double, losses_borne.size()> tolerance_seconds{};
};

// Looks at `parts_max` places that compute, the longest on the critical path first.
[[nodiscard]] run_summary summarise_run(const pattern& p, const replay& again,
                                        std::uint64_t missing, std::size_t parts_max = 5);
// Reads an event file of the run that `of` is the record of; throws weft::error when it is none.
[[nodiscard]] run_summary read_run_summary(const std::string& events, const record& of);

[[nodiscard]] std::string text_of(const run_summary& s);
[[nodiscard]] std::string json_of(const run_summary& s);

}  // namespace weft::breakdown
