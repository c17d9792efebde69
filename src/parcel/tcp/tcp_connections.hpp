// What there is of each other process, and the thread that meets the others, reads and writes: the inside of the tcp
// parcelport. Its functions are in files of their own: tcp_meeting.cpp who is let in, tcp_reading.cpp what comes and how a
// connection ends, tcp_writing.cpp what leaves, also from workers.
#pragma once
#if __has_include(<boost/asio/ip/tcp.hpp>)

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "parcel/tcp/tcp_port.hpp"
#include "parcel/tcp/tcp_wire.hpp"

namespace weft::detail {

namespace asio = boost::asio;
using asio::ip::tcp;
using error_code = boost::system::error_code;

// --- What there is of a process -------------------------------------------------------------------

// The chunks of one parcel.
struct tcp_port::gathering {
  std::vector<std::uint64_t> sizes;
  std::vector<std::unique_ptr<std::byte[]>> early;  // These came before their place was known.
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
  bool is_written = false;               // The thread writes it, until the queue is empty.
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
  bool waits_for_place = false;  // The next chunk has none yet.

  // The thread alone.
  asio::steady_timer waits, silence;
  bool has_come = false;       // Somebody who has this process's key and claims to be it.
  bool is_waited_for = false;  // Until there is something to read.
  std::unique_ptr<std::byte[]> block;
  std::size_t capacity = 0, filled = 0;  // The block holds whole messages and what follows.
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
      : of_(of), keep_(asio::make_work_guard(context_)), acceptor_(context_), links_(context_) {}
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
  // A stranger has connected and has not yet said who he is.
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
  void look_at_links();
  void go_silent(peer& of);
  void close(peer& of, const char* why);

  tcp_port& of_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> keep_;
  tcp::acceptor acceptor_;
  asio::steady_timer links_;
  tcp_key key_;
  std::vector<tcp_address> addresses_;  // They are complete before the thread runs.
  std::thread thread_;
  int strangers_ = 0;
  bool has_refused_ = false;
  std::mutex start_lock_;
  std::condition_variable somebody_came_;
  int missing_ = 0;  // So many have yet to connect with this process.
};

}  // namespace weft::detail

#endif
