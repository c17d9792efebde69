// The contract over libfabric: its tcp engines on the loopback interface.
#include "transport/ofi/ofi.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "cluster.hpp"
#include "provider_leaks.hpp"
#include "transport/ofi/envelope.hpp"
#include "transport/ofi/fabric.hpp"
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

// --- A provider that the test changes ------------------------------------------------------------

// While it lives, endpoints are made of which the first may be refused receive buffers, and what the
// others send may be changed on the way.
class changed_provider {
 public:
  changed_provider() : library_(const_cast<fabric_library&>(libfabric())) {
    usual_fabric = std::exchange(library_.fabric, &open_fabric);
    refusal = 0;
    first = nullptr;
    change = nullptr;
    tells_of_writes = true;
    refused_writes = 0;
    sent.clear();
  }
  ~changed_provider() { library_.fabric = usual_fabric; }
  changed_provider(const changed_provider&) = delete;
  changed_provider& operator=(const changed_provider&) = delete;

  // Of the endpoint that was made first, from now on; 0: as ever.
  void set(int error) { refusal = error; }
  // The next message that another endpoint sends.
  using bytes = std::vector<std::byte>;
  void change_next(std::function<void(bytes&)> how) { change = std::move(how); }
  // From now on writes with immediate data are refused, as cxi does, which has it of messages only.
  void tell_of_no_writes() { tells_of_writes = false; }
  [[nodiscard]] int writes_refused() const { return refused_writes; }

 private:
  // Each object of libfabric makes the next one by a table of functions, of which it gets a copy.
  static int open_fabric(fi_fabric_attr* attributes, fid_fabric** made, void* context) {
    const int result = usual_fabric(attributes, made, context);
    if (result != 0) return result;
    usual_of_fabric = (*made)->ops;
    of_fabric = *usual_of_fabric;
    of_fabric.domain = &open_domain;
    (*made)->ops = &of_fabric;
    return 0;
  }
  static int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** made, void* context) {
    const int result = usual_of_fabric->domain(fabric, info, made, context);
    if (result != 0) return result;
    usual_of_domain = (*made)->ops;
    of_domain = *usual_of_domain;
    of_domain.endpoint = &open_endpoint;
    (*made)->ops = &of_domain;
    return 0;
  }
  static int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** made, void* context) {
    const int result = usual_of_domain->endpoint(domain, info, made, context);
    if (result != 0 || info->ep_attr->type != FI_EP_RDM) return result;  // The provider's own.
    usual_of_endpoint = (*made)->msg;
    of_endpoint = *usual_of_endpoint;
    of_endpoint.recv = &receive;
    of_endpoint.send = &send;
    (*made)->msg = &of_endpoint;
    usual_of_memory = (*made)->rma;
    of_memory = *usual_of_memory;
    of_memory.writemsg = &write;
    (*made)->rma = &of_memory;
    if (first == nullptr) first = *made;
    return 0;
  }
  static ssize_t receive(fid_ep* endpoint, void* buffer, std::size_t size, void* descriptor,
                         fi_addr_t source, void* context) {
    if (endpoint == first && refusal != 0) return -refusal;
    return usual_of_endpoint->recv(endpoint, buffer, size, descriptor, source, context);
  }
  static ssize_t send(fid_ep* endpoint, const void* buffer, std::size_t size, void* descriptor,
                      fi_addr_t destination, void* context) {
    if (endpoint == first || !change)
      return usual_of_endpoint->send(endpoint, buffer, size, descriptor, destination, context);
    const auto* const begin = static_cast<const std::byte*>(buffer);
    bytes& changed = sent.emplace_back(begin, begin + size);
    change(changed);
    const ssize_t said = usual_of_endpoint->send(endpoint, changed.data(), changed.size(),
                                                 descriptor, destination, context);
    if (said == 0) change = nullptr;
    return said;
  }

  static ssize_t write(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
    if (tells_of_writes || (flags & FI_REMOTE_CQ_DATA) == 0)
      return usual_of_memory->writemsg(endpoint, message, flags);
    ++refused_writes;
    return -FI_EBADFLAGS;
  }

  fabric_library& library_;
  static inline decltype(&::fi_fabric) usual_fabric;
  static inline fi_ops_fabric* usual_of_fabric;
  static inline fi_ops_domain* usual_of_domain;
  static inline fi_ops_msg* usual_of_endpoint;
  static inline fi_ops_rma* usual_of_memory;
  static inline fi_ops_fabric of_fabric;
  static inline fi_ops_domain of_domain;
  static inline fi_ops_msg of_endpoint;
  static inline fi_ops_rma of_memory;
  static inline int refusal;
  static inline fid_ep* first;
  static inline bool tells_of_writes;
  static inline int refused_writes;
  static inline std::function<void(bytes&)> change;
  static inline std::deque<bytes> sent;  // The provider may still read them.
};

