// How weft moves the streams of a wave.
#pragma once
#include <cstddef>
#include <span>
#include <vector>
#include <weft/weft.hpp>

namespace dt {

class stream_peers {
 public:
  explicit stream_peers(const weft::communicator& ranks) : ranks_(ranks) {}
  void receive(std::span<double> into, int from) { ranks_.recv(into, from, 0); }
  void send(std::span<const double> values, std::span<const int> to) {
    std::vector<weft::request> sent;
    for (const int one : to) sent.push_back(ranks_.isend(values, one, 0));
    weft::wait_all(sent);
  }

 private:
  const weft::communicator& ranks_;
};

}  // namespace dt
