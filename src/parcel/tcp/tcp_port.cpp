#include "parcel/tcp/tcp_port.hpp"

#if __has_include(<boost/asio/ip/tcp.hpp>)

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/blocked_signals.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "parcel/tcp/tcp_wire.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using error_code = boost::system::error_code;
using namespace std::chrono_literals;

// What is read at once, and what one turn of a connection may read before others get theirs.
constexpr std::size_t block_bytes = 64 * 1024;
constexpr int reads_in_a_turn = 16;
// Messages so short altogether get memory of their own size.
constexpr std::size_t copied_bytes_max = 4096;
// A chunk up to this length is read at once, wherever it belongs; a longer one waits so long for its place.
constexpr std::size_t read_at_once_max = 64 * 1024;
constexpr auto wait_for_place = 20ms;
// Chunks of one process that nobody has asked for yet: what would go beyond waits in the kernel, and at its sender.
constexpr std::size_t unclaimed_bytes_max = std::size_t{64} << 20;
// What may wait to be written to one process before senders wait.
constexpr std::size_t unsent_bytes_max = 4 * 1024 * 1024;
constexpr int taken_in_a_pass = 32;
// How long others may take to come, and a stranger to say who he is.
constexpr auto start_max = 60s;
constexpr auto connect_max = 10s;
constexpr auto greeting_max = 5s;
constexpr int strangers_max = 64;  // Beside the processes of the job, which all may come at once.
// Who was not let in tries again after so long.
constexpr auto connect_again = 100ms;
// Who has gone without a word is dead unless somebody else says so before, who knows more.
constexpr auto silence_max = 2s;
constexpr const char* key_of_address = "weft.parcels.tcp";

std::unique_ptr<parcelport> make(const parcelport_name& name, const parcelport_site& site) {
  if (!name.detail.empty())
    throw error(formatted("parcelport tcp:{}: nothing stands behind a colon", name.detail));
  return std::make_unique<tcp_port>(site);
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

const parcelport_maker tcp_parcelport{[](std::string_view kind) noexcept { return kind == "tcp"; },
                                      &make};

// --- What there is of a process -------------------------------------------------------------------

// The chunks of one parcel.
struct tcp_port::gathering {
  std::vector<std::uint64_t> sizes;
  std::vector<std::unique_ptr<std::byte[]>> early;  // Those that came before their place was known.
  std::vector<std::span<std::byte>> places;         // Empty until then.
  std::size_t done = 0;                             // They come in their order.
  chunked_task* then = nullptr;
};

// A message of which the kernel has not taken all.
struct tcp_port::unsent {
  tcp_frame frame;
  std::span<const std::byte> bytes;
  std::unique_ptr<std::byte[]> heap;
  std::vector<parcel_chunk> chunks;
  kept_values* kept = nullptr;
  std::size_t sent = 0;
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t all = sizeof frame + bytes.size();
    for (const parcel_chunk& one : chunks) all += one.size;
    return all;
  }
};

struct tcp_port::peer {
  peer(int number, asio::io_context& in) : process(number), socket(in), waits(in), silence(in) {}

  const int process;
  tcp::socket socket;

  // Senders and the thread.
  std::mutex out_lock;
  std::deque<unsent> queue;
  bool is_written = false;               // By the thread, until the queue is empty.
  std::atomic<bool> is_closed{false};    // Changed under the lock; without it a hint.
  std::atomic<bool> is_to_close{false};  // Somebody has asked for it.
  std::atomic<bool> has_ended{false};    // It is closed, and all that it has told is acted upon.
  std::atomic<std::size_t> unsent_bytes{0};  // A hint.
  std::atomic<std::uint64_t> next_word{0};

  // The thread and those who receive.
  std::mutex in_lock;
  std::unordered_map<std::uint64_t, gathering> gatherings;
  std::size_t unclaimed_bytes = 0;
  bool is_broken = false;        // Nothing comes any more.
  bool waits_for_place = false;  // Of the chunk that is next.

