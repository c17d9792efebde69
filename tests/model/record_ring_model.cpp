#include "sync/record_ring.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

// 256 bytes are eight granules. The first records lead `start` granules into the ring before the
// threads begin, so that few further ones reach its end.
template <class ring_type>
std::shared_ptr<ring_type> ring_with(std::size_t start) {
  auto ring = std::make_shared<ring_type>(256);
  for (std::size_t i = 0; i < start; ++i) {
    ring->publish(ring->try_reserve(8), 1, 0);
    ring->pop(ring->front());
  }
  return ring;
}

// Each record follows something that has come from the consumer.
struct answering : record_ring<model_atomics> {
  using record_ring::record_ring;
  room try_reserve(std::size_t size) noexcept {
    expect_answer(record_header::pack(size, 1, 0));
    return record_ring::try_reserve(size);
  }
};

// The producer sends `sizes`, each payload word tells its record; the consumer must find them in
// order and unharmed. Payloads are copied by plain accesses.
template <class ring_type = record_ring<model_atomics>>
model::setup transfer(std::size_t start, std::vector<std::size_t> sizes) {
  return [=] {
    auto ring = ring_with<ring_type>(start);
    const auto produce = [=] {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        typename ring_type::room room;
        while (!(room = ring->try_reserve(sizes[i]))) model::pause();
        for (std::size_t w = 0; w < sizes[i] / 8; ++w) room.payload()[w].set(100 * (i + 1) + w);
        ring->publish(room, 2, static_cast<std::uint32_t>(i));
      }
    };
    const auto consume = [=] {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        std::uint64_t header;
        while ((header = ring->front()) == 0) model::pause();
        const record_header record{header};
        model::require(record.size() == sizes[i], "the size that was sent");
        model::require(record.kind() == 2, "the kind that was sent");
        model::require(record.target() == i, "records in the order they were sent");
        for (std::size_t w = 0; w < sizes[i] / 8; ++w)
          model::require(ring->payload()[w].get() == 100 * (i + 1) + w,
                         "the payload that was sent");
        ring->pop(header);
      }
      model::require(ring->front() == 0, "nothing behind the last record");
    };
    return scenario{.threads = {produce, consume}};
  };
}

const std::vector<model::setup> scenarios{
    transfer(0, {8, 16}),        // Two records share a line.
    transfer(7, {40, 8}),        // A filler up to the ring's end.
    transfer(3, {40, 8}),        // A filler up to the line's end.
    transfer(0, {120, 120, 8}),  // The last overwrites the first.
    transfer(0, {72, 72, 72}),   // The same behind a filler up to the ring's end.
};

// Nothing is asked for beyond what is cleared, so that the check before it is as narrow as it may be.
using ahead = record_ring<model_atomics, 64, 0>;

const std::vector<model::setup> scenarios_ahead{
    transfer<ahead>(7, {40, 8}),       transfer<ahead>(3, {8, 40}),
    transfer<ahead>(0, {120, 120, 8}),  // Into what the consumer has given back.
    transfer<ahead>(0, {184, 8}),       // Up to the oldest record.
    transfer<ahead>(0, {216, 8}),       // It would be into the oldest record.
};

const std::vector<model::setup> scenarios_answering{
    transfer<answering>(0, {8, 8, 8}),      // Each is prepared for.
    transfer<answering>(1, {40, 40, 8}),    // The last is another one than was prepared for.
    transfer<answering>(0, {40, 8, 8, 8}),  // The last but one ends where a longer one would have.
    transfer<answering>(
        0, {72, 8, 72}),  // Into what the consumer has given back, as far as that goes.
    transfer<answering>(0, {8, 72, 8}),  // Over the word that was cleared.
};

TEST(record_ring_model, every_schedule_delivers_all_records_in_order) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(record_ring_model, every_schedule_delivers_all_records_when_it_clears_ahead) {
  const std::string failures = model::failures(scenarios_ahead, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(record_ring_model, every_schedule_delivers_all_records_when_it_prepares_answers) {
  const std::string failures = model::failures(scenarios_answering, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(record_ring_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
  EXPECT_EQ(model::unneeded_places(scenarios_ahead, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
