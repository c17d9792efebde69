// Strangers: who has found the port of an endpoint, speaks libfabric, or TCP, and knows no key. What
// docs/transports.md says of them is tried here over each provider, with messages that are sealed and with keys alone.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.hpp"
#include "provider_leaks.hpp"
#include "transport/ofi/address.hpp"
#include "transport/ofi/envelope.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/ofi.hpp"
#include "unit/transport_contract.hpp"
#include "weft/error.hpp"

namespace weft {

// Its recorder is used here; what it tests is in ofi_test.cpp.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(transport_contract);

namespace {

using clock_type = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{60};

// An endpoint of the same provider that is of no job.
class stranger {
 public:
  stranger(const ofi_options& options, std::span<const std::byte> target)
      : info_(choose_fabric(options)) {
    info_->tx_attr->op_flags = 0;
    fid_fabric* fabric = nullptr;
    check_fabric(libfabric().fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
    fabric_.reset(fabric);
    fid_domain* domain = nullptr;
    check_fabric(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain");
    domain_.reset(domain);
    fi_av_attr table = {};
    table.type = FI_AV_TABLE;
    fid_av* addresses = nullptr;
    check_fabric(fi_av_open(domain, &table, &addresses, nullptr), "fi_av_open");
    addresses_.reset(addresses);
    fi_cq_attr attributes = {};
    attributes.format = FI_CQ_FORMAT_DATA;
    attributes.size = 256;
    attributes.wait_obj = FI_WAIT_NONE;
    fid_cq* queue = nullptr;
    check_fabric(fi_cq_open(domain, &attributes, &queue, nullptr), "fi_cq_open");
    queue_.reset(queue);
    fid_ep* endpoint = nullptr;
    check_fabric(fi_endpoint(domain, info_.get(), &endpoint, nullptr), "fi_endpoint");
    endpoint_.reset(endpoint);
    check_fabric(fi_ep_bind(endpoint, &addresses->fid, 0), "fi_ep_bind");
    check_fabric(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check_fabric(fi_enable(endpoint), "fi_enable");
    if (fi_av_insert(addresses, target.data(), 1, &target_, 0, nullptr) != 1)
      throw error("the stranger cannot name its victim");
  }

  // Begins it: false when the provider takes nothing now. Progress is made by has_ended().
  bool begin(bool is_write, std::span<std::byte> local, std::uint64_t key, std::uint64_t offset,
             const std::uint64_t* told = nullptr) {
    iovec here = {local.data(), local.size()};
    fi_rma_iov there = {offset, local.size(), key};
    fi_msg_rma message = {};
    void* descriptor = nullptr;
    message.msg_iov = &here;
    message.desc = &descriptor;
    // Of nothing there is no place whose key could be wrong.
    message.iov_count = local.empty() ? 0 : 1;
    message.addr = target_;
    message.rma_iov = &there;
    message.rma_iov_count = message.iov_count;
    message.context = &context_;
    if (told != nullptr) message.data = *told;
    const long said = is_write ? fi_writemsg(endpoint_.get(), &message,
                                             FI_COMPLETION | FI_DELIVERY_COMPLETE |
                                                 (told != nullptr ? FI_REMOTE_CQ_DATA : 0))
                               : fi_readmsg(endpoint_.get(), &message, FI_COMPLETION);
    return said == 0;
  }
  bool send(std::span<const std::byte> bytes) {
    return fi_send(endpoint_.get(), bytes.data(), bytes.size(), nullptr, target_, &context_) == 0;
  }
  enum class end : std::uint8_t { none, done, failed };
  end has_ended() {
    fi_cq_data_entry entry;
    const ssize_t found = fi_cq_read(queue_.get(), &entry, 1);
    if (found == 1) return end::done;
    if (found != -FI_EAVAIL) return end::none;
    fi_cq_err_entry error = {};
    (void)fi_cq_readerr(queue_.get(), &error, 0);
    return end::failed;
  }

 private:
  fabric_info info_;
  fabric_handle<fid_fabric> fabric_;
  fabric_handle<fid_domain> domain_;
  fabric_handle<fid_av> addresses_;
  fabric_handle<fid_cq> queue_;
  fabric_handle<fid_ep> endpoint_;
  fi_addr_t target_ = FI_ADDR_NOTAVAIL;
  fi_context2 context_ = {};
};

struct victim {
  const char* provider;
  protection protects;
};

class strangers : public ::testing::TestWithParam<victim> {
 protected:
  void SetUp() override {
    options_ = parse_ofi_options(GetParam().provider);
    options_.protects = GetParam().protects;
    if (std::ranges::none_of(ofi_providers(), [&](const ofi_provider& each) {
          return each.name == options_.provider && each.domain == options_.domain;
        }))
      GTEST_SKIP() << "libfabric has no " << GetParam().provider;
    tests::note_provider(options_.provider);
    std::vector<std::vector<std::byte>> addresses;
    for (auto& endpoint : endpoints_) {
      endpoint = make_ofi_transport(options_);
      addresses.push_back(endpoint->address());
    }
    for (std::uint32_t i = 0; i < 2; ++i) endpoints_[i]->connect(addresses, i);
    address_ = ofi_address::unpacked(addresses[0])->bytes;
  }
  // By turns, as a process does: a farewell waits for its peer to take it.
  void TearDown() override {
    for (bool all = false; !all;) {
      all = true;
      for (auto& each : endpoints_) all &= each == nullptr || each->shut_down();
    }
  }
  void poll() {
    for (std::size_t i = 0; i < 2; ++i) endpoints_[i]->poll(heard_[i], 16);
  }
  [[nodiscard]] bool eventually(const std::function<bool()>& condition) {
    const auto end = clock_type::now() + patience;
    while (!condition()) {
      poll();
      if (clock_type::now() > end) return false;
    }
    return true;
  }
  // Messages of the job between its endpoints, both ways.
  void expect_job_goes_on(std::size_t count) {
    const std::array before{heard_[0].messages.size(), heard_[1].messages.size()};
    for (std::size_t i = 0; i < count; ++i)
      for (std::uint32_t from = 0; from < 2; ++from)
        ASSERT_TRUE(eventually([&] {
          const status said = endpoints_[from]->send(1 - from, wire_header{}, {}, nullptr);
          EXPECT_NE(said, status::failed);
          return said != status::retry;
        }));
    ASSERT_TRUE(eventually([&] {
      return heard_[0].messages.size() == before[0] + count &&
             heard_[1].messages.size() == before[1] + count;
    }));
    for (const recorder& each : heard_) EXPECT_TRUE(each.failures.empty());
  }
  // What a stranger that connects anew gets for one operation.
  bool succeeds(bool is_write, std::span<std::byte> local, std::uint64_t key,
                const std::uint64_t* told = nullptr) {
    stranger someone(options_, address_);
    EXPECT_TRUE(eventually([&] {
      return someone.begin(is_write, local, key, 0, told) ||
             someone.has_ended() == stranger::end::failed;
    }));
    stranger::end ended = stranger::end::none;
    EXPECT_TRUE(eventually([&] { return (ended = someone.has_ended()) != stranger::end::none; }))
        << "neither done nor refused";
    return ended == stranger::end::done;
  }

  ofi_options options_;
  std::array<std::unique_ptr<transport>, 2> endpoints_;
  std::array<recorder, 2> heard_;
  std::vector<std::byte> address_;
};

using strangers_to_keys = strangers;

TEST_P(strangers_to_keys, read_and_write_nothing_by_keys_that_count) {
  auto memory = contract_pattern(4096, 1);
  const auto before = memory;
  memory_region region = endpoints_[0]->register_memory(memory, peer_access::read_and_write);
  std::vector<std::byte> brought(64), brings(64, std::byte{0xee});
  for (std::uint64_t key = 0; key < 6; ++key) {
    EXPECT_FALSE(succeeds(false, brought, key)) << key;
    EXPECT_FALSE(succeeds(true, brings, key)) << key;
  }
  EXPECT_EQ(memory, before);
  expect_job_goes_on(10);
  // That the stranger of this test could: it is the key that keeps it out.
  EXPECT_TRUE(succeeds(false, brought, region.key.words[0]));
  EXPECT_TRUE(std::ranges::equal(brought, std::span(before).first(64)));
  endpoints_[0]->deregister(region);
}

TEST_P(strangers_to_keys, find_no_two_keys_that_resemble_each_other) {
  std::vector<std::byte> memory(64);
  std::uint64_t all_ones = ~std::uint64_t{0}, any_one = 0;
  for (int i = 0; i < 100; ++i) {
    memory_region region = endpoints_[0]->register_memory(memory, peer_access::read);
    all_ones &= region.key.words[0];
    any_one |= region.key.words[0];
    endpoints_[0]->deregister(region);
  }
  EXPECT_EQ(all_ones, 0u) << "some bit is always set";
  EXPECT_EQ(any_one, ~std::uint64_t{0}) << "some bit is never set";
}

TEST_P(strangers_to_keys, with_the_key_may_do_what_it_is_for_and_nothing_once_it_is_taken_back) {
  auto memory = contract_pattern(64, 1);
  const auto before = memory;
  std::vector<std::byte> bytes(64, std::byte{0xee});
  memory_region readable = endpoints_[0]->register_memory(memory, peer_access::read);
  const std::uint64_t key = readable.key.words[0];
  EXPECT_FALSE(succeeds(true, bytes, key));
  EXPECT_EQ(memory, before);
  EXPECT_TRUE(succeeds(false, bytes, key));
  endpoints_[0]->deregister(readable);
  EXPECT_FALSE(succeeds(false, bytes, key));
  memory_region writable = endpoints_[0]->register_memory(memory, peer_access::write);
  // The layer registers what is written for reading as well, for messages of its own.
  if (!options_.provider.ends_with(";ofi_rxm")) {
    EXPECT_FALSE(succeeds(false, bytes, writable.key.words[0]));
  }
  endpoints_[0]->deregister(writable);
  memory_region local = endpoints_[0]->register_memory(memory, peer_access::none);
  EXPECT_EQ(local.handle, nullptr) << "what nobody is to reach is not registered at all";
  endpoints_[0]->deregister(local);
  expect_job_goes_on(10);
}

// Whatever is registered, to whomever.
TEST_P(strangers, read_and_write_nothing_of_who_seals_messages) {
  if (GetParam().protects == protection::none) GTEST_SKIP() << "there are keys";
  auto memory = contract_pattern(4096, 1);
  const auto before = memory;
  memory_region region = endpoints_[0]->register_memory(memory, peer_access::read_and_write);
  std::vector<std::byte> brought(64), brings(64, std::byte{0xee});
  for (std::uint64_t key = 0; key < 6; ++key) {
    EXPECT_FALSE(succeeds(false, brought, key)) << key;
    EXPECT_FALSE(succeeds(true, brings, key)) << key;
  }
  EXPECT_FALSE(succeeds(false, brought, region.key.words[0]));
  EXPECT_EQ(memory, before);
  expect_job_goes_on(10);
}

TEST_P(strangers, tell_of_writes_that_name_nothing) {
  // The number of an operation can be guessed; the endpoint's key, with which it is told, cannot.
  std::uint64_t guess = 1;
  std::vector<std::byte> nothing;
  (void)succeeds(true, nothing, 0, &guess);
  for (int i = 0; i < 1000; ++i) poll();
  RecordProperty("words", std::to_string(heard_[0].words.size()));
  for (const std::uint64_t word : heard_[0].words) EXPECT_NE(word, guess);
  if (GetParam().protects != protection::none) {
    EXPECT_TRUE(heard_[0].words.empty());
  }
  expect_job_goes_on(10);
}

TEST_P(strangers, that_flood_are_refused_and_the_job_goes_on) {
  std::atomic<bool> ends{false};
  std::thread flooding([&] {
    stranger someone(options_, address_);
    const std::vector<std::byte> bytes(1000, std::byte{0x5a});
    // Not so fast that what waits in the network takes the machine's memory: providers keep it without a limit.
    for (std::size_t i = 1; !ends; ++i) {
      if (!someone.send(bytes) || i % 100 == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      (void)someone.has_ended();
    }
  });
  EXPECT_TRUE(eventually([&] { return heard_[0].refusals.size() > 100; }));
  expect_job_goes_on(300);
  ends = true;
  flooding.join();
  for (const auto& [peer, why] : heard_[0].refusals)
    EXPECT_EQ(why, why_refused(ofi_verdict::unknown_sender));
}

// --- Half a message ------------------------------------------------------------------------------

int connected_to(const sockaddr_in& address) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(made);
    return -1;
  }
  return made;
}

// Carries what a stranger sends, but not its end.
class leaking_pipe {
 public:
  leaking_pipe(const sockaddr_in& to, std::size_t bytes) : to_(to), bytes_(bytes) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here = {};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 ||
        ::listen(listener_, 64) != 0)
      throw error("no port for the pipe");
    socklen_t size = sizeof address_;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size);
    carrying_ = std::thread([this] { carry(); });
  }
  ~leaking_pipe() {
    ends_ = true;
    carrying_.join();
    for (const auto& each : pairs_) {
      ::close(each.stranger);
      ::close(each.victim);
    }
    ::close(listener_);
  }
  leaking_pipe(const leaking_pipe&) = delete;
  leaking_pipe& operator=(const leaking_pipe&) = delete;
  [[nodiscard]] std::vector<std::byte> address() const {
    const auto bytes = std::as_bytes(std::span(&address_, 1));
    return {bytes.begin(), bytes.end()};
  }
  // Over so many connections all has been carried that is.
  [[nodiscard]] int full() const { return full_; }