  // The thread alone.
  asio::steady_timer waits, silence;
  bool has_come = false;       // Somebody who has this process's key and claims to be it.
  bool is_waited_for = false;  // Until there is something to read.
  std::unique_ptr<std::byte[]> block;
  std::size_t capacity = 0, filled = 0;  // Of the block: whole messages and what follows.
  // The chunks that are read now: those of `word`, of which the next one has come so far.
  bool in_chunks = false;
  std::uint64_t word = 0;
  std::byte* target = nullptr;
  std::unique_ptr<std::byte[]> early;
  std::size_t left = 0;
  bool has_said_end = false;
  bool ends_when_read = false;  // It is dead: what has come is read, and no more waited for.
};

// --- The thread -----------------------------------------------------------------------------------

class tcp_port::reader_and_writer {
 public:
  explicit reader_and_writer(tcp_port& of)
      : of_(of), keep_(asio::make_work_guard(context_)), acceptor_(context_) {}
  reader_and_writer(const reader_and_writer&) = delete;
  reader_and_writer& operator=(const reader_and_writer&) = delete;
  ~reader_and_writer() { stop(); }
  // Nothing is read or written any more.
  void stop() noexcept {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] asio::io_context& context() noexcept { return context_; }
  void meet_all();
  void say_end() noexcept;
  // Called by any thread: the thread writes what is left.
  void ask_to_write(peer& to) {
    asio::post(context_, [this, &to] { write_later(to); });
  }
  void ask_to_go_on(peer& from) {
    asio::post(context_, [this, &from] {
      from.waits.cancel();
      read(from);
    });
  }
  // When what has come before is read.
  void ask_to_close(peer& of) {
    asio::post(context_, [this, &of] {
      of.ends_when_read = true;
      read(of);
    });
  }

 private:
  // Who has connected and has not yet said who he is.
  struct stranger {
    explicit stranger(tcp::socket&& of, asio::io_context& in) : socket(std::move(of)), limit(in) {}
    tcp::socket socket;
    asio::steady_timer limit;
    tcp_greeting said;
  };

  [[nodiscard]] std::string said_of(int process, std::string_view what) const {
    return formatted("the connection for parcels with process {} on host {} {}", process,
                     of_.between_.job().host_of(process), what);
  }
  [[nodiscard]] int count() const { return of_.between_.process_count(); }
  void listen();
  void accept();
  void greet(const std::shared_ptr<stranger>& who);
  void judge(const std::shared_ptr<stranger>& who, const error_code& failure);
  void connect(int process);
  enum class attempt { connected, closed, failed };
  [[nodiscard]] attempt try_to_connect(int process, std::string& why_not);
  void settle(int process, tcp::socket&& by);
  void refuse_stranger(const char* why) noexcept;

  void wait_to_read(peer& from);
  void read(peer& from);
  bool read_some(peer& from);  // False: nothing more is there now.
  bool take_messages(peer& from);
  void hand_over(peer& from, std::size_t bytes);
  bool take_chunks(peer& from);
  bool find_place(peer& from);
  void end_chunk(peer& from);
  void write_later(peer& to);
  void go_silent(peer& of);
  void close(peer& of, const char* why);

  tcp_port& of_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> keep_;
  tcp::acceptor acceptor_;
  tcp_key key_;
  std::vector<tcp_address> addresses_;  // Of all, complete before the thread runs.
  std::thread thread_;
  int strangers_ = 0;
  bool has_refused_ = false;
  std::mutex start_lock_;
  std::condition_variable somebody_came_;
  int missing_ = 0;  // Of those that connect with this process.
};

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

// Those with greater numbers are connected to; the others come.
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
    std::this_thread::sleep_for(connect_again);
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
  {
    const std::lock_guard hold(of.out_lock);
    of.socket = std::move(by);
  }
  asio::post(context_, [this, &of] { wait_to_read(of); });
}

// --- Reading --------------------------------------------------------------------------------------

void tcp_port::reader_and_writer::wait_to_read(peer& from) {
  if (!from.socket.is_open() || std::exchange(from.is_waited_for, true)) return;
  from.socket.async_wait(tcp::socket::wait_read, [this, &from](const error_code& failure) {
    from.is_waited_for = false;
    if (!failure) read(from);
  });
}

void tcp_port::reader_and_writer::read(peer& from) {
  if (!from.socket.is_open()) return;
  for (int turn = 0; turn < reads_in_a_turn; ++turn)
    if (!read_some(from)) {
      // A chunk that waits for its place is gone on with when that is known, or after a while.
      const bool waits = [&] {
        const std::lock_guard hold(from.in_lock);
        return from.waits_for_place;
      }();
      if (waits) return;
      if (from.ends_when_read) return close(from, nullptr);
      return wait_to_read(from);
    }
  asio::post(context_, [this, &from] { read(from); });
}

