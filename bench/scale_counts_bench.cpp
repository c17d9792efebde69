// What one operation takes as workers and ranks grow, each rank on a worker of its own: instructions outside of waiting, and lines of the
// cache that move between workers. Nothing is timed, so workers may be more than cores. bench/scale_counts.py starts it:
//   bench-scale_counts OPERANDS WORKERS [REPETITIONS [messages]]
// With `messages` it leaves collectives out.
// Prints "operation,workers,instructions,instructions_max,lines,lines_max" of the rank in the middle and of the rank with most.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "single_steps.hpp"
#include "weft/weft.hpp"

#if defined(__x86_64__) && defined(__linux__)
namespace {

using bench::single_steps;
using bench::stepped_counts;

double middle(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

struct costs {
  std::vector<double> steps, steps_max, lines, lines_max;
};

void print(const std::string& name, int workers, const costs& all) {
  if (all.steps.empty()) return;
  std::printf("%s,%d,%.0f,%.0f,%.2f,%.2f\n", name.c_str(), workers, middle(all.steps),
              middle(all.steps_max), middle(all.lines), middle(all.lines_max));
  std::fflush(stdout);
}

// Ranks take turns without a wait of weft's: threads sleep.
class turns {
 public:
  void wait_for(int turn) const {
    for (int now = turn_.load(); now < turn; now = turn_.load()) turn_.wait(now);
  }
  void advance() {
    ++turn_;
    turn_.notify_all();
  }
  void meet(int all) {
    const int round = round_.load();
    if (++arrived_ == all) {
      arrived_ = 0;
      ++round_;
      round_.notify_all();
    } else {
      while (round_.load() == round) round_.wait(round);
    }
  }

 private:
  std::atomic<int> turn_{0}, arrived_{0}, round_{0};
};

constexpr int warm_up = 4;

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--start") {  // For valgrind.
    weft::options options;
    options.ranks = std::atoi(argv[2]);
    options.workers = 1;
    weft::run(options, [](weft::communicator&) {});
    return 0;
  }
  if (argc < 3) {
    std::fputs(
        "bench-scale_counts OPERANDS WORKERS [REPETITIONS [messages]]; bench/scale_counts.py starts it\n",
        stderr);
    return 2;
  }
  const int n = std::atoi(argv[2]), repetitions = argc > 3 ? std::atoi(argv[3]) : 5;
  single_steps steps(argv[1]);
  steps.rest_ms(std::max(n / 8, 1));
  turns turn;
  weft::options options;
  options.ranks = options.workers = n;
  options.pin = false;
  options.spin_us = 1'000'000;  // Nobody sleeps: what a wake-up takes is the kernel's.
  options.busy_warning_s = 0;
  std::vector<stepped_counts> counts(static_cast<std::size_t>(n));
  weft::run(options, [&](weft::communicator& world) {
    const int me = world.rank();
    const auto number = static_cast<unsigned>(me);
    steps.join(number);
    stepped_counts& own = counts[number];
    const auto counted = [&](const auto& body) {
      single_steps::begin();
      body();
      single_steps::end();
      own = steps.take(number);
    };
    // What begin() and end() take themselves.
    stepped_counts nothing;
    counted([] {});
    nothing = own;
    const auto without = [&](std::uint64_t all) {
      return static_cast<double>(all - std::min(all, nothing.work));
    };
    // Every rank does it at once; the first repetitions bring the lines where they are later.
    const auto collective = [&](const char* name, const auto& body) {
      costs all;
      for (int i = 0; i < warm_up + repetitions; ++i) {
        counted(body);
        turn.meet(n);
        if (me == 0 && i >= warm_up) {
          std::vector<double> each, lines;
          for (const stepped_counts& c : counts) {
            each.push_back(without(c.work));
            lines.push_back(static_cast<double>(c.moved));
          }
          all.steps.push_back(middle(each));
          all.steps_max.push_back(*std::ranges::max_element(each));
          all.lines.push_back(middle(lines));
          all.lines_max.push_back(*std::ranges::max_element(lines));
        }
        turn.meet(n);
      }
      if (me == 0) print(name, n, all);
    };
    // Every pair of ranks has a mailbox, as after an all-to-all by messages. Nobody waits for a thread that has no core.
    turn.meet(n);
    for (int step = 1; step < n; ++step) world.send(me, (me + step) % n);
    turn.meet(n);
    for (int step = 1; step < n; ++step) (void)world.recv<int>((me + n - step) % n);
    turn.meet(n);
    // One sends, then the other receives, while all others sleep outside.
    const auto message = [&](int from) {
      costs send, receive;
      for (int i = 0; i < warm_up + repetitions; ++i) {
        if (me == 0) {
          counted([&] { world.send(std::uint64_t{1}, 1); });
          if (i >= warm_up) {
            send.steps.push_back(without(own.work));
            send.lines.push_back(static_cast<double>(own.moved));
          }
        }
        turn.meet(n);
        if (me == 1) {
          std::uint64_t got = 0;
          counted([&] { got = world.recv<std::uint64_t>(from); });
          if (got != 1) std::abort();
        }
        turn.meet(n);
        if (me == 0 && i >= warm_up) {
          receive.steps.push_back(without(counts[1].work));
          receive.lines.push_back(static_cast<double>(counts[1].moved));
        }
        turn.meet(n);
      }
      if (me != 0) return;
      send.steps_max = send.steps;
      send.lines_max = send.lines;
      receive.steps_max = receive.steps;
      receive.lines_max = receive.lines;
      if (from >= 0) print("send 8 B", n, send);
      print(from >= 0 ? "receive 8 B" : "receive 8 B from any source", n, receive);
    };
    message(0);
    message(weft::any_source);
    {
      costs asked;
      for (int i = 0; i < warm_up + repetitions; ++i) {
        if (me == 1) counted([&] { (void)world.iprobe(0); });
        turn.meet(n);
        if (me == 0 && i >= warm_up) {
          asked.steps.push_back(without(counts[1].work + counts[1].waiting));
          asked.lines.push_back(static_cast<double>(counts[1].moved));
        }
        turn.meet(n);
      }
      asked.steps_max = asked.steps;
      asked.lines_max = asked.lines;
      if (me == 0) print("iprobe that finds nothing", n, asked);
    }
    if (argc > 4) return;
    // Rank 1 waits while nobody has work.
    {
      costs probe;
      for (int i = 0; i < repetitions; ++i) {
        if (me == 1) counted([&] { (void)world.recv<int>(0); });
        if (me == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
          world.send(1, 1);
        }
        turn.meet(n);
        const stepped_counts& c = counts[1];
        if (me == 0 && c.probes != 0) {
          probe.steps.push_back(static_cast<double>(c.probe_steps) / static_cast<double>(c.probes));
          probe.lines.push_back(0);
        }
        turn.meet(n);
      }
      probe.steps_max = probe.steps;
      probe.lines_max = probe.lines;
      if (me == 0) print("stealing probe that finds nothing", n, probe);
    }
    collective("barrier", [&] { world.barrier(); });
    collective("all-reduce 8 B", [&] {
      if (world.allreduce(std::uint64_t{1}, std::plus<>()) != static_cast<std::uint64_t>(n))
        std::abort();
    });
    std::uint64_t value = 1;
    collective("broadcast 8 B", [&] { world.bcast(value, 0); });
  });
  return 0;
}
#else
int main() {
  std::fputs("bench-scale_counts: only on x86-64 Linux\n", stderr);
  return 2;
}
#endif
