// The tcp parcelport: what it believes of others, and what those get who are not of the job.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/parcels.hpp>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "job.hpp"
#include "parcel/port.hpp"
#include "parcel/tcp/tcp_wire.hpp"
#include "processes.hpp"

namespace weft {
namespace {

using namespace detail;

// --- Bytes ----------------------------------------------------------------------------------------

TEST(tcp_wire, an_address_is_read_as_it_was_written_and_nothing_else_is) {
  const tcp_address written{{{0xfedcba9876543210, 7}}, 4711, {"127.0.0.1", "fe80::1"}};
  const auto read = tcp_address::of(written.text());
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->key.is(written.key));
  EXPECT_EQ(read->port, 4711);
  EXPECT_EQ(read->hosts, written.hosts);
  for (const char* const text :
       {"", "1", "1 2", "1 2 3", "1 2 0 h", "1 2 65536 h", "x 2 3 h", "1 2 3x h", "1 -2 3 h"})
    EXPECT_FALSE(tcp_address::of(text)) << text;
}

TEST(tcp_wire, a_greeting_without_the_key_is_refused) {
  const tcp_key own{{1, 2}};
  tcp_greeting good;
  good.process = 2;
  good.key = own;
  EXPECT_EQ(why_refused(good, own, 3), nullptr);
  EXPECT_NE(why_refused(good, own, 2), nullptr);
  EXPECT_NE(why_refused(good, {{1, 3}}, 3), nullptr);
  EXPECT_NE(why_refused(good, {{0, 2}}, 3), nullptr);
  tcp_greeting bad = good;
  bad.magic ^= 1;
  EXPECT_NE(why_refused(bad, own, 3), nullptr);
  bad = good;
  ++bad.version;
  EXPECT_NE(why_refused(bad, own, 3), nullptr);
}

TEST(tcp_wire, a_frame_that_no_message_has_is_refused) {
  EXPECT_EQ(why_refused(tcp_frame{tcp_mark::message, 0, sizeof(parcel_header)}), nullptr);
  EXPECT_EQ(why_refused(tcp_frame{tcp_mark::end, 0, 0}), nullptr);
  for (const tcp_frame& bad :
       {tcp_frame{tcp_mark::end, 1, 0}, tcp_frame{tcp_mark::end, 0, 1},
        tcp_frame{tcp_mark{}, 0, 100}, tcp_frame{tcp_mark::message, 0, tcp_message_bytes_max + 1},
        tcp_frame{tcp_mark::message, parcel_chunks_max + 1, 1000},
        tcp_frame{tcp_mark::message, 0, ~std::uint64_t{0}}})
    EXPECT_NE(why_refused(bad), nullptr) << bad.bytes;
}

TEST(tcp_wire, chunks_are_those_that_the_message_tells) {
  const auto message = [](std::uint8_t count, std::vector<std::uint64_t> tail,
                          std::size_t values = 40) {
    parcel_header header;
    header.chunk_count = count;
    header.size = static_cast<std::uint32_t>(values + tail.size() * sizeof(std::uint64_t));
    std::vector<std::byte> bytes(sizeof header + header.size);
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!tail.empty())
      std::memcpy(bytes.data() + sizeof header + values, tail.data(),
                  tail.size() * sizeof(std::uint64_t));
    return bytes;
  };
  const auto good = message(2, {99, 8192, 10000});
  const auto told = chunks_of(good, 2);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->word, 99U);
  EXPECT_EQ(told->sizes, (std::vector<std::uint64_t>{8192, 10000}));
  EXPECT_FALSE(chunks_of(good, 1));
  EXPECT_FALSE(chunks_of(good, 0));
  EXPECT_FALSE(chunks_of(std::span(good).first(good.size() - 1), 2));
  EXPECT_FALSE(chunks_of(std::span(good).first(10), 2));
  EXPECT_FALSE(chunks_of(message(2, {99, 8192, 0}), 2));
  EXPECT_FALSE(chunks_of(message(2, {99, 8192, ~std::uint64_t{0}}), 2));
  EXPECT_FALSE(chunks_of(message(3, {99, 8192}, 0), 3));
  EXPECT_TRUE(chunks_of(message(0, {}), 0));
}

