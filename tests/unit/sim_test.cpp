#include "transport/sim/sim.hpp"

#include "base/format.hpp"
#include "unit/transport_contract.hpp"

namespace weft {
namespace {

// A fresh fabric for each test, which the test's kill function shares.
contract_case sim_case(const std::string& name, const sim_options& options) {
  auto fabric = std::make_shared<std::unique_ptr<sim_fabric>>();
  return {.name = name,
          .make =
              [=](std::size_t count) {
                *fabric = std::make_unique<sim_fabric>(options);
                std::vector<std::unique_ptr<transport>> made;
                for (std::size_t i = 0; i < count; ++i) made.push_back((*fabric)->make_endpoint());
                return made;
              },
          .kill = [=](std::size_t number) { (*fabric)->kill(static_cast<std::uint32_t>(number)); }};
}

std::vector<contract_case> sim_cases() {
  std::vector<contract_case> cases;
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    cases.push_back(sim_case("seed_" + std::to_string(seed), {.seed = seed}));
  cases.push_back(sim_case("queue_of_one", {.queue_capacity = 1}));
  cases.push_back(sim_case("refusals", {.refusals_percent = 50}));
  cases.push_back(sim_case("at_once", {.delay_polls_max = 0}));
  cases.push_back(sim_case("late", {.delay_polls_max = 100, .inject_bytes_max = 0}));
  cases.push_back(sim_case("short_messages", {.message_bytes_max = 1024}));
  cases.push_back(sim_case("no_put_or_get", {.can_put = false, .can_get = false}));
  cases.push_back(sim_case("put_that_tells", {.refusals_percent = 30, .can_tell_put = true}));
  cases.push_back(sim_case("registration", {.needs_registration = true}));
  return cases;
}

INSTANTIATE_TEST_SUITE_P(sim, transport_contract, ::testing::ValuesIn(sim_cases()), contract_name);

// Two senders talk to endpoint 0; what it hears, as text.
std::string conversation(std::uint64_t seed, std::uint64_t dies_after) {
  sim_fabric fabric({.seed = seed, .queue_capacity = 4});
  std::vector<std::unique_ptr<transport>> endpoints;
  std::vector<std::vector<std::byte>> addresses;
  for (int i = 0; i < 3; ++i) endpoints.push_back(fabric.make_endpoint());
  for (const auto& endpoint : endpoints) addresses.push_back(endpoint->address());
  for (std::uint32_t i = 0; i < 3; ++i) endpoints[i]->connect(addresses, i);
  fabric.kill_after(2, dies_after);
  recorder heard;
  for (int i = 0; i < 100; ++i) {
    for (std::size_t from : {1u, 2u}) {
      wire_header header;
      header.tag = static_cast<std::uint64_t>(i);
      (void)endpoints[from]->send(0, header, {}, nullptr);
    }
    endpoints[0]->poll(heard, 3);
  }
  std::string text;
  for (const auto& message : heard.messages)
    text += formatted("{}:{} ", message.peer, message.header.tag);
  return text + formatted("failed {}", heard.failures.size());
}

TEST(sim, the_same_seed_replays_the_same_run_and_another_seed_another) {
  EXPECT_EQ(conversation(1, 1000), conversation(1, 1000));
  EXPECT_NE(conversation(1, 1000), conversation(2, 1000));
}

TEST(sim, messages_of_different_senders_overtake_each_other) {
  const std::string heard = conversation(3, 1000);
  const auto place = [&](const std::string& what) { return heard.find(what); };
  bool first_wins = false;
  bool second_wins = false;
  for (int i = 0; i < 5; ++i) {
    const bool first = place(formatted("1:{} ", i)) < place(formatted("2:{} ", i));
    (first ? first_wins : second_wins) = true;
  }
  EXPECT_TRUE(first_wins && second_wins) << heard;
}

TEST(sim, a_peer_that_dies_after_some_messages_is_told_as_failed) {
  const std::string heard = conversation(1, 5);
  EXPECT_NE(heard.find("failed 1"), std::string::npos) << heard;
  EXPECT_EQ(heard.find("2:5 "), std::string::npos) << heard;
}

}  // namespace
}  // namespace weft
