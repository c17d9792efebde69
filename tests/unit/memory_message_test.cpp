// What the fuzzer of messages of one-sided memory and active messages does, with a few inputs of a random generator: in every
// build, without clang.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "fuzz/memory_message_fuzz.cpp"

namespace weft {
namespace {

TEST(messages_of_memory, of_a_peer_that_sends_anything_neither_write_beyond_nor_hang) {
  const char* const jobs = std::getenv("TEST_JOBS");
  const char* const seed = std::getenv("TEST_SEED");
  std::mt19937 any(seed != nullptr ? static_cast<unsigned>(std::atoi(seed)) : 7);
  for (int left = jobs != nullptr ? std::atoi(jobs) : 300; left > 0; --left) {
    std::vector<std::uint8_t> input(any() % 1500 + 1);
    for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(any());
    testing::internal::CaptureStderr();  // What weft says of each bad peer.
    (void)LLVMFuzzerTestOneInput(input.data(), input.size());
    (void)testing::internal::GetCapturedStderr();
  }
}

}  // namespace
}  // namespace weft
