// The contract over libfabric: its tcp engines on the loopback interface.
#include "transport/ofi/ofi.hpp"

#include <algorithm>

#include "provider_leaks.hpp"
#include "unit/transport_contract.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

// Skipped where libfabric has no such provider, or where there is no libfabric.
contract_case over(const std::string& name, const std::string& provider) {
  const ofi_options options = parse_ofi_options(provider);
  const auto providers = ofi_providers();
  const bool exists = std::ranges::any_of(providers, [&](const ofi_provider& each) {
    return each.name == options.provider && each.domain == options.domain;
  });
  return {.name = name,
          .make =
              [options](std::size_t count) {
                tests::note_provider(options.provider);
                std::vector<std::unique_ptr<transport>> endpoints;
                for (std::size_t i = 0; i < count; ++i)
                  endpoints.push_back(make_ofi_transport(options));
                return endpoints;
              },
          .endpoints_max = exists ? 8u : 0u};
}

INSTANTIATE_TEST_SUITE_P(ofi, transport_contract,
                         ::testing::Values(over("net", "net@lo"), over("tcp", "tcp@lo"),
                                           over("tcp_rxm", "tcp;ofi_rxm@lo")),
                         contract_name);

TEST(ofi, options_name_a_provider_and_an_interface) {
  EXPECT_EQ(parse_ofi_options("").provider, "");
  EXPECT_EQ(parse_ofi_options("tcp").provider, "tcp");
  EXPECT_EQ(parse_ofi_options("tcp@eth0").provider, "tcp");
  EXPECT_EQ(parse_ofi_options("tcp@eth0").domain, "eth0");
}

TEST(ofi, a_provider_that_does_not_exist_is_refused_with_those_that_do) {
  try {
    (void)make_ofi_transport({.provider = "carrier-pigeon", .domain = {}});
    FAIL() << "made";
  } catch (const error& refused) {
    const std::string text = refused.what();
    for (const ofi_provider& each : ofi_providers())
      EXPECT_NE(text.find(each.name), std::string::npos) << text;
  }
}

TEST(ofi, providers_that_reach_other_hosts_come_first) {
  const auto providers = ofi_providers();
  EXPECT_TRUE(std::ranges::is_partitioned(
      providers, [](const ofi_provider& each) { return each.reaches_other_hosts; }));
}

TEST(ofi, an_address_that_is_not_one_is_refused_and_an_absent_one_is_not_reached) {
  if (ofi_providers().empty()) GTEST_SKIP() << "no libfabric";
  tests::note_provider("tcp");
  const auto one = make_ofi_transport(parse_ofi_options("tcp@lo"));
  std::vector<std::vector<std::byte>> addresses{one->address(), {}};
  one->connect(addresses, 0);
  EXPECT_TRUE(one->reaches(0));
  EXPECT_FALSE(one->reaches(1));
  const auto other = make_ofi_transport(parse_ofi_options("tcp@lo"));
  addresses = {other->address(), other->address()};
  addresses[1].pop_back();
  EXPECT_THROW(other->connect(addresses, 0), error);
}

}  // namespace
}  // namespace weft