bool tcp_port::reader_and_writer::read_some(peer& from) {
  if (!from.socket.is_open()) return false;
  error_code failure;
  std::size_t got = 0;
  if (from.in_chunks) {
    if (from.target == nullptr && !find_place(from)) return false;
    if (from.filled == 0) {
      got = from.socket.read_some(asio::buffer(from.target, from.left), failure);
      from.target += got;
      from.left -= got;
    } else {
      const std::size_t here = std::min(from.filled, from.left);
      std::memcpy(from.target, from.block.get(), here);
      from.target += here;
      from.left -= here;
      from.filled -= here;
      std::memmove(from.block.get(), from.block.get() + here, from.filled);
    }
    if (!failure) {
      if (from.left == 0) end_chunk(from);
      return true;
    }
  } else {
    if (from.block == nullptr) {
      from.block = std::make_unique_for_overwrite<std::byte[]>(block_bytes);
      from.capacity = block_bytes;
    }
    if (from.filled > 0 && take_messages(from)) return true;
    if (!from.socket.is_open()) return false;
    got = from.socket.read_some(
        asio::buffer(from.block.get() + from.filled, from.capacity - from.filled), failure);
    from.filled += got;
    if (!failure) {
      static_cast<void>(take_messages(from));
      return from.socket.is_open();
    }
  }
  if (failure == asio::error::would_block || failure == asio::error::try_again) return false;
  go_silent(from);
  return false;
}

// Whole messages at the beginning of the block. True when any was there.
bool tcp_port::reader_and_writer::take_messages(peer& from) {
  std::size_t whole = 0;
  while (from.filled - whole >= sizeof(tcp_frame)) {
    tcp_frame frame;
    std::memcpy(&frame, from.block.get() + whole, sizeof frame);
    if (const char* const why = why_refused(frame)) {
      close(from, why);
      return false;
    }
    if (frame.mark == tcp_mark::end) {
      from.has_said_end = true;
      whole += sizeof frame;
      continue;
    }
    const std::size_t size = sizeof frame + frame.bytes;
    if (from.filled - whole < size) {
      if (whole == 0 && size > from.capacity) {
        std::unique_ptr<std::byte[]> longer;
        try {
          longer = std::make_unique_for_overwrite<std::byte[]>(size);
        } catch (const std::bad_alloc&) {
          close(from, "there is no memory for a message from there");
          return false;
        }
        std::memcpy(longer.get(), from.block.get(), from.filled);
        from.block = std::move(longer);
        from.capacity = size;
      }
      break;
    }
    auto told = chunks_of({from.block.get() + whole + sizeof frame, frame.bytes}, frame.chunks);
    if (!told && frame.chunks != 0) {
      close(from, "a message whose chunks are not what it says");
      return false;
    }
    whole += size;
    if (frame.chunks != 0) {
      {
        const std::lock_guard hold(from.in_lock);
        const auto [at, is_new] = from.gatherings.try_emplace(told->word);
        if (is_new) {
          at->second.early.resize(told->sizes.size());
          at->second.sizes = std::move(told->sizes);
        }
        if (!is_new) whole = 0;
      }
      if (whole == 0) {
        close(from, "a message with chunks that are under way");
        return false;
      }
      from.in_chunks = true;
      from.word = told->word;
      break;
    }
  }
  if (whole == 0) return false;
  hand_over(from, whole);
  return true;
}

void tcp_port::reader_and_writer::hand_over(peer& from, std::size_t bytes) {
  happening came;
  came.process = from.process;
  came.bytes = bytes;
  const std::size_t rest = from.filled - bytes;
  if (bytes <= copied_bytes_max && from.capacity == block_bytes) {
    came.messages = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::memcpy(came.messages.get(), from.block.get(), bytes);
    std::memmove(from.block.get(), from.block.get() + bytes, rest);
  } else {
    came.messages = std::exchange(
        from.block, std::make_unique_for_overwrite<std::byte[]>(std::max(block_bytes, rest)));
    from.capacity = std::max(block_bytes, rest);
    std::memcpy(from.block.get(), came.messages.get() + bytes, rest);
  }
  from.filled = rest;
  of_.tell(std::move(came));
}

