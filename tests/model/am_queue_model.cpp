// The queue of active messages, in every schedule: what was written before a record is there with it, in order, at the
// ends of chunks and in chunks that are used again.
#include "shmem/am_queue.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "model/checker.hpp"

namespace weft::shmem {
namespace {

using model::scenario;
using record = basic_am_record<model_atomics>;
using payload = model_atomics::plain<int>;

constexpr std::size_t granule = 2 * sizeof(record);
static_assert(sizeof(payload) <= sizeof(record));

// Chunks with room for `Records`, which the checker knows.
template <std::size_t Records>
struct small_chunks {
  static constexpr std::size_t usual_bytes = Records * granule + sizeof(record);

  static void* make(std::size_t head_bytes, std::size_t bytes) {
    auto* const memory =
        static_cast<std::byte*>(::operator new (head_bytes + bytes, std::align_val_t{cache_line}));
    for_each(memory + head_bytes, bytes, [](record* r, bool has_payload) {
      ::new (r) record;
      if (has_payload) ::new (r->payload()) payload;
    });
    return memory;
  }
  static void end(void* memory, std::size_t head_bytes, std::size_t bytes) noexcept {
    for_each(static_cast<std::byte*>(memory) + head_bytes, bytes, [](record* r, bool has_payload) {
      if (has_payload) reinterpret_cast<payload*>(r->payload())->~payload();
      r->~record();
    });
    ::operator delete (memory, std::align_val_t{cache_line});
  }
  static void for_each(std::byte* first, std::size_t bytes,
                       const std::function<void(record*, bool)>& act) {
    for (std::size_t at = 0; at + sizeof(record) <= bytes; at += granule)
      act(reinterpret_cast<record*>(first + at), at + granule <= bytes);
  }
};

// A message whose parts have come one by one is published after those that were written behind it: `out_of_order`.
template <std::size_t Records>
model::setup messages(int count, bool out_of_order) {
  return [=] {
    using queue = basic_am_queue<model_atomics, small_chunks<Records>>;
    auto shared = std::make_shared<queue>();
    scenario scene;
    scene.threads.push_back([=] {
      const auto reserve = [&](int number) {
        record* r = shared->try_reserve(queue::record_bytes(0));
        if (r == nullptr) {
          shared->new_chunk(queue::chunk_bytes_for(queue::record_bytes(0)));
          r = shared->try_reserve(queue::record_bytes(0));
        }
        model::require(r != nullptr, "a new chunk has room");
        reinterpret_cast<payload*>(r->payload())->set(number);
        return r;
      };
      const auto publish = [&](record* r, int number) {
        shared->publish(*r, static_cast<std::uint32_t>(number), 0);
      };
      for (int i = 1; i <= count; ++i) {
        record* const first = reserve(i);
        if (out_of_order && i < count) {
          ++i;
          record* const second = reserve(i);
          publish(second, i);
          publish(first, i - 1);
        } else {
          publish(first, i);
        }
      }
    });
    scene.threads.push_back([=] {
      for (int i = 1; i <= count;) {
        model::wait_until([&] { return shared->has_record(); });
        std::size_t retired = 0;
        record* const r = shared->front(retired);
        if (r == nullptr) continue;  // It was the end of a chunk.
        model::require(r->word.hint() >> 32 == static_cast<std::uint64_t>(i), "in order");
        model::require(reinterpret_cast<payload*>(r->payload())->get() == i,
                       "with what was written before");
        shared->pop(queue::record_bytes(0));
        ++i;
      }
      model::require(!shared->has_record(), "and no more than were sent");
    });
    return scene;
  };
}

const std::vector<model::setup> scenarios{messages<1>(3, false), messages<2>(4, false),
                                          messages<2>(3, true)};

TEST(am_queue_model, in_every_schedule_messages_come_whole_and_in_order) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(am_queue_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft::shmem
