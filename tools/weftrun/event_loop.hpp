// What a thread waits for: descriptors, times, and words of other threads. One thread runs it and
// calls everything; post() alone may be called by others.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "bootstrap/local/frame.hpp"

namespace weft {

// A descriptor that is closed with its owner.
class descriptor {
 public:
  explicit descriptor(int number = -1) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~descriptor() { reset(); }
  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  int release() noexcept {
    const int number = number_;
    number_ = -1;
    return number;
  }
  void reset(int number = -1) noexcept;

 private:
  int number_;
};

class event_loop {
 public:
  event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  // Calls `ready` with what poll() reports, as long as it is watched. A handler may forget any.
  using ready_handler = std::function<void(short events)>;
  void watch(int number, short events, ready_handler ready);
  void change(int number, short events);
  void forget(int number);

  // Called when whatever had come by that time has been looked at, however late that is.
  void after(double seconds, std::function<void()> what);
  void post(std::function<void()> what);  // By any thread.

  void run();  // Until stop().
  void stop() { stopping_ = true; }

 private:
  struct watched {
    short events;
    ready_handler ready;
  };
  void run_posted();
  [[nodiscard]] int ms_until_timer(std::uint64_t now) const;  // -1: there is none.
  void run_timers(std::uint64_t due);

  std::map<int, watched> watched_;
  std::multimap<std::uint64_t, std::function<void()>> timers_;  // By the time when they are due.
  bool stopping_ = false;
  descriptor wake_;
  std::mutex mutex_;  // Of posted_.
  std::vector<std::function<void()>> posted_;
};

// Frames over a pair of descriptors, neither of which may block the thread of the loop.
class channel {
 public:
  using frame_handler = std::function<void(frame)>;
  using end_handler = std::function<void(const std::string& why)>;
  // `why` is empty when the other side closed it between two frames. Called once, from the loop.
  channel(event_loop& loop, descriptor in, descriptor out, frame_handler taken, end_handler ended);
  channel(event_loop& loop, descriptor both, frame_handler taken, end_handler ended)
      : channel(loop, std::move(both), descriptor(), std::move(taken), std::move(ended)) {}
  ~channel() { close(); }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  void send(const frame& what);
  // Takes what has come already and is not read yet, up to the end.
  void drain();
  bool open() const noexcept { return static_cast<bool>(in_); }
  std::size_t unsent_bytes() const noexcept { return unsent_.size() - sent_; }

 private:
  int out() const noexcept { return out_ ? out_.get() : in_.get(); }
  void on_ready(short events);
  bool read_once();
  void flush();
  void end(const std::string& why);
  void close();

  event_loop& loop_;
  descriptor in_;
  descriptor out_;  // None: in_ goes both ways.
  frame_handler taken_;
  end_handler ended_;
  frame_reader frames_;
  std::string unsent_;
  std::size_t sent_ = 0;
};

void set_nonblocking(int number);

}  // namespace weft