// Two endpoints over such a provider.
class ofi_pair : public ::testing::Test {
 protected:
  static constexpr auto patience = std::chrono::seconds(60);

  void SetUp() override {
    if (ofi_providers().empty()) GTEST_SKIP() << "no libfabric";
    tests::note_provider("tcp");
    provider_.emplace();
    std::vector<std::vector<std::byte>> addresses;
    for (auto& endpoint : endpoints_) {
      endpoint = make_ofi_transport(parse_ofi_options("tcp@lo"));
      addresses.push_back(endpoint->address());
    }
    for (std::uint32_t i = 0; i < 2; ++i) endpoints_[i]->connect(addresses, i);
  }

  [[nodiscard]] bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      for (std::size_t i = 0; i < 2; ++i) endpoints_[i]->poll(heard_[i], 16);
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }
  void send_to_first(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_TRUE(eventually(
          [&] { return endpoints_[1]->send(0, wire_header{}, {}, nullptr) != status::retry; }));
  }
  void expect_first_hears(std::size_t count) {
    EXPECT_TRUE(eventually([&] { return heard_[0].messages.size() == count; }));
  }
  [[nodiscard]] bool first_may_sleep() {
    const bool armed = endpoints_[0]->arm();
    endpoints_[0]->disarm();
    return armed;
  }
  void expect_first_has_lost_its_peer(const std::string& why) {
    EXPECT_TRUE(eventually([&] { return !heard_[0].failures.empty(); }));
    ASSERT_EQ(heard_[0].failures.size(), 1u);
    EXPECT_EQ(heard_[0].failures[0].first, 1u);
    EXPECT_EQ(heard_[0].failures[0].second,
              "libfabric takes no receive buffers any more here: " + why);
    EXPECT_TRUE(eventually([&] { return first_may_sleep(); }));
  }

  std::optional<changed_provider> provider_;
  std::array<std::unique_ptr<transport>, 2> endpoints_;
  std::array<recorder, 2> heard_;
};

using refused_receives = ofi_pair;

TEST_F(refused_receives, are_tried_again_and_an_endpoint_with_others_sleeps_meanwhile) {
  provider_->set(FI_EAGAIN);
  send_to_first(1);
  expect_first_hears(1);
  EXPECT_TRUE(eventually([&] { return first_may_sleep(); }));
  send_to_first(ofi_receive_buffers - 1);
  expect_first_hears(ofi_receive_buffers);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(first_may_sleep());
  provider_->set(0);
  send_to_first(2 * ofi_receive_buffers);
  expect_first_hears(3 * ofi_receive_buffers);
  EXPECT_TRUE(eventually([&] { return first_may_sleep(); }));
  EXPECT_TRUE(heard_[0].failures.empty());
}

TEST_F(refused_receives, fail_all_peers_once_when_none_is_left_and_the_refusal_is_for_good) {
  provider_->set(FI_EOPBADSTATE);
  send_to_first(ofi_receive_buffers - 1);
  expect_first_hears(ofi_receive_buffers - 1);
  EXPECT_TRUE(heard_[0].failures.empty());
  send_to_first(1);
  expect_first_hears(ofi_receive_buffers);
  expect_first_has_lost_its_peer(libfabric().strerror(FI_EOPBADSTATE));
}