 private:
  struct pair {
    int stranger, victim;
    std::size_t left;
  };
  void carry() {
    while (!ends_) {
      std::vector<pollfd> all{{listener_, POLLIN, 0}};
      for (const pair& each : pairs_) {
        all.push_back({each.stranger, static_cast<short>(each.left != 0 ? POLLIN : 0), 0});
        all.push_back({each.victim, POLLIN, 0});
      }
      if (::poll(all.data(), all.size(), 10) <= 0) continue;
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        pair& each = pairs_[i];
        if ((all[2 * i + 1].revents & POLLIN) != 0) {
          pass(each.stranger, each.victim, each.left);
          if (each.left == 0) ++full_;
        }
        std::size_t any = 4096;
        if ((all[2 * i + 2].revents & POLLIN) != 0) pass(each.victim, each.stranger, any);
      }
      if ((all[0].revents & POLLIN) != 0)
        if (const int made = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); made >= 0)
          pairs_.push_back({made, connected_to(to_), bytes_});
    }
  }
  static void pass(int from, int to, std::size_t& most) {
    std::array<std::byte, 4096> bytes;
    const ssize_t size = ::read(from, bytes.data(), std::min(most, bytes.size()));
    if (size > 0 && ::send(to, bytes.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL) == size)
      most -= static_cast<std::size_t>(size);
  }

  const sockaddr_in to_;
  const std::size_t bytes_;
  int listener_ = -1;
  sockaddr_in address_ = {};
  std::vector<pair> pairs_;
  std::atomic<int> full_{0};
  std::atomic<bool> ends_{false};
  std::thread carrying_;
};

