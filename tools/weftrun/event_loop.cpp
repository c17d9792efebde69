#include "weftrun/event_loop.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/reasons.hpp"
#include "weft/error.hpp"

namespace weft {

void descriptor::reset(int number) noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

void set_nonblocking(int number) {
  ::fcntl(number, F_SETFL, ::fcntl(number, F_GETFL) | O_NONBLOCK);
}

event_loop::event_loop() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_)
    throw error(formatted("cannot make an event descriptor: {}", reason_with_limit(errno)));
  watch(wake_.get(), POLLIN, [this](short) { run_posted(); });
}

void event_loop::watch(int number, short events, ready_handler ready) {
  watched_[number] = {events, std::move(ready)};
}

void event_loop::change(int number, short events) {
  if (const auto found = watched_.find(number); found != watched_.end())
    found->second.events = events;
}

void event_loop::forget(int number) {
  watched_.erase(number);
}

void event_loop::after(double seconds, std::function<void()> what) {
  timers_.emplace(now_ns() + static_cast<std::uint64_t>(seconds * 1e9), std::move(what));
}

void event_loop::post(std::function<void()> what) {
  {
    const std::lock_guard hold(mutex_);
    posted_.push_back(std::move(what));
  }
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

void event_loop::run_posted() {
  std::uint64_t count;
  static_cast<void>(!::read(wake_.get(), &count, sizeof count));
  std::vector<std::function<void()>> words;
  {
    const std::lock_guard hold(mutex_);
    words.swap(posted_);
  }
  for (const auto& word : words) word();
}

int event_loop::ms_until_timer(std::uint64_t now) const {
  if (timers_.empty()) return -1;
  const std::uint64_t due = timers_.begin()->first;
  return due <= now
             ? 0
             : static_cast<int>(std::min<std::uint64_t>((due - now) / 1'000'000 + 1, 60'000));
}

void event_loop::run_timers(std::uint64_t due) {
  while (!stopping_ && !timers_.empty() && timers_.begin()->first <= due) {
    const auto what = std::move(timers_.extract(timers_.begin()).mapped());
    what();
  }
}

void event_loop::run() {
  stopping_ = false;
  std::vector<pollfd> waits;
  while (!stopping_) {
    const std::uint64_t now = now_ns();
    waits.clear();
    for (const auto& [number, what] : watched_) waits.push_back({number, what.events, 0});
    ::poll(waits.data(), waits.size(), ms_until_timer(now));
    for (const pollfd& wait : waits) {
      if (wait.revents == 0) continue;
      // An earlier handler may have closed it, and the number may be another's by now: that one is
      // called in vain, which every handler of a descriptor that does not block can bear.
      const auto found = watched_.find(wait.fd);
      if (found == watched_.end()) continue;
      const ready_handler ready = found->second.ready;  // It may forget itself.
      ready(wait.revents);
      if (stopping_) return;
    }
    // After the look, and only those that were due before it: a thread that did not run for long must
    // not take for silence what stands there unread.
    run_timers(now);
  }
}

channel::channel(event_loop& loop, descriptor in, descriptor out, frame_handler taken,
                 end_handler ended)
    : loop_(loop),
      in_(std::move(in)),
      out_(std::move(out)),
      taken_(std::move(taken)),
      ended_(std::move(ended)) {
  set_nonblocking(in_.get());
  if (out_) {
    set_nonblocking(out_.get());
    // Watched for errors as well as for room.
    loop_.watch(out_.get(), 0, [this](short events) { on_ready(events); });
  }
  loop_.watch(in_.get(), POLLIN, [this](short events) { on_ready(events); });
}

void channel::close() {
  if (in_) loop_.forget(in_.get());
  if (out_) loop_.forget(out_.get());
  in_.reset();
  out_.reset();
}

void channel::end(const std::string& why) {
  if (!open()) return;
  close();
  ended_(why);
}

void channel::send(const frame& what) {
  if (!open()) return;
  append_frame(unsent_, what);
  flush();
}

void channel::flush() {
  while (sent_ < unsent_.size()) {
    const ssize_t size = ::write(out(), unsent_.data() + sent_, unsent_.size() - sent_);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;  // Full; a broken one is found by reading.
    sent_ += static_cast<std::size_t>(size);
  }
  if (sent_ == unsent_.size()) {
    unsent_.clear();
    sent_ = 0;
  }
  const short room = unsent_.empty() ? short{0} : short{POLLOUT};
  if (out_)
    loop_.change(out_.get(), room);
  else
    loop_.change(in_.get(), static_cast<short>(POLLIN | room));
}

bool channel::read_once() {
  try {
    const bool more = frames_.read_from(in_.get());
    while (std::optional<frame> what = frames_.next()) {
      taken_(std::move(*what));
      if (!open()) return false;
    }
    if (!more) end("");
    return more;
  } catch (const error& failure) {
    end(failure.what());
    return false;
  }
}

void channel::drain() {
  while (open()) {
    pollfd wait{in_.get(), POLLIN, 0};
    if (::poll(&wait, 1, 0) <= 0 || !read_once()) return;
  }
}

void channel::on_ready(short events) {
  if ((events & POLLOUT) != 0) flush();
  if (!open()) return;
  pollfd wait{in_.get(), POLLIN, 0};
  if (::poll(&wait, 1, 0) > 0)
    read_once();
  else if ((events & (POLLERR | POLLHUP)) != 0)
    end("");
}

}  // namespace weft