TEST_F(refused_receives, fail_all_peers_when_later_never_comes) {
  provider_->set(FI_EAGAIN);
  send_to_first(ofi_receive_buffers);
  expect_first_hears(ofi_receive_buffers);
  expect_first_has_lost_its_peer(libfabric().strerror(FI_EAGAIN));
}

TEST(ofi, an_endpoint_that_gets_no_receive_buffers_at_all_is_not_made) {
  if (ofi_providers().empty()) GTEST_SKIP() << "no libfabric";
  tests::note_provider("tcp");
  changed_provider provider;
  provider.set(FI_EOPBADSTATE);
  EXPECT_THROW((void)make_ofi_transport(parse_ofi_options("tcp@lo")), error);
}

// --- A provider that has immediate data of messages, and none of writes ---------------------------

TEST(ofi, a_message_is_written_where_the_provider_tells_of_no_writes) {
  if (ofi_providers().empty()) GTEST_SKIP() << "no libfabric";
  tests::note_provider("tcp");
  changed_provider provider;
  provider.tell_of_no_writes();
  const std::vector<std::byte> message = contract_pattern(1'000'000, 7);
  std::vector<std::byte> got(message.size());
  std::array<comm::synchronizer, 2> sent, received;
  tests::cluster job(2, {.rendezvous = comm::rendezvous_protocol::write}, tests::real_network([] {
                       return make_ofi_transport(parse_ofi_options("tcp@lo"));
                     }));
  for (std::size_t i = 0; i < 2; ++i) {
    std::ranges::fill(got, std::byte{0});
    ASSERT_EQ(post_recv(job.device(1), 0, got, comm::with::local(received[i])), status::posted);
    ASSERT_EQ(job.insist([&] {
      return post_send(job.device(0), {1}, message, comm::with::local(sent[i]));
    }),
              status::posted);
    ASSERT_TRUE(job.until([&] { return sent[i].test() && received[i].test(); }));
    EXPECT_EQ(sent[i].events()[0].result, comm::outcome::complete);
    EXPECT_EQ(received[i].events()[0].result, comm::outcome::complete);
    EXPECT_EQ(got, message);
  }
  EXPECT_EQ(provider.writes_refused(), 1) << "asked once";
}

// --- Messages that no endpoint of the job sends ---------------------------------------------------

class forged_messages : public ofi_pair {
 protected:
  using bytes = changed_provider::bytes;
  using forgery = std::function<void(bytes&)>;

  // The first endpoint refuses a message that was changed so as one of `peer`, tells that once, and
  // hears those that follow. `is_counted`: the forged message had the number that it was the turn of.
  void expect_refused(const forgery& change, ofi_verdict verdict, std::uint32_t peer,
                      bool is_counted) {
    provider_->change_next(change);
    send_to_first(1);
    EXPECT_TRUE(eventually([&] { return !heard_[0].refusals.empty(); }));
    ASSERT_EQ(heard_[0].refusals.size(), 1u);
    EXPECT_EQ(heard_[0].refusals[0].first, peer);
    EXPECT_EQ(heard_[0].refusals[0].second, why_refused(verdict));
    EXPECT_TRUE(heard_[0].messages.empty());
    for (int i = 0; i < 2; ++i) {
      // The sender has counted it.
      if (!is_counted)
        provider_->change_next([](bytes& message) {
          with_envelope(message, [](ofi_envelope& envelope) { --envelope.sequence; });
        });
      send_to_first(1);
    }
    expect_first_hears(2);
    EXPECT_EQ(heard_[0].refusals.size(), 1u);
    EXPECT_TRUE(heard_[0].failures.empty());
  }
  template <class Change>
  static void with_envelope(bytes& message, const Change& change) {
    ofi_envelope envelope;
    std::memcpy(&envelope, message.data(), sizeof envelope);
    change(envelope);
    std::memcpy(message.data(), &envelope, sizeof envelope);
  }
};

TEST_F(forged_messages, without_an_envelope_are_refused_as_nobodys) {
  expect_refused([](bytes& message) { message.resize(sizeof(ofi_envelope)); },
                 ofi_verdict::no_envelope, 0, false);
}

