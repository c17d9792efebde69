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

ofi_options over_tcp(protection how) {
  ofi_options options = parse_ofi_options("tcp@lo");
  options.protects = how;
  return options;
}

// Skipped where libfabric has no such provider, or where there is no libfabric.
contract_case over(const std::string& name, const std::string& provider, protection how) {
  ofi_options options = parse_ofi_options(provider);
  options.protects = how;
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
                         ::testing::Values(over("net", "net@lo", protection::none),
                                           over("tcp", "tcp@lo", protection::none),
                                           over("tcp_rxm", "tcp;ofi_rxm@lo", protection::none)),
                         contract_name);
INSTANTIATE_TEST_SUITE_P(ofi_authenticated, transport_contract,
                         ::testing::Values(over("net", "net@lo", protection::authenticate),
                                           over("tcp_rxm", "tcp;ofi_rxm@lo",
                                                protection::authenticate)),
                         contract_name);
INSTANTIATE_TEST_SUITE_P(ofi_encrypted, transport_contract,
                         ::testing::Values(over("net", "net@lo", protection::encrypt),
                                           over("tcp_rxm", "tcp;ofi_rxm@lo", protection::encrypt)),
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

// Nothing was ever sent to either, or came from it.
TEST(ofi, a_peer_that_leaves_as_dead_has_failed_for_all_that_watch_it_and_one_that_leaves_has_not) {
  if (ofi_providers().empty()) GTEST_SKIP() << "no libfabric";
  for (const protection how : {protection::none, protection::authenticate}) {
    tests::note_provider("tcp");
    std::vector<std::unique_ptr<transport>> ends;
    std::vector<std::vector<std::byte>> addresses;
    for (int i = 0; i < 3; ++i) {
      ends.push_back(make_ofi_transport(over_tcp(how)));
      addresses.push_back(ends.back()->address());
    }
    for (std::uint32_t i = 0; i < 3; ++i) {
      ends[i]->connect(addresses, i);
      for (std::uint32_t peer = 0; peer < 3; ++peer) ends[i]->watch_peer(peer);
    }
    ends[1]->leave_as_dead();
    recorder heard;
    bool one = false, other = false;
    const std::uint64_t end = now_ns() + 30'000'000'000;
    while ((!one || !other || heard.failures.empty()) && now_ns() < end) {
      one = one || ends[1]->shut_down();
      other = other || ends[2]->shut_down();
      (void)ends[0]->poll(heard, 16);
    }
    for (int i = 0; i < 1000; ++i) (void)ends[0]->poll(heard, 16);
    ASSERT_EQ(heard.failures.size(), 1u);
    EXPECT_EQ(heard.failures[0].first, 1u);
    EXPECT_NE(heard.failures[0].second.find("its job has failed"), std::string::npos)
        << heard.failures[0].second;
    EXPECT_EQ(ends[0]->send(1, {}, {}, nullptr), status::failed);
  }
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
    on_the_way = nullptr;
    tells_of_writes = true;
    holds_notes_back = false;
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
  // What becomes of each message that another endpoint sends, from now on: `pass` has it go to the first endpoint, as often
  // as it is called, later too.
  using passing = std::function<void(const bytes&)>;
  void handle(std::function<void(const bytes& message, const passing& pass)> how) {
    on_the_way = std::move(how);
  }
  // And what the transport itself sends, from now on.
  void hold_notes_back() { holds_notes_back = true; }
  // To the endpoint that was made second, by the first.
  static void return_to_sender(const bytes& message) {
    EXPECT_EQ(usual_of_endpoint->inject(first, message.data(), message.size(), 1), 0);
  }
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
    of_endpoint.sendmsg = &send_note;
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
    if (endpoint != first && on_the_way) {
      const auto* const begin = static_cast<const std::byte*>(buffer);
      // The first copy completes the send; of others the provider says nothing.
      bool completes = true;
      const auto pass = [=](const bytes& message) mutable {
        if (!std::exchange(completes, false)) {
          EXPECT_EQ(
              usual_of_endpoint->inject(endpoint, message.data(), message.size(), destination), 0);
          return;
        }
        const bytes& kept = sent.emplace_back(message);
        EXPECT_EQ(usual_of_endpoint->send(endpoint, kept.data(), kept.size(), descriptor,
                                          destination, context),
                  0);
      };
      on_the_way(bytes(begin, begin + size), pass);
      return 0;
    }
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

  static ssize_t send_note(fid_ep* endpoint, const fi_msg* message, std::uint64_t flags) {
    if (endpoint == first || !holds_notes_back)
      return usual_of_endpoint->sendmsg(endpoint, message, flags);
    return 0;
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
  static inline bool holds_notes_back;
  static inline int refused_writes;
  static inline std::function<void(bytes&)> change;
  static inline std::function<void(const bytes&, const passing&)> on_the_way;
  static inline std::deque<bytes> sent;  // The provider may still read them.
};

// Two endpoints over such a provider.
class ofi_pair : public ::testing::Test {
 protected:
  explicit ofi_pair(protection how = protection::none) : how_(how) {}
  static constexpr auto patience = std::chrono::seconds(60);

  void SetUp() override {
    if (ofi_providers().empty()) GTEST_SKIP() << "no libfabric";
    tests::note_provider("tcp");
    provider_.emplace();
    std::vector<std::vector<std::byte>> addresses;
    for (auto& endpoint : endpoints_) {
      endpoint = make_ofi_transport(over_tcp(how_));
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

  const protection how_;
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
                       return make_ofi_transport(over_tcp(protection::none));
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
      2, {}, tests::real_network([] { return make_ofi_transport(over_tcp(protection::none)); }));
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

// --- Sealed messages, and who stands between -------------------------------------------------------

class between : public ofi_pair, public ::testing::WithParamInterface<protection> {
 protected:
  using bytes = changed_provider::bytes;
  using passing = changed_provider::passing;
  between() : ofi_pair(GetParam()) {}

  static std::vector<std::byte> content(std::size_t number) { return contract_pattern(16, number); }
  void say(std::size_t number) {
    const auto payload = content(number);
    EXPECT_TRUE(eventually([&] {
      return endpoints_[1]->send(0, wire_header{}, std::array{std::span(payload)}, nullptr) !=
             status::retry;
    }));
  }
  // The first messages, and nothing else.
  void expect_heard(std::size_t count) {
    EXPECT_TRUE(eventually([&] { return heard_[0].messages.size() >= count; }));
    ASSERT_EQ(heard_[0].messages.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(heard_[0].messages[i].payload, content(i));
  }
  // The second endpoint counts as failed, since so many of its messages are missing.
  void expect_missed(std::size_t count) {
    EXPECT_TRUE(eventually([&] { return !heard_[0].failures.empty(); }));
    ASSERT_EQ(heard_[0].failures.size(), 1u);
    EXPECT_EQ(heard_[0].failures[0].first, 1u);
    EXPECT_EQ(heard_[0].failures[0].second,
              std::to_string(count) + " of its messages changed, held back or lost on the way");
  }
  void expect_refused(const std::vector<ofi_verdict>& verdicts) {
    EXPECT_TRUE(eventually([&] { return heard_[0].refusals.size() >= verdicts.size(); }));
    ASSERT_EQ(heard_[0].refusals.size(), verdicts.size());
    for (std::size_t i = 0; i < verdicts.size(); ++i)
      EXPECT_EQ(heard_[0].refusals[i].second, why_refused(verdicts[i]));
  }
  // The next message is handled so, and those behind it as usual.
  void handle_next(const std::function<void(const bytes&, const passing&)>& how) {
    provider_->handle([how, is_next = true](const bytes& message, const passing& pass) mutable {
      if (std::exchange(is_next, false)) return how(message, pass);
      pass(message);
    });
  }
  // Nothing need follow the message of which that byte is changed: a note does by itself.
  void expect_changed_at_is_missed(std::size_t at) {
    say(0);
    expect_heard(1);
    handle_next([at](const bytes& message, const passing& pass) {
      bytes changed = message;
      changed[at] ^= std::byte{0x40};
      pass(changed);
    });
    say(1);
    expect_missed(1);
    expect_refused({ofi_verdict::forged});
    expect_heard(1);
  }
};

TEST_P(between, who_changes_a_code_has_the_message_refused_and_missed) {
  expect_changed_at_is_missed(offsetof(ofi_sealed_envelope, code));
}
TEST_P(between, who_changes_a_header_has_the_message_refused_and_missed) {
  expect_changed_at_is_missed(sizeof(ofi_sealed_envelope) + 3);
}
TEST_P(between, who_changes_data_has_the_message_refused_and_missed) {
  expect_changed_at_is_missed(sizeof(ofi_sealed_envelope) + sizeof(wire_header) + 15);
}

TEST_P(between, who_changes_the_envelope_has_the_message_refused_and_missed) {
  say(0);
  expect_heard(1);
  handle_next([](const bytes& message, const passing& pass) {
    bytes changed = message;
    ++reinterpret_cast<ofi_sealed_envelope*>(changed.data())->number;
    pass(changed);
  });
  say(1);
  say(2);
  expect_missed(1);
  expect_refused({ofi_verdict::forged});
  expect_heard(1);
}

TEST_P(between, who_cuts_a_message_off_or_appends_to_it_has_it_refused_and_missed) {
  say(0);
  expect_heard(1);
  provider_->handle([is_next = true](const bytes& message, const passing& pass) mutable {
    bytes changed = message;
    changed.resize(message.size() + (std::exchange(is_next, false) ? -1 : 1));
    pass(changed);
  });
  say(1);
  say(2);
  expect_missed(2);
  expect_refused({ofi_verdict::forged, ofi_verdict::forged});
  expect_heard(1);
}

TEST_P(between, who_sends_messages_again_has_the_copies_refused_and_the_others_come) {
  say(0);
  expect_heard(1);
  bytes first;
  provider_->handle([&](const bytes& message, const passing& pass) {
    if (first.empty()) first = message;
    pass(message);
    pass(message);
    pass(first);
  });
  say(1);
  say(2);
  expect_refused(
      {ofi_verdict::repeated, ofi_verdict::repeated, ofi_verdict::repeated, ofi_verdict::repeated});
  expect_heard(3);
  EXPECT_TRUE(heard_[0].failures.empty());
}

TEST_P(between, who_holds_a_message_back_has_it_missed) {
  say(0);
  expect_heard(1);
  handle_next([](const bytes&, const passing&) {});
  say(1);
  expect_missed(1);
  expect_heard(1);
}

// The notes as well: then the other side says how much has come. It takes 10 s.
TEST_P(between, who_holds_everything_back_one_way_is_told_of_by_the_other_side) {
  if (GetParam() == protection::encrypt) GTEST_SKIP() << "as with authenticated messages";
  say(0);
  expect_heard(1);
  EXPECT_TRUE(eventually(
      [&] { return endpoints_[0]->send(1, wire_header{}, {}, nullptr) != status::retry; }));
  provider_->hold_notes_back();
  provider_->handle([](const bytes&, const passing&) {});
  say(1);
  say(2);
  EXPECT_TRUE(eventually([&] { return !heard_[1].failures.empty(); }));
  ASSERT_EQ(heard_[1].failures.size(), 1u);
  EXPECT_EQ(heard_[1].failures[0].first, 0u);
  EXPECT_NE(heard_[1].failures[0].second.find("messages to it held back on the way"),
            std::string::npos)
      << heard_[1].failures[0].second;
  expect_heard(1);
  EXPECT_TRUE(heard_[0].failures.empty());
}

TEST_P(between, who_changes_the_order_has_a_message_missed) {
  say(0);
  expect_heard(1);
  bytes held;
  passing pass_held;
  handle_next([&](const bytes& message, const passing& pass) {
    held = message;
    pass_held = pass;
  });
  say(1);
  say(2);
  expect_missed(1);
  pass_held(held);
  for (int i = 0; i < 1000; ++i)
    for (std::size_t each = 0; each < 2; ++each) endpoints_[each]->poll(heard_[each], 16);
  expect_heard(1);
}

TEST_P(between, who_returns_a_message_to_its_sender_has_it_refused) {
  say(0);
  expect_heard(1);
  // So that there is a connection the other way.
  EXPECT_TRUE(eventually(
      [&] { return endpoints_[0]->send(1, wire_header{}, {}, nullptr) != status::retry; }));
  EXPECT_TRUE(eventually([&] { return heard_[1].messages.size() == 1; }));
  handle_next([](const bytes& message, const passing& pass) {
    changed_provider::return_to_sender(message);
    pass(message);
  });
  say(1);
  expect_heard(2);
  EXPECT_TRUE(eventually([&] { return !heard_[1].refusals.empty(); }));
  EXPECT_EQ(heard_[1].refusals[0].second, why_refused(ofi_verdict::forged));
  EXPECT_EQ(heard_[1].messages.size(), 1u);
  EXPECT_TRUE(heard_[0].failures.empty() && heard_[1].failures.empty());
}

TEST_P(between, who_makes_up_messages_has_them_refused) {
  say(0);
  expect_heard(1);
  handle_next([&](const bytes& message, const passing& pass) {
    pass(message);
    bytes made = message;
    // The next one, as far as who knows no key can make it.
    ++reinterpret_cast<ofi_sealed_envelope*>(made.data())->number;
    pass(made);
  });
  say(1);
  expect_refused({ofi_verdict::forged});
  say(2);
  expect_heard(3);
  EXPECT_TRUE(heard_[0].failures.empty());
}

TEST_P(between, who_reads_sees_data_only_where_they_are_not_encrypted_and_never_a_key) {
  say(0);
  expect_heard(1);
  std::vector<bytes> seen;
  provider_->handle([&](const bytes& message, const passing& pass) {
    seen.push_back(message);
    pass(message);
  });
  say(1);
  expect_heard(2);
  ASSERT_EQ(seen.size(), 1u);
  const auto payload = content(1);
  const bool is_readable = !std::ranges::search(seen[0], payload).empty();
  EXPECT_EQ(is_readable, GetParam() == protection::authenticate);
  EXPECT_EQ(endpoints_[0]->traits().protects, GetParam());
  // No memory is open to whoever names it.
  std::vector<std::byte> memory(64);
  memory_region region = endpoints_[0]->register_memory(memory, peer_access::read_and_write);
  EXPECT_EQ(region.handle, nullptr);
  EXPECT_FALSE(endpoints_[0]->traits().can_put || endpoints_[0]->traits().can_get);
}

INSTANTIATE_TEST_SUITE_P(ofi, between,
                         ::testing::Values(protection::authenticate, protection::encrypt),
                         [](const auto& one) {
                           return std::string(one.param == protection::encrypt ? "encrypted"
                                                                               : "authenticated");
                         });

// The numbers by which other peers than these two know each other: the keys of a third endpoint open nothing.
TEST(ofi, an_endpoint_whose_address_was_replaced_is_not_believed) {
  if (ofi_providers().empty()) GTEST_SKIP() << "no libfabric";
  tests::note_provider("tcp");
  std::array<std::unique_ptr<transport>, 3> endpoints;
  for (auto& each : endpoints) each = make_ofi_transport(over_tcp(protection::authenticate));
  // The second one believes to speak with the first; the first has been told the third one's keys instead of the second's.
  const std::vector<std::vector<std::byte>> of_first{endpoints[0]->address(),
                                                     endpoints[2]->address()};
  const std::vector<std::vector<std::byte>> of_second{endpoints[0]->address(),
                                                      endpoints[1]->address()};
  endpoints[0]->connect(of_first, 0);
  endpoints[1]->connect(of_second, 1);
  recorder first, second;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool is_sent = false;
  while (first.refusals.empty() && std::chrono::steady_clock::now() < end) {
    if (!is_sent) is_sent = endpoints[1]->send(0, wire_header{}, {}, nullptr) == status::done;
    endpoints[0]->poll(first, 16);
    endpoints[1]->poll(second, 16);
  }
  ASSERT_FALSE(first.refusals.empty());
  EXPECT_EQ(first.refusals[0].second, why_refused(ofi_verdict::forged));
  EXPECT_TRUE(first.messages.empty());
}

TEST(ofi, messages_are_authenticated_where_a_network_lets_others_in) {
  for (const ofi_provider& each : ofi_providers()) {
    tests::note_provider(each.name);
    if (each.domain != "lo" && each.name != "shm") continue;
    const auto endpoint = make_ofi_transport({.provider = each.name, .domain = each.domain});
    EXPECT_EQ(endpoint->traits().protects,
              each.name == "shm" ? protection::none : protection::authenticate)
        << each.name;
  }
}

}  // namespace
}  // namespace weft