TEST_P(strangers, that_send_half_a_message_or_only_connect_stop_nobody) {
  sockaddr_in address = {};
  ASSERT_GE(address_.size(), sizeof address);
  std::memcpy(&address, address_.data(), sizeof address);
  // The layer has many buffers of its own before this endpoint's, and takes a second for a connection.
  const bool is_layered = options_.provider.ends_with(";ofi_rxm");
  const int count = is_layered ? 8 : ofi_receive_buffers + 8;
  std::vector<int> silent;
  for (int i = 0; i < count; ++i) silent.push_back(connected_to(address));
  // What connections begin with, and some of a message.
  const leaking_pipe pipe(address, 3000);
  std::vector<std::unique_ptr<stranger>> all;
  const std::vector<std::byte> bytes(10'000, std::byte{0x5a});
  for (int i = 0; i < count; ++i) {
    auto& someone = *all.emplace_back(std::make_unique<stranger>(options_, pipe.address()));
    ASSERT_TRUE(eventually([&] {
      (void)someone.has_ended();  // Connections are made by making progress.
      return someone.send(bytes);
    }));
    ASSERT_TRUE(eventually([&] {
      (void)someone.has_ended();
      return pipe.full() == i + 1;
    }));
  }
  expect_job_goes_on(200);
  all.clear();
  for (const int each : silent) ::close(each);
}

std::string name_of(const ::testing::TestParamInfo<victim>& one) {
  std::string name = one.param.provider;
  std::ranges::replace_if(
      name, [](char c) { return c == ';' || c == '@'; }, '_');
  return name + (one.param.protects == protection::none ? "" : "_sealed");
}

constexpr std::array providers{"net@lo", "tcp@lo", "tcp;ofi_rxm@lo", "sockets@lo"};

std::vector<victim> victims(std::initializer_list<protection> how) {
  std::vector<victim> all;
  for (const protection each : how)
    for (const char* const provider : providers) all.push_back({provider, each});
  return all;
}

INSTANTIATE_TEST_SUITE_P(ofi, strangers,
                         ::testing::ValuesIn(victims({protection::none, protection::authenticate})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(ofi, strangers_to_keys, ::testing::ValuesIn(victims({protection::none})),
                         name_of);

// --- Where it listens -----------------------------------------------------------------------------

in_addr_t listens_at(const ofi_options& how) {
  const auto endpoint = make_ofi_transport(how);
  const auto bytes = ofi_address::unpacked(endpoint->address())->bytes;
  sockaddr_in address = {};
  if (bytes.size() >= sizeof address) std::memcpy(&address, bytes.data(), sizeof address);
  return address.sin_family == AF_INET ? ntohl(address.sin_addr.s_addr) : 0;
}

TEST(ofi, of_a_job_that_stays_on_its_host_listens_where_no_other_comes_in) {
  const auto all = ofi_providers();
  if (std::ranges::none_of(all, [](const ofi_provider& each) { return each.domain == "lo"; }))
    GTEST_SKIP() << "libfabric has no loopback interface";
  tests::note_provider("tcp");
  EXPECT_EQ(listens_at({.provider = "tcp", .domain = {}, .stays_on_host = true}), INADDR_LOOPBACK);
  // Unless another interface is named.
  for (const ofi_provider& each : all)
    if (each.reaches_other_hosts && each.name == "net") {
      EXPECT_NE(listens_at({.provider = each.name, .domain = each.domain, .stays_on_host = true}),
                INADDR_LOOPBACK);
      break;
    }
}

// --- What the layer ofi_rxm registers by itself ----------------------------------------------------

// Longer messages it announces with keys that it counts.
TEST(ofi_rxm, never_gets_a_message_that_it_would_announce) {
  const ofi_options options = parse_ofi_options("tcp;ofi_rxm@lo");
  if (std::ranges::none_of(ofi_providers(),
                           [&](const ofi_provider& each) { return each.name == options.provider; }))
    GTEST_SKIP() << "libfabric has no tcp;ofi_rxm";
  tests::note_provider(options.provider);
  const auto endpoint = make_ofi_transport(options);
  EXPECT_LE(endpoint->traits().message_bytes_max + sizeof(ofi_envelope) + sizeof(wire_header),
            std::size_t{16384});
}

}  // namespace
}  // namespace weft
