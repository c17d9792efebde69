// The mailbox ring between two workers, alone: a message back and forth, and a stream of messages.
// The reader pauses between two looks, as a worker does.
#include "sync/record_ring.hpp"

#include "two_threads.hpp"

namespace {

constexpr std::size_t capacity = 64 * 1024;
using ring = weft::record_ring<>;

void push(ring& r, std::uint64_t value, std::size_t words) {
  ring::room room;
  while (!(room = r.try_reserve(8 * words))) bench::pause();
  for (std::size_t i = 0; i < words; ++i) room.payload()[i].store(value, std::memory_order_relaxed);
  r.publish(room, 1, 0);
}

std::uint64_t pop(ring& r, std::size_t words) {
  std::uint64_t header;
  while ((header = r.front()) == 0) bench::pause();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words; ++i) sum += r.payload()[i].load(std::memory_order_relaxed);
  r.pop(header);
  return sum;
}

}  // namespace

int main() {
  bench::raise_priority();
  bench::print_header();
  for (const std::size_t words : {1u, 7u, 64u}) {
    const std::string size = std::to_string(8 * words) + "B";
    ring there(capacity), back(capacity);
    bench::row(
        "record_ring/one_way/" + size,
        [&](long n) {
          for (long i = 0; i < n; ++i) {
            push(there, 1, words);
            (void)pop(back, words);
          }
        },
        [&](long n) {
          for (long i = 0; i < n; ++i) push(back, pop(there, words), words);
        },
        2);
    bench::row(
        "record_ring/stream/" + size,
        [&](long n) {
          for (long i = 0; i < n; ++i) push(there, 1, words);
          (void)pop(back, 1);
        },
        [&](long n) {
          for (long i = 0; i < n; ++i) (void)pop(there, words);
          push(back, 1, 1);
        },
        1);
  }
}