TEST_F(forged_messages, of_an_unknown_sender_are_refused_as_nobodys) {
  expect_refused(
      [](bytes& message) {
        with_envelope(message, [](ofi_envelope& envelope) { envelope.sender = 2; });
      },
      ofi_verdict::unknown_sender, 0, false);
}

TEST_F(forged_messages, with_another_key_are_refused) {
  expect_refused(
      [](bytes& message) {
        with_envelope(message, [](ofi_envelope& envelope) { envelope.key ^= 1; });
      },
      ofi_verdict::foreign, 1, false);
}

TEST_F(forged_messages, that_come_twice_are_refused) {
  expect_refused(
      [](bytes& message) {
        with_envelope(message, [](ofi_envelope& envelope) { --envelope.sequence; });
      },
      ofi_verdict::repeated, 1, false);
}

TEST_F(forged_messages, without_a_header_are_refused_and_have_a_number) {
  expect_refused(
      [](bytes& message) { message.resize(sizeof(ofi_envelope) + sizeof(wire_header) - 1); },
      ofi_verdict::no_header, 1, true);
}

TEST(ofi, a_forged_message_is_counted_and_reported_by_the_core) {
  if (ofi_providers().empty()) GTEST_SKIP() << "no libfabric";
  tests::note_provider("tcp");
  changed_provider provider;
  tests::cluster job(
      2, {}, tests::real_network([] { return make_ofi_transport(parse_ofi_options("tcp@lo")); }));
  tests::mailbox box;
  comm::handler_id handler;
  for (int p = 0; p < 2; ++p) handler = job[p].register_handler(box);
  provider.change_next([](changed_provider::bytes& message) { message[0] ^= std::byte{1}; });
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(job.insist([&] { return post_am(job.device(1), {0}, handler, {}); }), status::done);
  EXPECT_TRUE(job.until([&] { return job.device(0).statistics().refused != 0; }));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(
                "process 0 device 0: a message of process 1 device 0 was refused: a message that "
                "is not of this job"),
            std::string::npos);
  EXPECT_EQ(job.device(0).statistics().refused, 1u);
  EXPECT_TRUE(box.messages.empty());
}

// Each device has spoken to all of the other process: a farewell waits for its peer to take it, which a device does only
// while its runtime ends all of its devices by turns.
TEST(ofi, runtimes_of_several_devices_end_without_waiting_for_each_other) {
  if (ofi_providers().empty()) GTEST_SKIP() << "no libfabric";
  tests::note_provider("tcp");
  comm::runtime_options how;
  how.devices = 2;
  std::uint64_t shortest_ns = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 3 && shortest_ns >= farewell_ns; ++attempt) {
    tests::cluster job(2, how, tests::real_network([] {
                         return make_ofi_transport(parse_ofi_options("tcp@lo"));
                       }));
    tests::mailbox box;
    comm::handler_id handler;
    for (int p = 0; p < 2; ++p) handler = job[p].register_handler(box);
    for (int p = 0; p < 2; ++p)
      for (int from = 0; from < 2; ++from)
        for (int to = 0; to < 2; ++to)
          ASSERT_EQ(job.insist([&] {
            return post_am(job.device(p, from), {1 - p, to}, handler, {});
          }),
                    status::done);
    ASSERT_TRUE(job.until([&] { return box.messages.size() == 8; }));
    const std::uint64_t begin = now_ns();
    {
      std::vector<std::jthread> ending;
      for (auto& each : job.cores) ending.emplace_back([&each] { each.reset(); });
    }
    shortest_ns = std::min(shortest_ns, now_ns() - begin);
  }
  EXPECT_LT(shortest_ns, farewell_ns);
}

TEST_F(forged_messages, longer_than_a_buffer_are_refused_as_nobodys) {
  expect_refused([](bytes& message) { message.resize(2 * ofi_message_bytes); },
                 ofi_verdict::too_long, 0, false);
}

}  // namespace
}  // namespace weft
