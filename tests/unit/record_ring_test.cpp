#include "sync/record_ring.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace weft {
namespace {

template <class Ring>
bool send(Ring& ring, const std::string& text, std::uint32_t target) {
  const auto room = ring.try_reserve(text.size());
  if (!room) return false;
  std::memcpy(static_cast<void*>(room.payload()), text.data(), text.size());
  ring.publish(room, 3, target);
  return true;
}

template <class Ring>
std::string receive(Ring& ring) {
  const std::uint64_t header = ring.front();
  if (header == 0) return "nothing";
  std::string text(record_header{header}.size(), '?');
  std::memcpy(text.data(), static_cast<const void*>(ring.payload()), text.size());
  ring.pop(header);
  return text;
}

TEST(record_ring, a_header_word_keeps_size_kind_and_target) {
  const record_header header{record_header::pack(0xabcdef, 254, 0x89abcdef)};
  EXPECT_EQ(header.size(), 0xabcdefu);
  EXPECT_EQ(header.kind(), 254);
  EXPECT_EQ(header.target(), 0x89abcdefu);
}

TEST(record_ring, records_of_every_size_come_out_whole_and_in_order) {
  record_ring<> ring(1024);
  EXPECT_EQ(ring.front(), 0u);
  for (std::size_t size = 0; size <= max_record_payload(1024); ++size) {
    const std::string text(size, static_cast<char>('a' + size % 26));
    ASSERT_TRUE(send(ring, text, 5)) << size;
    ASSERT_TRUE(send(ring, "x", 6));
    EXPECT_EQ(record_header{ring.front()}.target(), 5u);
    EXPECT_EQ(receive(ring), text);
    EXPECT_EQ(record_header{ring.front()}.target(), 6u);
    EXPECT_EQ(receive(ring), "x");
    EXPECT_EQ(receive(ring), "nothing");
  }
}

template <class Ring, class Before>
void send_and_receive_records_of_all_lengths(Ring& ring, const Before& before) {
  std::size_t sent = 0;
  std::size_t received = 0;
  const auto text = [&](std::size_t number) {
    return std::string(number / 3 * 37 % (max_record_payload(1024) + 1),
                       static_cast<char>('a' + number % 26));
  };
  for (int round = 0; round < 2000; ++round) {
    for (before(round); send(ring, text(sent), 5); before(round)) ++sent;
    for (int i = 0; i <= round % 5 && received < sent; ++i) {
      ASSERT_EQ(receive(ring), text(received));
      ++received;
    }
  }
  EXPECT_GT(received, 4000u);
}

// Through several laps, with fillers at the end of the memory.
TEST(record_ring, seems_empty_while_nothing_was_sent) {
  record_ring<> ring(256);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(ring.seems_empty()) << i;
    ASSERT_TRUE(send(ring, std::string(40, 'a'), 2)) << i;
    EXPECT_FALSE(ring.seems_empty()) << i;
    ASSERT_EQ(receive(ring), std::string(40, 'a')) << i;
  }
}

TEST(record_ring, clearing_ahead_harms_no_record) {
  record_ring<std_atomics, 256> ring(1024);
  send_and_receive_records_of_all_lengths(ring, [](int) {});
}

TEST(record_ring, preparing_answers_harms_no_record) {
  record_ring<> ring(1024);
  send_and_receive_records_of_all_lengths(ring, [&](int round) {
    if (round % 3 != 0) ring.expect_answer(record_header::pack(8, 5, 0));
  });
}

TEST(record_ring, a_record_without_room_is_refused_and_nothing_is_lost) {
  record_ring<> ring(256);
  int sent = 0;
  while (send(ring, std::to_string(sent), 0)) ++sent;
  EXPECT_GT(sent, 1);
  EXPECT_FALSE(send(ring, "one more", 0));
  for (int i = 0; i < sent; ++i) EXPECT_EQ(receive(ring), std::to_string(i));
  EXPECT_EQ(receive(ring), "nothing");
  EXPECT_TRUE(send(ring, "again", 0));
  EXPECT_EQ(receive(ring), "again");
}

TEST(record_ring, two_small_records_share_a_cache_line) {
  record_ring<> ring(1024);
  ASSERT_TRUE(send(ring, "8 bytes", 0));
  const auto* first = ring.payload();
  ASSERT_TRUE(send(ring, "8 bytes", 0));
  ring.pop(ring.front());
  ASSERT_NE(ring.front(), 0u);
  const auto line = [](const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) / cache_line;
  };
  EXPECT_EQ(line(first), line(ring.payload()));
}

}  // namespace
}  // namespace weft