// --- Strangers ------------------------------------------------------------------------------------

std::uint64_t sum(const std::vector<std::uint64_t>& of) {
  return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
}
WEFT_ACTION(sum);

int connected(const tcp_address& to) {
  const int by = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(to.port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(by, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0) << strerror(errno);
  const timeval limit{30, 0};
  ::setsockopt(by, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return by;
}
template <class T>
void say(int by, const T& what) {
  EXPECT_EQ(::send(by, &what, sizeof what, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof what));
}
// What came before the connection was closed.
ssize_t bytes_until_closed(int by) {
  char bytes[256];
  ssize_t all = 0;
  for (;;) {
    const ssize_t got = ::recv(by, bytes, sizeof bytes, 0);
    if (got > 0) all += got;
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return all;
    if (got < 0 && errno != EINTR) return -1;
  }
}

// A member of a job that lets somebody else at the port of process 1, before anybody of the job has come.
class watched_member final : public bootstrap {
 public:
  using meddler = std::function<void(const tcp_address&)>;
  watched_member(tests::shared_job& job, int process, meddler meddle)
      : inner_(job, process), meddle_(std::move(meddle)) {}
  std::string_view name() const noexcept override { return inner_.name(); }
  int process() const noexcept override { return inner_.process(); }
  int process_count() const noexcept override { return inner_.process_count(); }
  const std::string& job_id() const noexcept override { return inner_.job_id(); }
  int node_of(int process) const override { return inner_.node_of(process); }
  std::string host_of(int process) const override { return inner_.host_of(process); }
  void put(std::string_view key, std::string_view value) override {
    inner_.put(key, value);
    if (key != "weft.parcels.tcp" || process() != 1) return;
    const auto address = tcp_address::of(value);
    ASSERT_TRUE(address);
    meddle_(*address);
  }
  std::string get(int process, std::string_view key) override { return inner_.get(process, key); }
  void fence() override { inner_.fence(); }
  void on_failure(failure_handler) override {}
  [[noreturn]] void abort(int, const std::string&) override { std::abort(); }
  void finish() noexcept override {}

 private:
  tests::member inner_;
  meddler meddle_;
};

// Where weft was built without Boost.Asio there is no such port.
bool has_tcp_port() {
  return tcp_parcelport.knows("tcp");
}

// The statuses of both processes.
std::vector<int> run_two(const watched_member::meddler& meddle, const std::function<void()>& body) {
  ::setenv("WEFT_PARCELPORT", "tcp", 1);
  sim_fabric fabric{sim_options{}};
  tests::shared_job& job = tests::new_job(2);
  std::mutex making;
  std::vector<int> statuses(2, -1);
  std::vector<std::thread> processes;
  for (int p = 0; p < 2; ++p)
    processes.emplace_back([&, p] {
      watched_member self(job, p, meddle);
      detail::launch_context others;
      others.job = &self;
      others.make_endpoints = [&](int) {
        const std::scoped_lock hold(making);
        std::vector<std::unique_ptr<transport>> made;
        made.push_back(fabric.make_endpoint());
        return made;
      };
      options how;
      how.ranks = 2;
      how.workers = 1;
      how.pin = false;
      how.timeout_s = 60;
      try {
        statuses[static_cast<std::size_t>(p)] = detail::run_ranks_of_job(
            how, [&](communicator&) { body(); }, others);
      } catch (const error& e) {
        log_text(e.what());
        statuses[static_cast<std::size_t>(p)] = 2;
      }
    });
  for (std::thread& one : processes) one.join();
  return statuses;
}

TEST(tcp_parcelport, strangers_are_refused_without_a_word_and_the_job_goes_on) {
  if (tests::is_started()) GTEST_SKIP() << "makes its own processes";
  if (!has_tcp_port()) GTEST_SKIP() << "built without Boost.Asio";
  std::vector<int> strangers;
  const auto meddle = [&](const tcp_address& at) {
    tcp_greeting greeting;
    for (int kind = 0; kind < 6; ++kind) {
      strangers.push_back(connected(at));
      greeting = {};
      switch (kind) {
        case 0:
          say(strangers.back(), std::array<char, 200>{"GET / HTTP/1.1"});
          break;
        case 1:  // Without the key.
          say(strangers.back(), greeting);
          break;
        case 2:  // As a process that there is not.
          greeting.key = at.key;
          greeting.process = 7;
          say(strangers.back(), greeting);
          break;
        case 3:  // As itself.
          greeting.key = at.key;
          greeting.process = 1;
          say(strangers.back(), greeting);
          break;
        case 4:  // Of another version.
          greeting.key = at.key;
          ++greeting.version;
          say(strangers.back(), greeting);
          break;
        case 5:  // Cut off.
          say(strangers.back(), 'w');
          ::shutdown(strangers.back(), SHUT_WR);
          break;
      }
    }
  };
  std::atomic<std::uint64_t> sums{0};
  const std::vector<int> statuses = run_two(meddle, [&] {
    const locality other(1 - here().number());
    for (const std::size_t count : {1U, 100U, 5'000U, 50'000U})
      sums += sync(other, sum, std::vector<std::uint64_t>(count, 1));
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
  EXPECT_EQ(sums, 2U * 55'101U);
  for (const int one : strangers) {
    EXPECT_EQ(bytes_until_closed(one), 0);
    ::close(one);
  }
}

// More than there is room for have come before, and say nothing: the process of the job tries again.
TEST(tcp_parcelport, a_process_that_finds_too_many_strangers_comes_in_when_they_have_gone) {
  if (tests::is_started()) GTEST_SKIP() << "makes its own processes";
  if (!has_tcp_port()) GTEST_SKIP() << "built without Boost.Asio";
  std::thread leaves;
  const auto meddle = [&](const tcp_address& at) {
    std::vector<int> strangers;
    for (int i = 0; i < 80; ++i) strangers.push_back(connected(at));
    leaves = std::thread([strangers] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      for (const int one : strangers) ::close(one);
    });
  };
  const std::vector<int> statuses = run_two(meddle, [] {
    EXPECT_EQ(sync(locality(1 - here().number()), sum, std::vector<std::uint64_t>{1, 2}), 3U);
  });
  leaves.join();
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

// Somebody has the key, which only a process of the job can have, and sends what makes no sense: nobody waits for ever.
TEST(tcp_parcelport, nonsense_of_one_that_has_the_key_ends_the_job) {
  if (tests::is_started()) GTEST_SKIP() << "makes its own processes";
  if (!has_tcp_port()) GTEST_SKIP() << "built without Boost.Asio";
  int impostor = -1;
  const auto meddle = [&](const tcp_address& at) {
    impostor = connected(at);
    tcp_greeting greeting;
    greeting.key = at.key;
    greeting.process = 0;
    say(impostor, greeting);
    say(impostor, tcp_frame{tcp_mark{}, 1, 2});
  };
  const std::vector<int> statuses = run_two(meddle, [&] {
    static_cast<void>(sync(locality(1 - here().number()), sum, std::vector<std::uint64_t>{1}));
  });
  EXPECT_NE(statuses[0], 0);
  EXPECT_NE(statuses[1], 0);
  // A parcel may have gone to it before its nonsense was read.
  EXPECT_GE(bytes_until_closed(impostor), static_cast<ssize_t>(sizeof(tcp_greeting)));
  ::close(impostor);
}

}  // namespace
}  // namespace weft
