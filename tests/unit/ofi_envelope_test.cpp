// What is believed of the bytes that come over libfabric.
#include "transport/ofi/envelope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace weft {
namespace {

constexpr std::uint64_t key = 0x0123456789abcdef;
constexpr std::size_t header_bytes = sizeof(wire_header);

std::vector<std::byte> bytes(const ofi_envelope& envelope, std::size_t behind) {
  std::vector<std::byte> made(sizeof envelope + behind);
  std::memcpy(made.data(), &envelope, sizeof envelope);
  return made;
}

// At an endpoint of a job of three, which has had `received` messages of endpoint 1 and none of others.
ofi_arrival judged(std::span<const std::byte> what, std::uint32_t received = 0) {
  return judge(what, key, 3, [&](std::uint32_t sender) {
    EXPECT_LT(sender, 3u);
    return sender == 1 ? received : 0;
  });
}

TEST(ofi_envelope, of_the_next_message_is_accepted_with_any_payload) {
  for (const std::size_t payload : {0, 1, 100, 70'000}) {
    const ofi_arrival next = judged(bytes({key, 1, 7}, header_bytes + payload), 7);
    EXPECT_EQ(next.verdict, ofi_verdict::message);
    EXPECT_EQ(next.sender, 1u);
  }
  EXPECT_EQ(judged(bytes({key, 1, 0xffffffff}, header_bytes), 0xffffffff).verdict,
            ofi_verdict::message);
}

TEST(ofi_envelope, before_one_byte_is_of_a_note) {
  EXPECT_EQ(judged(bytes({key, 1, 7}, 1), 7).verdict, ofi_verdict::note);
}

TEST(ofi_envelope, that_is_cut_off_or_before_nothing_is_refused) {
  for (std::size_t size = 0; size <= sizeof(ofi_envelope); ++size) {
    // On the heap, so that a sanitizer sees a read behind the end.
    std::vector<std::byte> whole = bytes({key, 1, 0}, 0);
    const std::vector<std::byte> part(whole.begin(),
                                      whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(judged(part).verdict, ofi_verdict::no_envelope) << size;
  }
}

TEST(ofi_envelope, of_a_sender_behind_the_table_is_refused_before_it_is_looked_up) {
  for (const std::uint32_t sender : {3u, 4u, 0x7fffffffu, 0xffffffffu})
    EXPECT_EQ(judged(bytes({key, sender, 0}, header_bytes)).verdict, ofi_verdict::unknown_sender);
  EXPECT_EQ(judged(bytes({key, 2, 0}, header_bytes)).verdict, ofi_verdict::message);
}

TEST(ofi_envelope, with_any_other_key_is_refused_whatever_its_sequence) {
  for (int bit = 0; bit < 64; ++bit)
    for (const std::uint32_t sequence : {0u, 7u, 8u}) {
      const auto forged = bytes({key ^ std::uint64_t{1} << bit, 1, sequence}, header_bytes);
      EXPECT_EQ(judged(forged, 7).verdict, ofi_verdict::foreign);
      EXPECT_EQ(judged(forged, 7).sender, 1u);
    }
}

TEST(ofi_envelope,
     with_a_number_that_has_come_is_refused_and_one_ahead_tells_how_many_are_missing) {
  for (const std::uint32_t behind : {1u, 2u, 0x80000000u})
    for (const std::uint32_t received : {7u, 0u})
      EXPECT_EQ(judged(bytes({key, 1, received - behind}, header_bytes), received).verdict,
                ofi_verdict::repeated);
  for (const std::uint32_t ahead : {1u, 2u, 0x7fffffffu})
    for (const std::uint32_t received : {7u, 0xffffffffu}) {
      const ofi_arrival later = judged(bytes({key, 1, received + ahead}, header_bytes), received);
      EXPECT_EQ(later.verdict, ofi_verdict::gap);
      EXPECT_EQ(later.ahead, ahead);
    }
}

TEST(ofi_envelope, before_less_than_a_header_is_refused) {
  for (std::size_t behind = 2; behind < header_bytes; ++behind)
    EXPECT_EQ(judged(bytes({key, 1, 7}, behind), 7).verdict, ofi_verdict::no_header) << behind;
}

TEST(ofi_envelope, that_is_refused_has_a_reason_of_its_own_and_no_other_has_one) {
  for (const ofi_verdict accepted : {ofi_verdict::message, ofi_verdict::note, ofi_verdict::gap})
    EXPECT_EQ(why_refused(accepted), nullptr);
  std::vector<std::string> reasons;
  for (const ofi_verdict refused :
       {ofi_verdict::no_envelope, ofi_verdict::unknown_sender, ofi_verdict::foreign,
        ofi_verdict::forged, ofi_verdict::repeated, ofi_verdict::no_header,
        ofi_verdict::too_long}) {
    ASSERT_NE(why_refused(refused), nullptr);
    for (const std::string& other : reasons) EXPECT_NE(other, why_refused(refused));
    reasons.emplace_back(why_refused(refused));
  }
}

// --- Sealed messages -----------------------------------------------------------------------------

// The code of endpoint 1 for its message `number`, for whom this test takes the place of libcrypto.
std::array<std::byte, seal_code_bytes> code_of(std::uint32_t sender, std::uint64_t number) {
  std::array<std::byte, seal_code_bytes> code{};
  std::memcpy(code.data(), &number, sizeof number);
  std::memcpy(code.data() + sizeof number, &sender, sizeof sender);
  code[12] = std::byte{0x5e};
  return code;
}

std::vector<std::byte> sealed(std::uint32_t sender, std::uint64_t number, std::size_t behind) {
  const ofi_sealed_envelope envelope{sender, static_cast<std::uint32_t>(number),
                                     code_of(sender, number)};
  std::vector<std::byte> made(sizeof envelope + behind);
  std::memcpy(made.data(), &envelope, sizeof envelope);
  return made;
}

ofi_arrival judged_sealed(std::vector<std::byte> what, std::uint64_t received = 0) {
  return judge_sealed(
      what, 3,
      [&](std::uint32_t sender) {
        EXPECT_LT(sender, 3u);
        return sender == 1 ? received : 0;
      },
      [&](std::uint32_t sender, std::uint64_t number, std::span<std::byte> message,
          const std::byte* code) {
        EXPECT_EQ(message.size(), what.size() - sizeof(ofi_sealed_envelope));
        return std::ranges::equal(std::span(code, seal_code_bytes), code_of(sender, number));
      });
}

constexpr std::uint64_t wraps = std::uint64_t{1} << 32;

TEST(ofi_sealed_envelope, of_the_next_message_is_accepted_also_where_32_bits_are_not_enough) {
  for (const std::uint64_t next : {std::uint64_t{0}, std::uint64_t{7}, wraps - 1, wraps, wraps + 7})
    for (const std::size_t payload : {0, 1, 70'000}) {
      const ofi_arrival arrived = judged_sealed(sealed(1, next, header_bytes + payload), next);
      EXPECT_EQ(arrived.verdict, ofi_verdict::message) << next;
      EXPECT_EQ(arrived.sender, 1u);
    }
  EXPECT_EQ(judged_sealed(sealed(1, 7, ofi_sealed_note_bytes), 7).verdict, ofi_verdict::note);
  EXPECT_EQ(judged_sealed(sealed(1, 7, 1), 7).verdict, ofi_verdict::no_header);
}

TEST(ofi_sealed_envelope, whose_code_is_wrong_is_refused_whatever_else_it_says) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{6}, std::uint64_t{7}, wraps})
    for (const std::size_t behind : {std::size_t{1}, ofi_sealed_note_bytes, header_bytes}) {
      auto forged = sealed(1, number, behind);
      forged[8] ^= std::byte{1};
      EXPECT_EQ(judged_sealed(forged, 7).verdict, ofi_verdict::forged);
      EXPECT_EQ(judged_sealed(forged, 7).sender, 1u);
    }
}

TEST(ofi_sealed_envelope, says_which_messages_are_missing_only_with_a_code) {
  for (const std::uint64_t received : {std::uint64_t{7}, wraps - 1, wraps + 1}) {
    EXPECT_EQ(judged_sealed(sealed(1, received - 1, header_bytes), received).verdict,
              ofi_verdict::repeated);
    const ofi_arrival later = judged_sealed(sealed(1, received + 3, header_bytes), received);
    EXPECT_EQ(later.verdict, ofi_verdict::gap);
    EXPECT_EQ(later.ahead, 3u);
    // 2^32 messages later or before the number looks the same, and the code does not.
    EXPECT_EQ(judged_sealed(sealed(1, received + wraps, header_bytes), received).verdict,
              ofi_verdict::forged);
  }
}

TEST(ofi_sealed_envelope, that_is_cut_off_or_of_a_sender_behind_the_table_is_refused) {
  for (std::size_t size = 0; size <= sizeof(ofi_sealed_envelope); ++size) {
    std::vector<std::byte> whole = sealed(1, 0, 0);
    const std::vector<std::byte> part(whole.begin(),
                                      whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(judged_sealed(part).verdict, ofi_verdict::no_envelope) << size;
  }
  for (const std::uint32_t sender : {3u, 0x7fffffffu, 0xffffffffu})
    EXPECT_EQ(judged_sealed(sealed(sender, 0, header_bytes)).verdict, ofi_verdict::unknown_sender);
}

}  // namespace
}  // namespace weft
