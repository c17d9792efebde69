// The 1-D stencil with uneven work of the Pure paper (its listings 1 and 2): every element costs a
// different and unknown time, so that ranks wait for their neighbours, and with tasks they take
// chunks of the neighbours' loops meanwhile.
//
// The work of a rank changes from step to step by a factor between 0 and 2 and that of an element
// by one between 0.5 and 1.5; both come from a hash, so all libraries do the same work. Perfect
// sharing is total work / cores, where the work is the processor time that the loops alone take,
// measured in the same process with all cores busy. Every variant must end with the same sums.
#include <ctime>
#include <stdexcept>

#include "adapter.hpp"

namespace {

constexpr double spins_mean = 96;  // About 100 ns an element.
constexpr std::size_t chunks = 64;

std::uint64_t hash(std::uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 29)) * 0x94d049bb133111eb;
  return x ^ (x >> 32);
}

double uniform(std::uint64_t key) {
  return static_cast<double>(hash(key) >> 11) * 0x1p-53;
}

// Returns about x, after a time that only it knows.
double random_work(double x, double factor, std::uint64_t key) {
  const long spins = static_cast<long>(spins_mean * factor * (0.5 + uniform(key)));
  double y = 1;
  for (long i = 0; i < spins; ++i) y = 0.5 * y + 0.5 * x;
  return y;
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class stencil {
 public:
  stencil(bench::peers& p, std::size_t cells) : p_(p), a_(cells), temp_(cells) { reset(); }

  void reset() {
    for (std::size_t i = 0; i < a_.size(); ++i)
      a_[i] = uniform(static_cast<std::uint64_t>(p_.rank()) * a_.size() + i);
  }

  double sum() const {
    double total = 0;
    for (const double x : a_) total += x;
    return total;
  }

  // The loop of one step, elements [begin, end).
  void work(long step, std::size_t begin, std::size_t end) {
    const auto key =
        static_cast<std::uint64_t>(p_.rank() + 1) << 40 | static_cast<std::uint64_t>(step) << 20;
    const double factor = 2 * uniform(key);
    for (std::size_t i = begin; i < end; ++i) temp_[i] = random_work(a_[i], factor, key + i);
  }

  void average_and_exchange() {
    const std::size_t last = a_.size() - 1;
    for (std::size_t i = 1; i < last; ++i) a_[i] = (temp_[i - 1] + temp_[i] + temp_[i + 1]) / 3;
    const int rank = p_.rank();
    if (rank > 0) {
      p_.send(temp_[0], rank - 1);
      a_[0] = (p_.recv<double>(rank - 1) + temp_[0] + temp_[1]) / 3;
    }
    if (rank < p_.size() - 1) {
      p_.send(temp_[last], rank + 1);
      a_[last] = (temp_[last - 1] + temp_[last] + p_.recv<double>(rank + 1)) / 3;
    }
  }

  void steps(long count) {
    for (long step = 0; step < count; ++step) {
      work(step, 0, a_.size());
      average_and_exchange();
    }
  }

  // Processor time of the loops of all ranks, in ns a core: perfect sharing.
  double perfect(long count) {
    p_.barrier();
    const double start = thread_seconds();
    for (long step = 0; step < count; ++step) work(step, 0, a_.size());
    return p_.sum(thread_seconds() - start) * 1e9 / p_.workers();
  }

#ifdef WEFT_MPI_H
  // The three lines that an MPI program takes: the header, the loop's body as a function, the call.
  void steps_with_tasks(long count) {
    for (long step = 0; step < count; ++step) {
      step_ = step;
      weft_parallel_for(
          0, chunks,
          [](std::size_t first, std::size_t last, void* of) {
            auto& s = *static_cast<stencil*>(of);
            const auto border = [&](std::size_t chunk) {
              return weft_aligned_border(s.temp_.data(), sizeof(double), s.temp_.size(), chunk,
                                         chunks);
            };
            s.work(s.step_, border(first), border(last));
          },
          this);
      average_and_exchange();
    }
  }
#endif

#ifndef BENCH_OVER_MPI
  void steps_with_tasks(long count) {
    weft::loop_task task(chunks, [this](std::size_t first, std::size_t last, long& step) {
      for (std::size_t chunk = first; chunk < last; ++chunk) {
        const auto range = weft::aligned_range(temp_.data(), temp_.size(), chunk, chunks);
        work(step, range.begin, range.end);
      }
    });
    for (long step = 0; step < count; ++step) {
      task.execute(step);
      average_and_exchange();
    }
  }
#endif

 private:
  bench::peers& p_;
  std::vector<double> a_, temp_;
  [[maybe_unused]] long step_ = 0;  // Of the loop under way, for those who help.
};

void measure(bench::peers& p, std::size_t bytes) {
  const std::string size = std::to_string(bytes >> 10) + "KiB";
  if (!bench::wanted("stencil/step/" + size)) return;
  const long count =
      std::max(1, std::atoi(bench::setting("BENCH_STEPS", bytes <= 8192 ? "200" : "100").c_str()));
  stencil s(p, bytes / sizeof(double));
  double expected = 0;
  // The perfect time is taken anew before every repetition: processors change their pace.
  const auto variant = [&](const std::string& suffix, auto&& run) {
    std::vector<double> steps_us, shares;
    bench::samples_of(
        p,
        [&](long) {
          bench::rest(p);
          const double perfect = s.perfect(count);
          s.reset();
          bench::rest(p);
          const double took = bench::time_of(p, run);
          steps_us.push_back(took / 1e3 / static_cast<double>(count));
          shares.push_back(100 * perfect / took);
          return took;
        },
        0);
    const double sum = p.sum(s.sum());
    if (expected == 0) expected = sum;
    if (sum != expected) throw std::runtime_error("stencil" + suffix + ": sums differ");
    if (p.rank() != 0) return;
    bench::print_row("stencil/step/" + size, bench::setup_of(p, suffix), "us", steps_us);
    bench::print_row("stencil/share/" + size, bench::setup_of(p, suffix), "%", shares);
  };
#ifndef BENCH_OVER_MPI
  variant("", [&] { s.steps_with_tasks(count); });
  if (bench::setting("BENCH_VARIANT", "").empty()) variant("-no-tasks", [&] { s.steps(count); });
#else
  variant("", [&] { s.steps(count); });
#ifdef WEFT_MPI_H
  variant("-tasks", [&] { s.steps_with_tasks(count); });
#endif
#endif
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    measure(p, 8 << 10);
    measure(p, 64 << 10);
  });
}
