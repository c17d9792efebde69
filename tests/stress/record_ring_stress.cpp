#include "sync/record_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "stress/stress.hpp"

namespace weft {
namespace {

TEST(record_ring_stress, records_of_random_sizes_arrive_whole_and_in_order) {
  const stress::run run;
  record_ring<> ring(1024);
  std::uint64_t sent = 0, received = 0;
  std::atomic<bool> over{false};
  const auto producer = [&] {
    auto random = run.random(0);
    while (run.time_left()) {
      const std::size_t size = random() % (max_record_payload(1024) + 1);
      const auto room = ring.try_reserve(size);
      if (!room) {
        std::this_thread::yield();
        continue;
      }
      std::memset(static_cast<void*>(room.payload()), static_cast<int>(sent % 251), size);
      ring.publish(room, 7, static_cast<std::uint32_t>(sent));
      ++sent;
    }
    over = true;
  };
  const auto consumer = [&] {
    for (;;) {
      const bool last = over;
      const std::uint64_t header = ring.front();
      if (header == 0) {
        if (last) return;
        std::this_thread::yield();
        continue;
      }
      const record_header record{header};
      EXPECT_EQ(record.kind(), 7);
      EXPECT_EQ(record.target(), static_cast<std::uint32_t>(received));
      const auto* bytes = reinterpret_cast<const unsigned char*>(ring.payload());
      for (std::size_t i = 0; i < record.size(); ++i) {
        if (bytes[i] != received % 251) ADD_FAILURE() << "byte " << i << " of " << received;
      }
      ring.pop(header);
      ++received;
    }
  };
  stress::run::together({producer, consumer});
  EXPECT_GT(sent, 0u);
  EXPECT_EQ(sent, received);
}

}  // namespace
}  // namespace weft
