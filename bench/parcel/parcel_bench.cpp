// The microbenchmarks of the study of HPX's LCI parcelport (Yan et al., sections 4.1 and 4.2) with weft's parcels:
// message rate against attempted injection rate, and latency of chains against size and window. Two localities;
// bench/parcel/study.py runs it over every parcelport. --help says how.
//
// A row of CSV for each point and repetition. Every message is looked at: what the receiver has added up must be what
// was sent.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <weft/options.hpp>
#include <weft/parcels.hpp>
#include <weft/run.hpp>

#include "report.hpp"

namespace {

using value = std::uint64_t;
using long_message = std::vector<value>;

constexpr const char* help =
    R"(weftrun --processes 2 bench-parcel WHAT [OPTIONS]     a row of CSV for each point and repetition

WHAT
  rate      locality 0 makes tasks at a fixed rate, each of which posts a batch of messages; the other one answers
            once, when it has all of them
  latency   chains of messages that go back and forth, each hop by another task; microseconds of a hop
  local     an empty action is called in the own locality and waited for; microseconds of a call

OPTIONS (and their defaults)
  --sizes B,...      bytes of a message, multiples of 8 (8)
  --rates N,...      of rate: messages a second to be attempted, 0 as many as can be (0)
  --batch N          of rate: messages of a task (100)
  --messages N       of rate: of a point; of local: calls (500000)
  --seconds S        of rate: fewer messages where a point would last longer than that at the attempted rate (0: never)
  --windows N,...    of latency: chains at the same time (1)
  --hops N           of latency: messages of a chain, even (1000)
  --repetitions N    (1)

The parcelport is the job's: weftrun --parcelport NAME. Exit status: 1 when messages were lost or changed, 2 when what is
asked for makes no sense.
)";

// --- Message rate ---------------------------------------------------------------------------------

// At the receiver.
std::atomic<value> expected = 0, received = 0, sum = 0;
// At the sender.
weft::promise<value> all_are_there;

void begin(value count) {
  expected = count;
  received = sum = 0;
}
void end(value got) {
  all_are_there.set_value(got);
}
void arrive(value what) {
  sum.fetch_add(what, std::memory_order_relaxed);
  if (received.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      expected.load(std::memory_order_relaxed))
    weft::post(weft::locality(0), weft::action<&end>, sum.load(std::memory_order_relaxed));
}
void take_word(value what) {
  arrive(what);
}
void take_long(const long_message& what) {
  arrive(what.front() + what.back());
}

const weft::locality other(1);

void send(std::size_t size, value what) {
  if (size == sizeof what) {
    weft::post(other, weft::action<&take_word>, what);
  } else {
    long_message all(size / sizeof what);
    all.front() = all.back() = what;
    weft::post(other, weft::action<&take_long>, std::move(all));
  }
}

struct rate_point {
  std::size_t size;
  double attempted;  // Messages a second; 0: no limit.
  long batch, messages;
};
struct rates {
  double injected, achieved;  // Messages a second.
  bool is_right;
};

rates measure_rate(const rate_point& point) {
  const auto messages = static_cast<value>(point.messages);
  weft::sync(other, weft::action<&begin>, messages);
  all_are_there = weft::promise<value>();
  weft::future<value> got = all_are_there.get_future();
  const double ns_each = point.attempted > 0 ? 1e9 / point.attempted : 0;
  const double start = bench::clock_ns();
  for (long first = 0; first < point.messages; first += point.batch) {
    // The worker runs tasks meanwhile, and receives; it is the only one where there are few cores.
    do weft::yield();
    while (bench::clock_ns() < start + static_cast<double>(first) * ns_each);
    const long last = std::min(first + point.batch, point.messages);
    static_cast<void>(weft::spawn([first, last, size = point.size] {
      for (long i = first; i < last; ++i) send(size, static_cast<value>(i) + 1);
    }));
  }
  const double injected = bench::clock_ns() - start;
  const value seen = got.get();
  const double communicated = bench::clock_ns() - start;
  const value all = messages * (messages + 1) / 2;
  const double count = static_cast<double>(point.messages) * 1e9;
  return {count / injected, count / communicated,
          seen == (point.size == sizeof(value) ? all : 2 * all)};
}

// --- Latency --------------------------------------------------------------------------------------

std::atomic<long> chains_left = 0;
std::atomic<bool> chains_are_right = true;
std::atomic<value> hops_of_chain = 0;
weft::promise<void> chains_have_ended;

void end_chain(value hops) {
  if (hops != hops_of_chain) chains_are_right = false;
  if (chains_left.fetch_sub(1, std::memory_order_acq_rel) == 1) chains_have_ended.set_value();
}
weft::locality across() {
  return weft::locality(1 - weft::here().number());
}
void hop_word(std::int32_t left, value hops) {
  if (left == 0) return end_chain(hops + 1);
  weft::post(across(), weft::action<&hop_word>, left - 1, hops + 1);
}
void hop_long(std::int32_t left, long_message hops) {
  ++hops.front();
  if (++hops.back(); left == 0) return end_chain(hops.front() == hops.back() ? hops.front() : 0);
  weft::post(across(), weft::action<&hop_long>, left - 1, std::move(hops));
}

struct latency_point {
  std::size_t size;
  long window;
  std::int32_t hops;
};

