// A port at which jobs meet: who is let in, and what strangers can do to it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mpi/object/errors.hpp"
#include "mpi/spawn/channel.hpp"

namespace weft::mpi {
namespace {

using namespace std::chrono_literals;

std::string part_of(const std::string& name, int number) {
  std::size_t begin = 0;
  for (int i = 0; i < number; ++i) begin = name.find(':', begin) + 1;
  return name.substr(begin, name.find(':', begin) - begin);
}
std::string secret_of(const std::string& name) {
  return part_of(name, 3);
}
std::uint16_t number_of(const std::string& name) {
  const std::string text = part_of(name, 2);
  std::uint16_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// No test waits longer.
stop_question patience(std::chrono::milliseconds most) {
  return [end = std::chrono::steady_clock::now() + most] {
    return std::chrono::steady_clock::now() > end;
  };
}

std::string failure_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const failure& f) {
    return f.what();
  }
  return "nothing";
}

// A connection by somebody who may say what he likes.
class raw_caller {
 public:
  explicit raw_caller(const std::string& name) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(number_of(name));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(socket_.number(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  [[nodiscard]] bool is_connected() const noexcept { return is_connected_; }
  void say(std::string_view text) const {
    (void)::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Ends the connection as a process does that dies with something unread.
  void reset() {
    const linger at_once{1, 0};
    (void)::setsockopt(socket_.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket_ = descriptor();
  }
  // Whether the port ends the connection within that time.
  [[nodiscard]] bool is_dropped(std::chrono::milliseconds within) const {
    pollfd look{socket_.number(), POLLIN, 0};
    char byte = 0;
    return ::poll(&look, 1, static_cast<int>(within.count())) == 1 &&
           ::recv(socket_.number(), &byte, 1, 0) <= 0;
  }

 private:
  descriptor socket_;
  bool is_connected_ = false;
};

// A leader that connects and says "caller" to whoever accepts.
class good_caller {
 public:
  explicit good_caller(const std::string& name)
      : thread_([this, name] {
          failed_ = failure_of([&] {
            heard_ = connect_to_port(name, patience(20s)).tell_and_hear("caller", patience(20s));
          });
        }) {}
  ~good_caller() {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] std::string heard() {
    thread_.join();
    return heard_.empty() ? failed_ : heard_;
  }

 private:
  std::string heard_, failed_;
  std::thread thread_;
};

std::string greet(listening_port& port) {
  return port.accept(patience(10s)).tell_and_hear("port", patience(10s));
}

TEST(meeting_port, accepts_one_who_knows_the_secret) {
  listening_port port({});
  good_caller caller(port.name());
  EXPECT_EQ(greet(port), "caller");
  EXPECT_EQ(caller.heard(), "port");
}

TEST(meeting_port, a_stranger_who_says_a_byte_now_and_then_keeps_nobody_out) {
  listening_port port({});
  const std::string secret = secret_of(port.name());
  ASSERT_GE(secret.size(), 8u);
  const raw_caller stranger(port.name());
  ASSERT_TRUE(stranger.is_connected());
  std::atomic<std::size_t> said = 0;
  std::atomic<bool> ends = false;
  std::thread slow([&] {
    while (said + 1 < secret.size() && !ends) {
      stranger.say(secret.substr(said, 1));
      ++said;
      for (int i = 0; i < 20 && !ends; ++i) std::this_thread::sleep_for(10ms);
    }
  });
  while (said == 0) std::this_thread::yield();
  good_caller caller(port.name());
  EXPECT_EQ(greet(port), "caller");
  EXPECT_LT(said, secret.size() / 2);
  ends = true;
  slow.join();
  EXPECT_EQ(caller.heard(), "port");
}

TEST(meeting_port, strangers_who_say_nothing_leave_room_for_others) {
  listening_port port({});
  std::vector<std::unique_ptr<raw_caller>> strangers;
  for (std::size_t i = 0; i < listening_port::callers_max + 8; ++i) {
    strangers.push_back(std::make_unique<raw_caller>(port.name()));
    ASSERT_TRUE(strangers.back()->is_connected());
  }
  good_caller caller(port.name());
  EXPECT_EQ(greet(port), "caller");
  EXPECT_EQ(caller.heard(), "port");
  // The oldest had to go.
  EXPECT_TRUE(strangers.front()->is_dropped(5s));
  EXPECT_FALSE(strangers.back()->is_dropped(0ms));
}

// An accept that lets nobody in, while it lives.
class accepting_nobody {
 public:
  explicit accepting_nobody(listening_port& port)
      : thread_([this, &port] {
          EXPECT_NE(failure_of([&] { (void)port.accept([&] { return ends_.load(); }); }),
                    "nothing");
        }) {}
  ~accepting_nobody() {
    ends_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

TEST(meeting_port, callers_that_come_all_at_once_have_time_to_say_the_secret) {
  listening_port port({});
  std::vector<std::unique_ptr<raw_caller>> callers;
  for (std::size_t i = 0; i < listening_port::callers_max + 8; ++i)
    callers.push_back(std::make_unique<raw_caller>(port.name()));
  const auto begin = std::chrono::steady_clock::now();
  const accepting_nobody meanwhile(port);
  EXPECT_TRUE(callers.front()->is_dropped(5s));
  EXPECT_GE(std::chrono::steady_clock::now() - begin,
            std::chrono::nanoseconds(listening_port::kept_ns_min));
}

// Whoever says half of the secret is answered as whoever says half of another: else it could be found letter by letter.
TEST(meeting_port, who_does_not_say_the_secret_in_time_or_says_another_is_dropped) {
  listening_port port({});
  const std::string secret = secret_of(port.name());
  const raw_caller slow(port.name());
  slow.say(secret.substr(0, 1));
  const raw_caller slow_and_wrong(port.name());
  slow_and_wrong.say("?");
  const raw_caller wrong(port.name());
  wrong.say(secret.substr(0, secret.size() - 1) + '?');
  const accepting_nobody meanwhile(port);
  EXPECT_TRUE(wrong.is_dropped(5s));
  EXPECT_FALSE(slow.is_dropped(0ms));
  EXPECT_FALSE(slow_and_wrong.is_dropped(100ms));
  EXPECT_TRUE(slow.is_dropped(10s));
  EXPECT_TRUE(slow_and_wrong.is_dropped(10s));
}

TEST(meeting_port, who_comes_while_nobody_accepts_is_accepted_later) {
  listening_port port({});
  good_caller one(port.name()), other(port.name());
  const raw_caller third(port.name());
  third.say(secret_of(port.name()));
  // The first call may see all of them, and returns one.
  std::this_thread::sleep_for(50ms);
  std::vector<leader_channel> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(port.accept(patience(10s)));
  const raw_caller stranger(port.name());
  EXPECT_NE(failure_of([&] { (void)port.accept(patience(100ms)); }), "nothing");
  EXPECT_FALSE(third.is_dropped(0ms));
  std::vector<std::thread> tell;
  for (leader_channel& each : taken)
    tell.emplace_back(
        [&each] { (void)failure_of([&] { (void)each.tell_and_hear("port", patience(300ms)); }); });
  for (std::thread& each : tell) each.join();
  EXPECT_EQ(one.heard(), "port");
  EXPECT_EQ(other.heard(), "port");
}

TEST(meeting_port, one_who_has_gone_before_he_was_accepted_is_passed_over) {
  listening_port port({});
  {
    const raw_caller gone(port.name());
    gone.say(secret_of(port.name()));
    raw_caller killed(port.name());
    killed.say(secret_of(port.name()));
    killed.reset();
  }
  good_caller caller(port.name());
  EXPECT_EQ(greet(port), "caller");
  EXPECT_EQ(caller.heard(), "port");
}

TEST(meeting_port, several_may_accept_and_all_see_that_the_job_ends) {
  for (int round = 0; round < 5; ++round) {
    listening_port port({});
    std::atomic<bool> ends = false;
    std::atomic<int> accepted = 0, stopped = 0;
    std::vector<std::thread> acceptors;
    for (int i = 0; i < 3; ++i)
      acceptors.emplace_back([&] {
        const std::string failed = failure_of([&] {
          (void)port.accept([&] { return ends.load(); }).tell_and_hear("port", patience(10s));
          ++accepted;
        });
        if (failed != "nothing") ++stopped;
      });
    good_caller caller(port.name());
    EXPECT_EQ(caller.heard(), "port");
    ends = true;
    for (std::thread& each : acceptors) each.join();
    EXPECT_EQ(accepted, 1);
    EXPECT_EQ(stopped, 2);
  }
}

// This process has both ends.
TEST(meeting_port, asks_whether_the_other_host_is_there_at_both_ends) {
  listening_port port({});
  std::thread connecting([&] {
    const leader_channel kept = connect_to_port(port.name(), patience(10s));
    EXPECT_EQ(kept.tell_and_hear("caller", patience(10s)), "port");
    EXPECT_EQ(kept.tell_and_hear("caller", patience(10s)), "all seen");
  });
  const leader_channel taken = port.accept(patience(10s));
  EXPECT_EQ(taken.tell_and_hear("port", patience(10s)), "caller");
  int ends = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in own{}, other{};
    socklen_t own_size = sizeof own, other_size = sizeof other;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_size) != 0 ||
        own.sin_family != AF_INET)
      continue;
    const std::uint16_t number = htons(number_of(port.name()));
    if (own.sin_port != number && other.sin_port != number) continue;
    ++ends;
    const auto value_of = [&](int level, int name) {
      int value = 0;
      socklen_t size = sizeof value;
      return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
    };
    EXPECT_EQ(value_of(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_LE(value_of(IPPROTO_TCP, TCP_KEEPIDLE) +
                  value_of(IPPROTO_TCP, TCP_KEEPINTVL) * value_of(IPPROTO_TCP, TCP_KEEPCNT),
              30);
  }
  EXPECT_EQ(ends, 2);
  EXPECT_EQ(taken.tell_and_hear("all seen", patience(10s)), "caller");
  connecting.join();
}

TEST(meeting_port, is_found_behind_an_address_at_which_another_listens) {
  listening_port port({});
  const descriptor another(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(number_of(port.name()));
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  ASSERT_EQ(::bind(another.number(), reinterpret_cast<sockaddr*>(&here), sizeof here), 0);
  ASSERT_EQ(::listen(another.number(), 1), 0);
  std::thread closes([&] { const descriptor taken(::accept(another.number(), nullptr, nullptr)); });
  good_caller caller(port.name() + "127.0.0.2,127.0.0.1");
  closes.join();
  EXPECT_EQ(greet(port), "caller");
  EXPECT_EQ(caller.heard(), "port");
}

TEST(meeting_port, what_is_no_name_and_what_does_not_listen_is_told) {
  const auto connecting = [](const std::string& name) {
    return failure_of([&] { (void)connect_to_port(name, patience(10s)); });
  };
  for (const char* const name : {"", "nowhere", "weft:a:1:s", "weft:a:0:s:n:", "weft:a:x:s:n:",
                                 "weft:a:1::n:", "weft:a:1:s:n:300.1.2.3"})
    EXPECT_NE(connecting(name).find("is no name of a port"), std::string::npos) << name;
  std::string name;
  {
    const listening_port port({});
    name = port.name();
    EXPECT_FALSE(leads_beyond_host(name));
  }
  EXPECT_NE(connecting(name).find("nobody listens at port"), std::string::npos);
  // The same port as a process sees it that shares no loopback with it.
  const std::string network = part_of(name, 4);
  name.replace(name.find(network), network.size(), "elsewhere");
  EXPECT_NE(connecting(name).find("ip_address"), std::string::npos) << connecting(name);
}

TEST(meeting_port, is_opened_where_the_program_says) {
  listening_port here({.beyond_host = true, .address = "127.0.0.1", .number = 0});
  EXPECT_FALSE(leads_beyond_host(here.name()));
  good_caller caller(here.name());
  EXPECT_EQ(greet(here), "caller");
  const std::uint16_t number = number_of(here.name());
  const auto opening = [](const port_place& at) {
    return failure_of([&] { const listening_port port(at); });
  };
  EXPECT_NE(opening({.beyond_host = false, .address = {}, .number = number})
                .find(part_of(here.name(), 2)),
            std::string::npos);
  EXPECT_NE(opening({.beyond_host = false, .address = "here", .number = 0}).find("ip_address"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::mpi