// Where the next chunk goes to. False: not known yet.
bool tcp_port::reader_and_writer::find_place(peer& from) {
  const std::lock_guard hold(from.in_lock);
  gathering& of = from.gatherings.find(from.word)->second;
  from.left = of.sizes[of.done];
  if (!of.places.empty()) {
    from.target = of.places[of.done].data();
    return true;
  }
  const bool has_waited = std::exchange(from.waits_for_place, true);
  // Without a timer: somebody who receives this or another one asks to go on. Until then TCP holds the sender back.
  if (from.unclaimed_bytes + from.left > unclaimed_bytes_max) return false;
  if (from.left > read_at_once_max && !has_waited) {
    from.waits.expires_after(wait_for_place);
    from.waits.async_wait([this, &from](const error_code& failure) {
      if (!failure) read(from);
    });
    return false;
  }
  try {
    from.early = std::make_unique_for_overwrite<std::byte[]>(from.left);
  } catch (const std::bad_alloc&) {
    asio::post(context_, [this, &from] { close(from, "there is no memory for its chunks"); });
    return false;
  }
  from.waits_for_place = false;
  from.unclaimed_bytes += from.left;
  from.target = from.early.get();
  return true;
}

void tcp_port::reader_and_writer::end_chunk(peer& from) {
  happening came;
  {
    const std::lock_guard hold(from.in_lock);
    const auto at = from.gatherings.find(from.word);
    gathering& of = at->second;
    from.target = nullptr;
    from.waits_for_place = false;
    if (from.early != nullptr) {
      if (of.places.empty()) {
        of.early[of.done] = std::move(from.early);
      } else {
        std::memcpy(of.places[of.done].data(), from.early.get(), of.sizes[of.done]);
        from.unclaimed_bytes -= of.sizes[of.done];
        from.early.reset();
      }
    }
    if (++of.done < of.sizes.size()) return;
    from.in_chunks = false;
    if (of.places.empty()) return;
    came.process = from.process;
    came.then = of.then;
    came.chunks = static_cast<std::uint32_t>(of.sizes.size());
    from.gatherings.erase(at);
  }
  of_.tell(std::move(came));
}

// The other side has closed the connection, or it broke.
void tcp_port::reader_and_writer::go_silent(peer& of) {
  if (of.has_said_end) return close(of, nullptr);
  close(of, nullptr);
  of.silence.expires_after(silence_max);
  of.silence.async_wait([this, &of](const error_code& failure) {
    if (failure) return;
    of_.between_.mark_failed(of.process, said_of(of.process, "has ended without a word"));
  });
}

// `why`: what has come from there, where that is to be told. Nothing more comes from there or goes there.
void tcp_port::reader_and_writer::close(peer& of, const char* why) {
  std::deque<unsent> left;
  {
    const std::lock_guard hold(of.out_lock);
    if (!of.socket.is_open()) return;
    error_code ignored;
    of.socket.close(ignored);
    of.is_closed.store(true, std::memory_order_relaxed);
    left.swap(of.queue);
    of.unsent_bytes.store(0, std::memory_order_relaxed);
  }
  of.waits.cancel();
  for (unsent& one : left)
    if (one.kept != nullptr) {
      happening gone;
      gone.kept = one.kept;
      of_.tell(std::move(gone));
    }
  std::vector<chunked_task*> given_up;
  {
    const std::lock_guard hold(of.in_lock);
    of.is_broken = true;
    for (auto& [word, one] : of.gatherings)
      if (one.then != nullptr) given_up.push_back(std::exchange(one.then, nullptr));
    of.gatherings.clear();
  }
  for (chunked_task* const then : given_up) {
    happening gone;
    gone.process = of.process;
    gone.then = then;
    gone.is_complete = false;
    of_.tell(std::move(gone));
  }
  happening last;
  last.process = of.process;
  last.ends = true;
  of_.tell(std::move(last));
  if (why == nullptr) return;
  happening told;
  told.process = of.process;
  told.refused = why;
  of_.tell(std::move(told));
  of_.between_.mark_failed(of.process, said_of(of.process, formatted("was closed: {}", why)));
}

