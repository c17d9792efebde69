// A stress test on real threads: for a bounded time, from a seed that it prints and takes from the
// environment variable WEFT_SEED.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace weft::stress {

class run {
 public:
  run() {
    if (const char* given = std::getenv("WEFT_SEED"); given != nullptr)
      seed_ = std::strtoull(given, nullptr, 0);
    std::printf("WEFT_SEED=%llu\n", static_cast<unsigned long long>(seed_));
  }

  [[nodiscard]] bool time_left() const { return std::chrono::steady_clock::now() < end_; }
  // Random numbers for one thread.
  [[nodiscard]] std::minstd_rand random(std::size_t thread) const {
    return std::minstd_rand(static_cast<std::uint_fast32_t>(seed_ + thread * 7919 + 1));
  }
  // Runs all bodies at once and returns when they have ended.
  static void together(const std::vector<std::function<void()>>& bodies) {
    std::vector<std::jthread> threads;
    for (const auto& body : bodies) threads.emplace_back(body);
  }

 private:
  std::uint64_t seed_ = std::random_device{}();
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

}  // namespace weft::stress
