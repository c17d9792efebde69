// Two who send to each other, for `weft-breakdown measure`: the injection and the latency test of
// "Breaking Band". Compiled twice: as it is, for what such a test observes, and with WEFT_STAGES, for the
// time between two stage points (profile/stages.hpp), one pair of them at a time.
//
// Both sides walk through the same list of phases, so that no other message is needed.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "profile/armed_stages.hpp"
#include "profile/stages.hpp"

namespace weft::pair {

struct request {
  std::string face;       // ranks, fellows (ranks of one worker) or comm.
  std::string transport;  // Of comm.
  std::size_t bytes = 8;
  int samples = 1000;  // Of each component.
};
// Prints a line for each component, "name value value ...", in nanoseconds. Exit status.
int run(const request& wanted);
int run_ranks(const request& wanted);
int run_comm(const request& wanted);

constexpr int window_usual = 64;
// Windows whose observed cost is compared with the model.
constexpr int windows[] = {1, 2, 4, 8, 16, 32, 64};
// What the time of a phase is.
enum class timed : std::uint8_t {
  stage,   // Of one message between two stage points.
  wait,    // The same; the first point comes before a wait, which hides what its stamp takes.
  posts,   // Of a window of posts in a row, for each.
  answer,  // Of the wait for the answer to a window, for each of its messages.
  takes,   // Between two messages of a window that the first takes, and the other posts in a row.
};
struct phase {
  const char* name;
  bool is_latency;
  stages::point from = stages::point::none;
  stages::point to = stages::point::none;
  timed what = timed::stage;
  // How many messages one pair of stamps is for.
  [[nodiscard]] int messages() const noexcept {
    return what == timed::posts || what == timed::answer ? window_usual
           : what == timed::takes                        ? window_usual - 1
                                                         : 1;
  }
  // Rows have their stamps before and behind them, and are timed in the program without stage points.
  [[nodiscard]] bool is_of_row() const noexcept {
    return what != timed::stage && what != timed::wait;
  }
  // A wait goes on while a stamp before it is taken: the message is no later for it, and the stamp behind it is read as long
  // after the message as the one before it after its point.
  [[nodiscard]] bool hides_stamps() const noexcept {
    return what == timed::wait || what == timed::answer;
  }
};
[[nodiscard]] std::vector<phase> phases_of(const std::string& face);

#ifdef WEFT_STAGES
inline constexpr bool is_staged = true;
#else
inline constexpr bool is_staged = false;
#endif

inline void print(const std::string& name, const std::vector<double>& values) {
  std::printf("%s", name.c_str());
  for (const double one : values) std::printf(" %.2f", one);
  std::printf("\n");
}

// `Face` has post(value) and take(), which returns the value of the next message.
template <class Face>
class side {
 public:
  side(Face& face, const request& wanted, bool is_first)
      : face_(face),
        samples_(wanted.samples),
        is_first_(is_first),
        phases_(phases_of(wanted.face)) {}

  void walk() {
#ifdef WEFT_STAGES
    if (is_first_) print("overhead", overhead());
    for (const phase& each : phases_)
      if (!each.is_of_row()) measure(each);
#else
    observe_latency();
    for (const int window : windows) observe_injection(window);
    for (const phase& each : phases_)
      if (each.is_of_row()) measure_row(each);
#endif
  }

 private:
  using point = stages::point;
  static constexpr int warm = 200;
  static constexpr int warm_windows = 20;

  // Only the first looks: both may be on one thread.
  [[gnu::always_inline]] void post(std::uint64_t value) {
    if (is_first_) stages::pass(point::entry);
    face_.post(value);
    if (is_first_) stages::pass(point::left);
  }
  [[gnu::always_inline]] std::uint64_t take() {
    const std::uint64_t value = face_.take();
    if (is_first_) stages::pass(point::taken);
    return value;
  }
  [[gnu::always_inline]] void one_window(int window) {
    if (is_first_) {
      for (int i = 0; i < window; ++i) post(1);
      take();
    } else {
      for (int i = 0; i < window; ++i) take();
      post(1);
    }
  }

#ifndef WEFT_STAGES
  void observe_latency() {
    std::vector<double> ns;
    std::uint64_t value = 1, before = ticks();
    const double of_stamp = stamp_ns();
    for (int sample = -warm; sample < samples_ * 4; ++sample) {
      if (is_first_) post(value);
      value = take();
      if (!is_first_) post(value);
      // As the paper does: half of what the test does for each round trip is no part of the message.
      const std::uint64_t now = ticks();
      if (sample >= 0)
        ns.push_back((static_cast<double>(now - before) * ns_per_tick() - of_stamp) / 2);
      before = now;
    }
    if (is_first_) print("latency", ns);
  }
  // One time stamp, and keeping it.
  static double stamp_ns() {
    constexpr int count = 20'000;
    std::vector<std::uint64_t> kept(64);
    const std::uint64_t begun = ticks();
    for (std::size_t i = 0; i < count; ++i) kept[i % kept.size()] = ticks();
    return static_cast<double>(ticks() - begun) * ns_per_tick() / count;
  }
  void observe_injection(int window) {
    std::vector<double> ns;
    const double of_stamp = stamp_ns();
    for (int sample = -warm_windows; sample < samples_ / 2; ++sample) {
      const std::uint64_t begun = ticks();
      one_window(window);
      const auto took = static_cast<double>(ticks() - begun);
      if (sample >= 0) ns.push_back((took * ns_per_tick() - of_stamp) / window);
    }
    if (is_first_) print("injection:" + std::to_string(window), ns);
  }
  void measure_row(const phase& p) {
    std::vector<double> ns;
    for (int i = -warm_windows; i < samples_; ++i) {
      std::uint64_t begun = 0, ended = 0;
      if (is_first_ == (p.what == timed::takes)) {
        take();
        begun = stages::begin_stamp();
        for (int k = 1; k < window_usual; ++k) take();
        ended = stages::stamp();
        post(1);
      } else {
        begun = stages::begin_stamp();
        for (int k = 0; k < window_usual; ++k) post(1);
        if (p.what == timed::answer) begun = stages::begin_stamp();
        if (p.what == timed::posts) ended = stages::stamp();
        take();
        if (p.what == timed::answer) ended = stages::stamp();
      }
      if (i >= 0) ns.push_back(static_cast<double>(ended - begun) * ns_per_tick() / p.messages());
    }
    if (is_first_) print(p.name, ns);
  }
#else
  // Prime, so that each message of a window has its turn.
  static constexpr int period_of_messages = 13, period_of_round_trips = 3;

