// Each two processes connect once, when the port is made: who listens, who is let in, and who is not.
#include "parcel/tcp/tcp_connections.hpp"

#if __has_include(<boost/asio/ip/tcp.hpp>)

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstring>

#include "base/blocked_signals.hpp"
#include "base/kernel.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

// How long others may take to come, and a stranger to say who he is.
constexpr auto start_max = 60s;
constexpr auto connect_max = 10s;
constexpr auto greeting_max = 5s;
constexpr int strangers_max =
    64;  // The processes of the job come beside these, all at once perhaps.
// A process that was not let in tries again after so long.
constexpr auto connect_again = 100ms;
constexpr const char* key_of_address = "weft.parcels.tcp";
// When nothing comes or goes on a connection, the kernel asks the other kernel after so long, and again, so often; then it
// breaks: after 9 s. Where data go, look_at_links() finds out.
constexpr int asked_after_s = 3, asked_again_s = 2, asked_max = 3;

void ask_when_silent(int socket) noexcept {
  const auto set = [socket](int level, int option, int value) {
    static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, asked_after_s);
  set(IPPROTO_TCP, TCP_KEEPINTVL, asked_again_s);
  set(IPPROTO_TCP, TCP_KEEPCNT, asked_max);
}

// The addresses of this host, those of real networks first.
std::vector<std::string> own_hosts(bool only_this_host) {
  if (only_this_host) return {"127.0.0.1"};
  std::vector<std::string> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
      if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
      if (family == AF_INET) {
        const auto* const at = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
        all.push_back(asio::ip::address_v4(ntohl(at->sin_addr.s_addr)).to_string());
      } else {
        const auto* const at = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
        asio::ip::address_v6::bytes_type bytes;
        std::memcpy(bytes.data(), &at->sin6_addr, bytes.size());
        if (const asio::ip::address_v6 address(bytes); !address.is_link_local())
          all.push_back(address.to_string());
      }
    }
  ::freeifaddrs(first);
  return all;
}

void keep_from_children(int descriptor) noexcept {
  static_cast<void>(::fcntl(descriptor, F_SETFD, FD_CLOEXEC));
}

}  // namespace

void tcp_port::reader_and_writer::listen() {
  bool only_this_host = true;
  bootstrap& job = of_.between_.job();
  for (int p = 0; p < count(); ++p) only_this_host &= job.node_of(p) == job.node_of(0);
  if (::getrandom(key_.words, sizeof key_.words, 0) != sizeof key_.words)
    throw error("parcelport tcp: the kernel gives no random numbers for keys");
  error_code failure;
  // Both families where there are hosts beyond this one and the kernel has the newer.
  const auto open = [&](const tcp::endpoint& at) {
    failure = {};
    if (acceptor_.open(at.protocol(), failure)) return false;
    keep_from_children(acceptor_.native_handle());
    if (at.address().is_v6()) acceptor_.set_option(asio::ip::v6_only(false), failure);
    if (!failure && !acceptor_.bind(at, failure) &&
        !acceptor_.listen(std::max(count(), 128), failure))
      return true;
    error_code ignored;
    acceptor_.close(ignored);
    return false;
  };
  if (only_this_host ? !open({asio::ip::address_v4::loopback(), 0})
                     : !open({tcp::v6(), 0}) && !open({tcp::v4(), 0}))
    throw error(formatted("parcelport tcp: this process cannot listen: {}", failure.message()));
  tcp_address own;
  own.key = key_;
  own.port = acceptor_.local_endpoint(failure).port();
  own.hosts = own_hosts(only_this_host);
  if (own.hosts.empty())
    throw error("parcelport tcp: this host has no address that others could reach");
  job.put(key_of_address, own.text());
  job.fence();
  for (int p = 0; p < count(); ++p) {
    auto told = tcp_address::of(job.get(p, key_of_address));
    if (!told)
      throw error(formatted(
          "parcelport tcp: process {} has told no address; take the same parcelport in all", p));
    addresses_.push_back(std::move(*told));
  }
}

// This process connects to those with greater numbers; the others come.
void tcp_port::reader_and_writer::meet_all() {
  const int self = of_.between_.process();
  missing_ = self;
  listen();
  accept();
  const blocked_signals begins_with;
  thread_ = start_thread("the connections of parcels", [this] { context_.run(); });
  for (int p = self + 1; p < count(); ++p) connect(p);
  std::unique_lock hold(start_lock_);
  if (!somebody_came_.wait_for(hold, start_max, [this] { return missing_ == 0; })) {
    for (int p = 0; p < self; ++p)
      if (!of_.peers_[static_cast<std::size_t>(p)]->socket.is_open())
        throw error(formatted("parcelport tcp: process {} has not connected within {} s", p,
                              start_max / 1s));
  }
  asio::post(context_, [this] {
    error_code ignored;
    acceptor_.close(ignored);  // Nobody else is to come.
    look_at_links();
  });
}

void tcp_port::reader_and_writer::accept() {
  acceptor_.async_accept(context_, [this](const error_code& failure, tcp::socket by) {
    if (!acceptor_.is_open()) return;
    if (!failure) {
      if (strangers_ == strangers_max + count()) {
        refuse_stranger("too many have connected that do not say who they are");
      } else {
        keep_from_children(by.native_handle());
        ++strangers_;
        greet(std::make_shared<stranger>(std::move(by), context_));
      }
    }
    accept();
  });
}

