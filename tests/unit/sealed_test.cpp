// Messages that only their two endpoints can have made.
#include "transport/sealed/sealed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "weft/error.hpp"

namespace weft {
namespace {

using bytes = std::vector<std::byte>;

bytes text(std::string_view of) {
  const auto all = std::as_bytes(std::span(of));
  return {all.begin(), all.end()};
}

struct sealed_message {
  bytes message;
  std::array<std::byte, seal_code_bytes> code{};
};

// Two endpoints, the numbers 0 and 1 of their table, and what each says to the other.
struct endpoints {
  explicit endpoints(protection how)
      : first(keys[0].channel_with(keys[1].told(), 0, 1, how)),
        second(keys[1].channel_with(keys[0].told(), 1, 0, how)) {}
  std::array<key_pair, 2> keys;
  std::unique_ptr<sealed_channel> first, second;
};

sealed_message sealed_by(sealed_channel& by, std::uint64_t number, bytes message) {
  sealed_message made{std::move(message), {}};
  EXPECT_TRUE(by.seal(number, made.message, made.code.data()));
  return made;
}

// What comes out; empty: it was refused.
bytes opened_by(sealed_channel& by, std::uint64_t number, sealed_message what) {
  return by.open(number, what.message, what.code.data()) ? what.message : bytes{};
}

bool have_libcrypto() {
  try {
    const key_pair any;
    return true;
  } catch (const error&) {
    return false;
  }
}

class sealed : public ::testing::TestWithParam<protection> {
 protected:
  void SetUp() override {
    if (!have_libcrypto()) GTEST_SKIP() << "no libcrypto";
  }
};

TEST_P(sealed, messages_of_every_size_are_opened_by_their_receiver_both_ways) {
  endpoints all(GetParam());
  std::uint64_t number = 0;
  for (const std::size_t size : {1, 8, 15, 16, 17, 32, 1000, 4096, 67'000})
    for (const auto& [from, to] : {std::pair{all.first.get(), all.second.get()},
                                   std::pair{all.second.get(), all.first.get()}}) {
      bytes message(size);
      for (std::size_t i = 0; i < size; ++i) message[i] = static_cast<std::byte>(i * 7 + number);
      EXPECT_EQ(opened_by(*to, number, sealed_by(*from, number, message)), message) << size;
      ++number;
    }
}

TEST_P(sealed, messages_are_readable_on_the_way_only_where_they_are_not_encrypted) {
  endpoints all(GetParam());
  const bytes message = text("the rank's own secret, which is long enough to be found");
  const sealed_message made = sealed_by(*all.first, 5, message);
  EXPECT_EQ(made.message == message, GetParam() == protection::authenticate);
  if (GetParam() == protection::authenticate) return;
  // Not even whether two are equal.
  const sealed_message again = sealed_by(*all.first, 6, message);
  EXPECT_NE(made.message, again.message);
  EXPECT_EQ(std::ranges::search(made.message, std::span(message).first(4)).size(), 0u);
}

TEST_P(sealed, messages_of_which_a_bit_is_changed_are_refused) {
  endpoints all(GetParam());
  const bytes message = text("0123456789abcdef-and-some");
  const sealed_message made = sealed_by(*all.first, 0, message);
  for (std::size_t bit = 0; bit < 8 * made.message.size(); ++bit) {
    sealed_message changed = made;
    changed.message[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_TRUE(opened_by(*all.second, 0, changed).empty()) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * seal_code_bytes; ++bit) {
    sealed_message changed = made;
    changed.code[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_TRUE(opened_by(*all.second, 0, changed).empty()) << bit;
  }
  for (const std::size_t size : {std::size_t{1}, message.size() - 1, message.size() + 1}) {
    sealed_message changed = made;
    changed.message.resize(size);
    EXPECT_TRUE(opened_by(*all.second, 0, changed).empty()) << size;
  }
  EXPECT_EQ(opened_by(*all.second, 0, made), message) << "the others have changed nothing here";
}

TEST_P(sealed, messages_have_their_number_and_no_other) {
  endpoints all(GetParam());
  const bytes message = text("number seven");
  const sealed_message made = sealed_by(*all.first, 7, message);
  for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{6}, std::uint64_t{8},
                                    7 + (std::uint64_t{1} << 32), ~std::uint64_t{0}})
    EXPECT_TRUE(opened_by(*all.second, other, made).empty()) << other;
  EXPECT_EQ(opened_by(*all.second, 7, made), message);
}

TEST_P(sealed, messages_that_come_back_to_their_sender_are_refused) {
  endpoints all(GetParam());
  EXPECT_TRUE(opened_by(*all.first, 0, sealed_by(*all.first, 0, text("mine"))).empty());
}

TEST_P(sealed, messages_of_other_endpoints_with_other_keys_or_other_numbers_are_refused) {
  endpoints all(GetParam());
  const key_pair stranger;
  const bytes message = text("believe me");
  const auto forging = stranger.channel_with(all.keys[1].told(), 0, 1, GetParam());
  EXPECT_TRUE(opened_by(*all.second, 0, sealed_by(*forging, 0, message)).empty());
  // The right keys, for another place of the table.
  const auto displaced = all.keys[0].channel_with(all.keys[1].told(), 2, 1, GetParam());
  EXPECT_TRUE(opened_by(*all.second, 0, sealed_by(*displaced, 0, message)).empty());
  // And for another protection.
  const auto weaker = all.keys[0].channel_with(
      all.keys[1].told(), 0, 1,
      GetParam() == protection::encrypt ? protection::authenticate : protection::encrypt);
  EXPECT_TRUE(opened_by(*all.second, 0, sealed_by(*weaker, 0, message)).empty());
}

// Whoever may choose both sides' "public" keys could otherwise choose the secret.
TEST_P(sealed, keys_that_lead_to_a_secret_which_everybody_knows_are_no_keys) {
  const key_pair own;
  public_key weak{};
  EXPECT_THROW((void)own.channel_with(weak, 0, 1, GetParam()), error);
  weak[0] = std::byte{1};
  EXPECT_THROW((void)own.channel_with(weak, 0, 1, GetParam()), error);
}

INSTANTIATE_TEST_SUITE_P(all, sealed,
                         ::testing::Values(protection::authenticate, protection::encrypt),
                         [](const auto& one) {
                           return std::string(one.param == protection::encrypt ? "encrypted"
                                                                               : "authenticated");
                         });

}  // namespace
}  // namespace weft