  // What a pair of points adds to a stage. Around nothing it would be some nanoseconds more, which a stage with work in it
  // hides: so it is measured around work of a known length. The counter may go on in steps of ten nanoseconds; behind
  // pauses of any length its steps lie anywhere in the pair, and the mean is exact.
  std::vector<double> overhead() {
    const double of_work = work_ns();
    std::vector<std::uint32_t> kept(static_cast<std::size_t>(samples_));
    arm({"", true, point::entry, point::left}, kept, 1);
    std::uint32_t random = 1;
    for (int i = -warm; i < samples_; ++i) {
      if (i == 0) stages::armed.count = 0;
      random = random * 1664525 + 1013904223;
      for (std::uint32_t left = random >> 25; left != 0; --left) asm volatile("");
      stages::pass(point::entry);
      random = worked(random);
      stages::pass(point::left);
    }
    std::vector<double> ns = taken_from(kept);
    for (double& one : ns) one -= of_work;
    return ns;
  }
  // Some ten nanoseconds of work, each step of which needs the one before.
  [[gnu::always_inline]] static std::uint32_t worked(std::uint32_t value) {
    for (int i = 0; i < 16; ++i) {
      value *= 1664525;
      asm volatile("" : "+r"(value));
    }
    return value;
  }
  static double work_ns() {
    constexpr int count = 2000, tries = 20;
    std::uint32_t value = 1;
    double least = std::numeric_limits<double>::infinity();
    for (int k = 0; k < tries; ++k) {
      const std::uint64_t begun = ticks();
      for (int i = 0; i < count; ++i) value = worked(value);
      least = std::min(least, static_cast<double>(ticks() - begun) * ns_per_tick() / count);
    }
    return least;
  }
  static void arm(const phase& p, std::vector<std::uint32_t>& kept, int period) {
    stages::armed = {};
    stages::armed.from = stages::armed.watched = p.from;
    stages::armed.to = p.to;
    stages::armed.period = static_cast<std::uint32_t>(period);
    stages::armed.ticks = kept.data();
    stages::armed.room = static_cast<std::uint32_t>(kept.size());
  }
  static std::vector<double> taken_from(const std::vector<std::uint32_t>& kept) {
    std::vector<double> ns;
    for (std::uint32_t i = 0; i < stages::armed.count; ++i) ns.push_back(kept[i] * ns_per_tick());
    stages::armed = {};
    return ns;
  }

  void measure(const phase& p) {
    std::vector<std::uint32_t> kept(static_cast<std::size_t>(samples_));
    if (p.is_latency)
      measure_latency(p, kept);
    else
      measure_injection(p, kept);
    if (!is_first_) return;
    std::vector<double> ns = taken_from(kept);
    for (double& one : ns) one /= p.messages();
    print(p.name, ns);
  }
  void measure_latency(const phase& p, std::vector<std::uint32_t>& kept) {
    for (int i = -warm; i < samples_ * period_of_round_trips; ++i) {
      if (is_first_) {
        if (i == 0) arm(p, kept, period_of_round_trips);
        post(1);
        take();
      } else {
        take();
        post(1);
      }
    }
  }
  void measure_injection(const phase& p, std::vector<std::uint32_t>& kept) {
    const int count = samples_ * period_of_messages / window_usual + 1;
    for (int i = -warm_windows; i < count; ++i) {
      if (i == 0 && is_first_) arm(p, kept, period_of_messages);
      one_window(window_usual);
      if (is_first_) stages::armed.forget();
    }
  }
#endif

  Face& face_;
  const int samples_;
  const bool is_first_;
  const std::vector<phase> phases_;
};

}  // namespace weft::pair