void tcp_port::reader_and_writer::greet(const std::shared_ptr<stranger>& who) {
  who->limit.expires_after(greeting_max);
  who->limit.async_wait([who](const error_code& failure) {
    error_code ignored;
    if (!failure) who->socket.close(ignored);
  });
  asio::async_read(who->socket, asio::buffer(&who->said, sizeof who->said),
                   [this, who](const error_code& failure, std::size_t) { judge(who, failure); });
}

void tcp_port::reader_and_writer::judge(const std::shared_ptr<stranger>& who,
                                        const error_code& failure) {
  --strangers_;
  who->limit.cancel();
  if (failure) return refuse_stranger("it did not say who it is");
  const auto others = static_cast<std::uint32_t>(of_.between_.process());
  if (const char* const why = why_refused(who->said, key_, others)) return refuse_stranger(why);
  const auto process = static_cast<int>(who->said.process);
  peer& of = *of_.peers_[static_cast<std::size_t>(process)];
  if (std::exchange(of.has_come, true))
    return refuse_stranger("it claims to be a process that has come before");
  // It has told the others its own key, and is to see that this process knows it.
  tcp_greeting answer;
  answer.process = static_cast<std::uint32_t>(of_.between_.process());
  answer.key = addresses_[static_cast<std::size_t>(process)].key;
  error_code ended;
  asio::write(who->socket, asio::buffer(&answer, sizeof answer), ended);
  if (ended) return refuse_stranger("it has gone");
  settle(process, std::move(who->socket));
  const std::lock_guard hold(start_lock_);
  --missing_;
  somebody_came_.notify_all();
}

void tcp_port::reader_and_writer::refuse_stranger(const char* why) noexcept {
  if (std::exchange(has_refused_, true)) return;
  log_line(
      "somebody who connected to the port for parcels was refused: {}; further ones are not told",
      why);
}

// Called by the thread that makes the port. Where too many strangers have come before, the other side closes the connection
// unread until it has room.
void tcp_port::reader_and_writer::connect(int process) {
  const auto until = std::chrono::steady_clock::now() + start_max;
  for (std::string why;;) {
    const auto said = try_to_connect(process, why);
    if (said == attempt::connected) return;
    if (said == attempt::failed || std::chrono::steady_clock::now() >= until) throw error(why);
    sleep_in_kernel(connect_again);
  }
}

tcp_port::reader_and_writer::attempt tcp_port::reader_and_writer::try_to_connect(
    int process, std::string& why_not) {
  const tcp_address& address = addresses_[static_cast<std::size_t>(process)];
  std::string tried;
  bool was_closed = false;
  for (const std::string& host : address.hosts) {
    error_code failure;
    const auto at = asio::ip::make_address(host, failure);
    if (failure) continue;
    asio::io_context own;
    tcp::socket socket(own);
    tcp_greeting said, answer;
    said.process = static_cast<std::uint32_t>(of_.between_.process());
    said.key = address.key;
    failure = asio::error::timed_out;
    socket.async_connect({at, address.port}, [&](const error_code& connected) {
      failure = connected;
      if (connected) return;
      keep_from_children(socket.native_handle());
      failure = asio::error::timed_out;
      asio::async_write(socket, asio::buffer(&said, sizeof said),
                        [&](const error_code& written, std::size_t) {
                          if (written) failure = written;
                        });
      asio::async_read(socket, asio::buffer(&answer, sizeof answer),
                       [&](const error_code& read, std::size_t) { failure = read; });
    });
    own.run_for(connect_max);
    const char* why = nullptr;
    if (!failure) {
      why = why_refused(answer, key_, static_cast<std::uint32_t>(count()));
      if (why == nullptr && static_cast<int>(answer.process) != process)
        why = "it is another process";
    }
    if (!failure && why == nullptr) {
      tcp::socket kept(context_);
      const auto protocol = socket.local_endpoint(failure).protocol();
      kept.assign(protocol, socket.release(failure), failure);
      if (!failure) {
        settle(process, std::move(kept));
        return attempt::connected;
      }
    }
    was_closed |= failure == asio::error::eof || failure == asio::error::connection_reset ||
                  failure == asio::error::broken_pipe;
    tried += formatted("{}{} ({})", tried.empty() ? "" : ", ", host,
                       why != nullptr ? std::string(why) : failure.message());
  }
  why_not = formatted("parcelport tcp: process {} on host {} does not answer at port {}: {}",
                      process, of_.between_.job().host_of(process), address.port, tried);
  return was_closed ? attempt::closed : attempt::failed;
}

void tcp_port::reader_and_writer::settle(int process, tcp::socket&& by) {
  peer& of = *of_.peers_[static_cast<std::size_t>(process)];
  error_code ignored;
  by.non_blocking(true, ignored);
  by.set_option(tcp::no_delay(true), ignored);
  ask_when_silent(by.native_handle());
  {
    const std::lock_guard hold(of.out_lock);
    of.socket = std::move(by);
  }
  asio::post(context_, [this, &of] { wait_to_read(of); });
}

}  // namespace weft::detail

#endif
