// How weft moves the faces and blocks of weft-amr.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>
#include <weft/weft.hpp>

namespace amr {

class rank_peers {
 public:
  explicit rank_peers(const weft::communicator& ranks) : ranks_(ranks) {}
  [[nodiscard]] int rank() const { return ranks_.rank(); }
  [[nodiscard]] int size() const { return ranks_.size(); }

  void post(std::span<const double> values, int to) {
    posted_.push_back(ranks_.isend(values, to, 0));
  }
  void receive(std::span<double> into, int from) { ranks_.recv(into, from, 0); }
  void finish() {
    weft::wait_all(posted_);
    posted_.clear();
  }

  void sum(std::span<double> values) { ranks_.allreduce(values, std::plus<>{}); }
  [[nodiscard]] std::uint64_t sum(std::uint64_t value) {
    return ranks_.allreduce(value, std::plus<>{});
  }
  [[nodiscard]] double max(double value) { return ranks_.allreduce(value, weft::max{}); }

 private:
  weft::communicator ranks_;
  std::vector<weft::request> posted_;
};

}  // namespace amr