// --- Writing --------------------------------------------------------------------------------------

namespace {

// As much as the kernel takes, from byte `from` on; negative: the connection is broken.
std::ptrdiff_t write_now(int socket, const tcp_frame& frame, std::span<const std::byte> bytes,
                         std::span<const parcel_chunk> chunks, std::size_t from) noexcept {
  iovec parts[2 + parcel_chunks_max];
  std::size_t count = 0;
  const auto add = [&](const void* data, std::size_t size) {
    if (from >= size) {
      from -= size;
      return;
    }
    parts[count++] = {const_cast<char*>(static_cast<const char*>(data)) + from, size - from};
    from = 0;
  };
  add(&frame, sizeof frame);
  add(bytes.data(), bytes.size());
  for (const parcel_chunk& one : chunks) add(one.data, one.size);
  msghdr what{};
  what.msg_iov = parts;
  what.msg_iovlen = count;
  const ssize_t sent = ::sendmsg(socket, &what, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return sent;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS ? 0 : -1;
}

}  // namespace

void tcp_port::reader_and_writer::write_later(peer& to) {
  std::vector<kept_values*> left;
  {
    const std::lock_guard hold(to.out_lock);
    while (to.socket.is_open() && !to.queue.empty()) {
      unsent& one = to.queue.front();
      const std::ptrdiff_t sent =
          write_now(to.socket.native_handle(), one.frame, one.bytes, one.chunks, one.sent);
      if (sent <= 0) break;  // A broken one is told by reading it.
      one.sent += static_cast<std::size_t>(sent);
      to.unsent_bytes.fetch_sub(static_cast<std::size_t>(sent), std::memory_order_relaxed);
      if (one.sent < one.size()) continue;
      if (one.kept != nullptr) left.push_back(one.kept);
      to.queue.pop_front();
    }
    to.is_written = to.socket.is_open() && !to.queue.empty();
    if (to.is_written)
      to.socket.async_wait(tcp::socket::wait_write, [this, &to](const error_code& failure) {
        if (!failure) write_later(to);
      });
  }
  for (kept_values* const one : left) {
    happening gone;
    gone.kept = one;
    of_.tell(std::move(gone));
  }
}

void tcp_port::reader_and_writer::say_end() noexcept {
  for (const auto& one : of_.peers_) {
    if (one == nullptr) continue;
    const std::lock_guard hold(one->out_lock);
    if (!one->socket.is_open() || !one->queue.empty()) continue;
    tcp_frame end;
    end.mark = tcp_mark::end;
    static_cast<void>(write_now(one->socket.native_handle(), end, {}, {}, 0));
  }
}

// Called by workers. `whole`: what else belongs to it.
void tcp_port::write(peer& to, std::span<const std::byte> bytes, outgoing_parcel* whole) noexcept {
  unsent now;
  now.frame.bytes = bytes.size();
  std::span<const parcel_chunk> chunks;
  if (whole != nullptr) chunks = whole->chunks;
  now.frame.chunks = static_cast<std::uint32_t>(chunks.size());
  kept_values* kept = whole != nullptr ? std::exchange(whole->kept, nullptr) : nullptr;
  bool asks = false;
  {
    const std::lock_guard hold(to.out_lock);
    std::size_t all = sizeof now.frame + bytes.size();
    for (const parcel_chunk& one : chunks) all += one.size;
    if (to.socket.is_open()) {
      if (to.queue.empty()) {
        const std::ptrdiff_t sent =
            write_now(to.socket.native_handle(), now.frame, bytes, chunks, 0);
        now.sent = static_cast<std::size_t>(std::max<std::ptrdiff_t>(sent, 0));
      }
      if (now.sent < all) {
        if (whole != nullptr && whole->heap != nullptr) {
          now.heap = std::move(whole->heap);
        } else {
          now.heap = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
          std::memcpy(now.heap.get(), bytes.data(), bytes.size());
          bytes = {now.heap.get(), bytes.size()};
        }
        now.bytes = bytes;
        now.chunks.assign(chunks.begin(), chunks.end());
        now.kept = std::exchange(kept, nullptr);
        to.unsent_bytes.fetch_add(all - now.sent, std::memory_order_relaxed);
        to.queue.push_back(std::move(now));
        asks = !std::exchange(to.is_written, true);
      }
    }
  }
  if (kept != nullptr) kept->free(*kept);
  if (asks) network_->ask_to_write(to);
}

// --- What the layer calls -------------------------------------------------------------------------

tcp_port::tcp_port(const parcelport_site& site)
    : receiver_(site.receiver), between_(site.between), workers_(site.workers) {
  network_ = std::make_unique<reader_and_writer>(*this);
  for (int p = 0; p < between_.process_count(); ++p)
    peers_.push_back(p == between_.process() ? nullptr
                                             : std::make_unique<peer>(p, network_->context()));
  try {
    network_->meet_all();
  } catch (...) {
    network_->stop();
    peers_.clear();  // Before what their sockets belong to.
    throw;
  }
  let_workers_look(site, *this);
}

// The workers have ended.
tcp_port::~tcp_port() {
  network_->say_end();
  network_->stop();
  for (const auto& one : peers_) {
    if (one == nullptr) continue;
    for (unsent& left : one->queue)
      if (left.kept != nullptr) left.kept->free(*left.kept);
    for (auto& [word, of] : one->gatherings)
      if (of.then != nullptr) of.then->abandon(*of.then);
  }
  for (happening& left : happened_) {
    if (left.kept != nullptr) left.kept->free(*left.kept);
    if (left.then != nullptr) left.then->abandon(*left.then);
  }
  peers_.clear();  // Before what their sockets belong to.
}

bool tcp_port::send(worker& here, outgoing_parcel& what) {
  const struct until_left {
    kept_values*& kept;
    ~until_left() {
      if (kept != nullptr) kept->free(*kept);
    }
  } freed{what.kept};
  peer& to = *peers_[static_cast<std::size_t>(what.process)];
  const auto has_room = [&to] {
    return to.unsent_bytes.load(std::memory_order_relaxed) < unsent_bytes_max ||
           to.is_closed.load(std::memory_order_relaxed);
  };
  if (!has_room()) [[unlikely]] {
    const port::awake until_there_is_room(network::of(here));
    here.wait_until(has_room, waits_at(waits_for_room, what.process));
  }
  if (to.is_closed.load(std::memory_order_relaxed)) [[unlikely]]
    return false;
  network::of(here).count_sent(what.process);
  if (!what.chunks.empty()) [[unlikely]] {
    // Relaxed: a number that no other parcel to there has is all that is wanted.
    const std::uint64_t word = to.next_word.fetch_add(1, std::memory_order_relaxed);
    std::memcpy(what.bytes.data() + what.bytes.size() - transmission_bytes(what.chunks.size()),
                &word, sizeof word);
    for (std::size_t i = 0; i < what.chunks.size(); ++i) network::of(here).count_sent(what.process);
  }
  write(to, what.bytes, &what);
  return true;
}

void tcp_port::send_at_once(worker& here, int process, int,
                            std::span<const std::byte> bytes) noexcept {
  peer& to = *peers_[static_cast<std::size_t>(process)];
  if (to.is_closed.load(std::memory_order_relaxed)) return;  // The dead need none.
  network::of(here).count_sent(process);
  write(to, bytes, nullptr);
}

void tcp_port::receive(worker& here, int process, std::uint64_t word,
                       std::span<const std::span<std::byte>> places, chunked_task& then) {
  peer& from = *peers_[static_cast<std::size_t>(process)];
  const char* why = nullptr;
  bool is_complete = false, goes_on = false;
  {
    const std::lock_guard hold(from.in_lock);
    const auto at = from.gatherings.find(word);
    const auto fits = [&](const gathering& of) {
      return std::ranges::equal(of.sizes, places, {}, {},
                                [](const auto& place) { return place.size(); });
    };
    if (from.is_broken) {
      why = "";
    } else if (at == from.gatherings.end() || at->second.then != nullptr) {
      why = "its chunks are those of no message";
    } else if (!fits(at->second)) {
      why = "its chunks are not as long as it says";
    } else {
      gathering& of = at->second;
      of.places.assign(places.begin(), places.end());
      for (std::size_t i = 0; i < of.done; ++i) {
        std::memcpy(places[i].data(), of.early[i].get(), places[i].size());
        from.unclaimed_bytes -= places[i].size();
        of.early[i].reset();
      }
      is_complete = of.done == places.size();
      if (is_complete) {
        from.gatherings.erase(at);
      } else {
        of.then = &then;
        here.owner().expect_work();  // Before the thread can see it.
      }
      // This may be what it waits for, or there is room for that now.
      goes_on = std::exchange(from.waits_for_place, false);
    }
  }
  if (why != nullptr) {
    if (*why != '\0') {
      refuse(here, {process, 0}, why);
      // The sender has counted them, and the job is to end.
      for (std::size_t i = 0; i < places.size(); ++i) network::of(here).count_received(process);
    }
    return then.abandon(then);
  }
  if (goes_on) network_->ask_to_go_on(from);
  if (!is_complete) return;
  for (std::size_t i = 0; i < places.size(); ++i) network::of(here).count_received(process);
  end_chunks(then, true);
}

void tcp_port::refuse(worker& here, const message_origin& from, const char* why) noexcept {
  comm::event what;
  what.process = from.process;
  network::of(here).device().refuse(what, why);
}

bool tcp_port::end_operations_with_dead(worker& here) noexcept {
  for (const auto& one : peers_)
    if (one != nullptr && !one->is_closed.load(std::memory_order_relaxed) &&
        !network::of(here).device().is_alive(one->process) &&
        !one->is_to_close.exchange(true, std::memory_order_relaxed))
      network_->ask_to_close(*one);
  return false;
}

bool tcp_port::has_delivered_all_of_dead(int process) noexcept {
  return peers_[static_cast<std::size_t>(process)]->has_ended.load(std::memory_order_relaxed);
}

// --- What workers do in their passes --------------------------------------------------------------

void tcp_port::tell(happening&& what) {
  {
    const std::lock_guard hold(lock_);
    happened_.push_back(std::move(what));
    // Relaxed: a hint, which whoever goes to sleep sees by the fences of its parking.
    waiting_.store(happened_.size(), std::memory_order_relaxed);
  }
  for (int i = 0; i < workers_.worker_count(); ++i)
    if (worker& one = workers_.at(i); one.is_parked()) return one.notify();
  workers_.at(0).notify();  // One that is about to sleep.
}

bool tcp_port::has_any() const noexcept {
  return waiting_.load(std::memory_order_relaxed) != 0;
}

bool tcp_port::look(worker& here) noexcept {
  if (!has_any()) [[likely]]
    return false;
  bool any = false;
  for (int left = taken_in_a_pass; left > 0; --left) {
    happening what;
    {
      const std::lock_guard hold(lock_);
      if (happened_.empty()) break;
      what = std::move(happened_.front());
      happened_.pop_front();
      waiting_.store(happened_.size(), std::memory_order_relaxed);
    }
    act_on(here, what);
    any = true;
  }
  return any;
}

void tcp_port::act_on(worker& here, happening& what) noexcept {
  if (what.kept != nullptr) what.kept->free(*what.kept);
  if (what.refused != nullptr) refuse(here, {what.process, 0}, what.refused);
  if (what.ends) {
    // Relaxed: whoever misses it is woken and looks again.
    peers_[static_cast<std::size_t>(what.process)]->has_ended.store(true,
                                                                    std::memory_order_relaxed);
    for (int i = 0; i < workers_.worker_count(); ++i) workers_.at(i).notify();
  }
  if (what.then != nullptr) {
    for (std::uint32_t i = 0; i < what.chunks; ++i) network::of(here).count_received(what.process);
    end_chunks(*what.then, what.is_complete);
    here.owner().end_work();
  }
  std::span<const std::byte> left(what.messages.get(), what.bytes);
  while (!left.empty()) {
    tcp_frame frame;
    std::memcpy(&frame, left.data(), sizeof frame);
    left = left.subspan(sizeof frame);
    if (frame.mark != tcp_mark::message) continue;
    // First, or this process could say that it has ended with this message, which is yet to become work.
    parcel_receiver::expect_work(here);
    network::of(here).count_received(what.process);
    receiver_.deliver(here, {what.process, 0}, left.first(frame.bytes));
    left = left.subspan(frame.bytes);
  }
}

}  // namespace weft::detail

#else  // Without Boost.Asio there is none.

namespace weft::detail {

const parcelport_maker tcp_parcelport{[](std::string_view) noexcept { return false; }, nullptr};

}  // namespace weft::detail

#endif
