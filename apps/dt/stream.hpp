// What the nodes of a graph do with streams: random samples, sums, averages over windows, checksums. Without weft, since the MPI form
// of the program includes it. Every value follows from its place alone, by operations that no compiler may fuse or reorder, so the
// same bits come out whoever computes which part.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dt/graph.hpp"
#include "front/random_bits.hpp"

namespace dt {

using front::mixed;

// Values that are not there yet take no memory: a rank may have room for a stream long before it comes.
class stream {
 public:
  stream() = default;
  explicit stream(std::size_t size)
      : values_(std::make_unique_for_overwrite<double[]>(size)), size_(size) {}
  [[nodiscard]] std::span<double> values() { return {values_.get(), size_}; }
  [[nodiscard]] std::span<const double> values() const { return {values_.get(), size_}; }

 private:
  std::unique_ptr<double[]> values_;
  std::size_t size_ = 0;
};

// The sum of twelve uniform numbers: nearly normal, mean 6, deviation 1, never negative.
[[nodiscard]] inline double normal(std::uint64_t key) noexcept {
  double sum = 0;
  for (std::uint64_t k = 0; k < 12; ++k)
    sum += static_cast<double>(static_cast<std::int64_t>(mixed(key + k) >> 11)) * 0x1p-53;
  return sum;
}

// Of a source; `seed` names the run.
[[nodiscard]] inline std::uint64_t key_of(std::uint64_t seed, int source) noexcept {
  return mixed(seed ^ mixed(static_cast<std::uint64_t>(source)));
}

// The lengths of the streams that nodes send: a source's is random, that of another node the longest that it gets.
[[nodiscard]] inline std::vector<std::size_t> lengths_of(const graph& g, const graph_class& size,
                                                         std::uint64_t seed) {
  std::vector<std::size_t> lengths(g.nodes.size());
  for (int node = 0; node < g.size(); ++node) {
    std::size_t& length = lengths[static_cast<std::size_t>(node)];
    if (g.is_source(node))
      length = static_cast<std::size_t>(static_cast<double>(size.samples) +
                                        static_cast<double>(size.deviation) *
                                            (normal(mixed(key_of(seed, node))) - 6));
    for (const int from : g[node].from)
      length = std::max(length, lengths[static_cast<std::size_t>(from)]);
  }
  return lengths;
}

// How far a comparator's window reaches to each side.
[[nodiscard]] constexpr std::size_t reach_of(int node) noexcept {
  return 16 + static_cast<std::size_t>(node) % 16;
}

// The following compute the values [begin, end) of a stream.

inline void generate(std::span<double> out, std::uint64_t key, std::size_t begin,
                     std::size_t end) noexcept {
  for (std::size_t i = begin; i < end; ++i) out[i] = normal(key + 12 * i);
}

// The sum of streams, of which the shorter ones end with zeros.
inline void add(std::span<double> out, std::span<const stream> in, std::size_t begin,
                std::size_t end) noexcept {
  for (std::size_t k = 0; k < in.size(); ++k) {
    const std::span<const double> one = in[k].values();
    const std::size_t own_end = std::min(end, std::max(begin, one.size()));
    if (k == 0) {
      std::copy(one.begin() + static_cast<std::ptrdiff_t>(begin),
                one.begin() + static_cast<std::ptrdiff_t>(own_end),
                out.begin() + static_cast<std::ptrdiff_t>(begin));
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(own_end),
                out.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
    } else {
      for (std::size_t i = begin; i < own_end; ++i) out[i] += one[i];
    }
  }
}

// The mean over a window round each value; the stream is a ring, so their sum stays.
inline void average(std::span<double> out, std::span<const double> in, std::size_t reach,
                    std::size_t begin, std::size_t end) noexcept {
  const std::size_t size = in.size();
  const double share = 1.0 / static_cast<double>(2 * reach + 1);
  const std::size_t from = std::min(std::max(begin, reach), end);
  const std::size_t to = std::max(std::min(end, size - reach), from);
  const auto near_an_end = [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k <= 2 * reach; ++k) sum += in[(i + size - reach + k) % size];
    out[i] = sum * share;
  };
  for (std::size_t i = begin; i < from; ++i) near_an_end(i);
  // Blocks of values side by side: each is summed in the order of its window.
  constexpr std::size_t lanes = 16;
  std::size_t i = from;
  for (; i + lanes <= to; i += lanes) {
    double sums[lanes] = {};
    for (std::size_t k = 0; k <= 2 * reach; ++k)
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += in[i - reach + k + lane];
    for (std::size_t lane = 0; lane < lanes; ++lane) out[i + lane] = sums[lane] * share;
  }
  for (; i < end; ++i) near_an_end(i);
}

// What a sink, or a source, tells of a stream: the sum of its values, and a number that any other bit in it changes.
struct digest {
  double sum = 0;
  std::uint64_t hash = 0;
  friend digest operator+(const digest& a, const digest& b) {
    return {a.sum + b.sum, a.hash + b.hash};
  }
};

[[nodiscard]] inline digest digest_of(std::span<const double> values, std::uint64_t key,
                                      std::size_t begin, std::size_t end) noexcept {
  digest d;
  for (std::size_t i = begin; i < end; ++i) {
    d.sum += values[i];
    d.hash += mixed(std::bit_cast<std::uint64_t>(values[i]) ^ mixed(key + i));
  }
  return d;
}

}  // namespace dt