// Nanoseconds of a hop; negative when something was lost or changed.
double measure_latency(const latency_point& point) {
  chains_left = point.window;
  hops_of_chain = static_cast<value>(point.hops);
  chains_are_right = true;
  chains_have_ended = weft::promise<void>();
  weft::future<void> ended = chains_have_ended.get_future();
  const double start = bench::clock_ns();
  for (long chain = 0; chain < point.window; ++chain) {
    if (point.size == sizeof(value))
      weft::post(other, weft::action<&hop_word>, point.hops - 1, value{0});
    else
      weft::post(other, weft::action<&hop_long>, point.hops - 1,
                 long_message(point.size / sizeof(value)));
  }
  ended.get();
  const double took = bench::clock_ns() - start;
  return chains_are_right ? took / point.hops : -1;
}

void nothing() {}

// Microseconds of a call.
double measure_local(long calls) {
  const double start = bench::clock_ns();
  for (long i = 0; i < calls; ++i) weft::async(weft::here(), weft::action<&nothing>).get();
  return (bench::clock_ns() - start) / static_cast<double>(calls) / 1e3;
}

// --- What is asked for ----------------------------------------------------------------------------

struct asked {
  bool rate = false, local = false;
  std::vector<long> sizes{8}, rates{0}, windows{1};
  long batch = 100, messages = 500'000, hops = 1000, repetitions = 1;
  double seconds = 0;
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "bench-parcel: %s; bench-parcel --help says what there is\n", why.c_str());
  std::exit(2);
}
long number(const std::string& option, const std::string& text, long least) {
  char* end = nullptr;
  const long read = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || read < least)
    refuse(option + " " + text + ": a number of at least " + std::to_string(least));
  return read;
}
std::vector<long> numbers(const std::string& option, const std::string& text, long least) {
  std::vector<long> all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    all.push_back(number(option, text.substr(at, comma - at), least));
    at = comma + 1;
  }
  return all;
}

asked read(int argc, char** argv) {
  asked all;
  std::string what;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(help, stdout);
      std::exit(0);
    }
    if (!word.starts_with("--")) {
      if (!what.empty() || (word != "rate" && word != "latency" && word != "local"))
        refuse("'" + word + "': rate, latency or local");
      what = word;
      continue;
    }
    if (i + 1 == argc) refuse(word + " has no value");
    const std::string text = argv[++i];
    if (word == "--sizes")
      all.sizes = numbers(word, text, 8);
    else if (word == "--rates")
      all.rates = numbers(word, text, 0);
    else if (word == "--windows")
      all.windows = numbers(word, text, 1);
    else if (word == "--batch")
      all.batch = number(word, text, 1);
    else if (word == "--messages")
      all.messages = number(word, text, 1);
    else if (word == "--hops")
      all.hops = number(word, text, 2);
    else if (word == "--repetitions")
      all.repetitions = number(word, text, 1);
    else if (word == "--seconds")
      all.seconds = std::atof(text.c_str());
    else
      refuse("no option " + word);
  }
  if (what.empty()) refuse("rate, latency or local");
  for (const long size : all.sizes)
    if (size % 8 != 0) refuse("--sizes " + std::to_string(size) + ": a multiple of 8");
  if (all.hops % 2 != 0 || all.hops > 1'000'000'000)
    refuse("--hops " + std::to_string(all.hops) + ": an even number, of at most 10^9");
  all.rate = what == "rate";
  all.local = what == "local";
  return all;
}

// The messages of a point, whole batches.
long messages_of(const asked& all, long attempted) {
  if (all.seconds <= 0 || attempted == 0) return all.messages;
  const long batches = static_cast<long>(all.seconds * static_cast<double>(attempted)) / all.batch;
  return std::min(all.messages, all.batch * std::max(10L, batches));
}

// Returns whether all messages came as they were sent.
bool measure(const asked& all) {
  std::puts(
      "what,size,batch,attempted_per_s,window,repetition,messages,injected_per_s,achieved_per_s,latency_us");
  bool is_right = true;
  for (long repetition = 0; all.local && repetition < all.repetitions; ++repetition)
    std::printf("local,,,,,%ld,%ld,,,%.4f\n", repetition, all.messages,
                measure_local(all.messages));
  if (all.local) return true;
  for (long repetition = 0; repetition < all.repetitions; ++repetition)
    for (const long size : all.sizes)
      if (all.rate) {
        for (const long attempted : all.rates) {
          const long messages = messages_of(all, attempted);
          const rates got = measure_rate({static_cast<std::size_t>(size),
                                          static_cast<double>(attempted), all.batch, messages});
          is_right &= got.is_right;
          std::printf("rate,%ld,%ld,%ld,,%ld,%ld,%.0f,%.0f,\n", size, all.batch, attempted,
                      repetition, messages, got.injected, got.achieved);
          std::fflush(stdout);
        }
      } else {
        for (const long window : all.windows) {
          const double ns = measure_latency(
              {static_cast<std::size_t>(size), window, static_cast<std::int32_t>(all.hops)});
          is_right &= ns >= 0;
          std::printf("latency,%ld,,,%ld,%ld,%ld,,,%.4f\n", size, window, repetition,
                      window * all.hops, ns / 1e3);
          std::fflush(stdout);
        }
      }
  if (!is_right) std::fprintf(stderr, "bench-parcel: messages were lost or changed\n");
  return is_right;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_right = true;
  const weft::options how = weft::parse_options(argc, argv);
  const asked all = read(argc, argv);
  bench::raise_priority();
  const int status = weft::run_tasks(how, [&] {
    if (weft::locality_count() != 2) {
      if (weft::here().number() == 0)
        std::fprintf(stderr, "bench-parcel: %d localities: start it with weftrun --processes 2\n",
                     weft::locality_count());
      is_right = false;
      return;
    }
    if (weft::here() == weft::locality(0)) is_right = measure(all);  // The other one serves.
  });
  return status != 0 ? status : is_right ? 0 : 1;
}
