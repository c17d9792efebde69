// What weft-breakdown reads, changed at random: each file is refused in one line that names it, or read. The seed is
// printed, and taken from WEFT_TEST_SEED.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>
#include <weft/region.hpp>
#include <weft/weft.hpp>

#include "base/checksum.hpp"
#include "base/environment.hpp"
#include "breakdown/analysis.hpp"
#include "breakdown/event_log.hpp"
#include "breakdown/extrapolation.hpp"
#include "breakdown/machine.hpp"
#include "breakdown/measured.hpp"
#include "breakdown/model.hpp"
#include "breakdown/pattern.hpp"
#include "breakdown/record.hpp"
#include "breakdown/replay.hpp"
#include "breakdown/report.hpp"
#include "breakdown/run_summary.hpp"
#include "breakdown/simulation.hpp"
#include "job.hpp"
#include "profile/accounts.hpp"
#include "trace/event_file.hpp"
#include "weft-breakdown/commands.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

std::uint64_t seed() {
  static const std::uint64_t chosen = [] {
    const char* const given = std::getenv("WEFT_TEST_SEED");
    const std::uint64_t one =
        given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::printf("WEFT_TEST_SEED=%llu\n", static_cast<unsigned long long>(one));
    return one;
  }();
  return chosen;
}
std::size_t below(std::mt19937_64& random, std::size_t end) {
  return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

// What a small job leaves behind: its events, and the record of its accounts.
struct recorded_job {
  std::string events, record;
};
const recorded_job& job_recorded() {
  static const recorded_job made = [] {
    const int file = ::memfd_create(profile::file_name, MFD_CLOEXEC);
    EXPECT_EQ(::ftruncate(file, profile::header_bytes), 0);
    const std::string path = testing::TempDir() + "job." + std::to_string(::getpid()) + ".events";
    ::setenv(accounts_variable,
             ("/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file)).c_str(), 1);
    ::setenv(breakdown_events_variable, path.c_str(), 1);
    EXPECT_EQ(run(job_of(3, 2),
                  [](communicator& world) {
                    const int me = world.rank(), n = world.size();
                    for (int i = 0; i < 6; ++i) {
                      const region here("step");
                      profile::begin_call(me, "MPI_Sendrecv", __builtin_return_address(0));
                      int got = 0;
                      world.sendrecv(std::vector{me}, (me + 1) % n, std::span(&got, 1),
                                     (me + n - 1) % n);
                      profile::end_call(me);
                      (void)world.allreduce(1, std::plus<>{});
                      if (i == 3) world.barrier();
                    }
                  }),
              0);
    ::unsetenv(accounts_variable);
    ::unsetenv(breakdown_events_variable);
    recorded_job job;
    job.events = content_of(path);
    ::unlink(path.c_str());
    std::vector<std::byte> content(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)));
    EXPECT_EQ(::pread(file, content.data(), content.size(), 0),
              static_cast<ssize_t>(content.size()));
    ::close(file);
    record all(std::move(content), "memory");
    all.close(all.header().start_ticks);
    const auto bytes = all.bytes();
    job.record.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return job;
  }();
  return made;
}

// Reads all that programs read of it.
void read_events(const std::string& content) {
  const event_log log = parse_event_log(content, "some.file", false);
  const pattern p = pattern_of(log);
  const run_summary s = summarise_run(p, replay(p), log.missing, 1);
  (void)text_of(s);
  (void)json_of(s);
  machine m;
  m.ranks_per_node = m.workers_per_node = p.ranks();
  m.costs = {{8, 10, 100, 20}};
  // Many ranks that do nothing are no longer than few. A pattern that cannot be run names its program.
  if (p.ranks() < 100) try {
      (void)simulate(p, extrapolation(p, m.ranks()), m, *make_plain_network(1000, 1));
    } catch (const error& failure) {
      EXPECT_EQ(std::string(failure.what()).find('\n'), std::string::npos) << failure.what();
    }
}
void read_accounts(const std::string& content) {
  const record all(bytes_of(content), "some.file", record::from::file);
  const summary s = summarise(all);
  (void)text_of(s);
  (void)csv_of(s);
  (void)page_of(json_of(s), "");
}

struct format {
  const char* name;
  std::function<const std::string&()> whole;
  std::function<void(const std::string&)> read;
  std::size_t checksum_at;
  std::size_t header_bytes;
};
const format formats[] = {
    {"events", []() -> const std::string& { return job_recorded().events; }, read_events,
     offsetof(event_file::part_header, checksum), sizeof(event_file::part_header)},
    {"record", []() -> const std::string& { return job_recorded().record; }, read_accounts,
     offsetof(profile::file_header, checksum), sizeof(profile::file_header)},
};

// Empty: it was read.
std::string refusal(const std::function<void(const std::string&)>& read,
                    const std::string& content) {
  try {
    read(content);
    return {};
  } catch (const error& failure) {
    const std::string told = failure.what();
    EXPECT_EQ(told.find('\n'), std::string::npos) << told;
    EXPECT_EQ(told.rfind("some.file", 0), 0U) << told;
    EXPECT_LT(told.size(), 600U) << told;
    return told;
  } catch (const std::exception& other) {  // As std::bad_alloc, of what a count says.
    ADD_FAILURE() << "no error of one line: " << other.what();
    return other.what();
  }
}

class breakdown_files : public testing::TestWithParam<format> {};

TEST_P(breakdown_files, are_read_as_they_were_written) {
  EXPECT_EQ(refusal(GetParam().read, GetParam().whole()), "");
}

TEST_P(breakdown_files, are_refused_when_any_byte_is_another) {
  std::mt19937_64 random(seed());
  const std::string& whole = GetParam().whole();
  for (int i = 0; i < 600; ++i) {
    std::string changed = whole;
    const std::size_t at =
        i % 2 == 0 ? below(random, GetParam().header_bytes) : below(random, whole.size());
    changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1 + below(random, 255)));
    EXPECT_NE(refusal(GetParam().read, changed), "") << "byte " << at;
  }
}

TEST_P(breakdown_files, are_refused_when_they_are_cut_or_longer) {
  std::mt19937_64 random(seed());
  const std::string& whole = GetParam().whole();
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(refusal(GetParam().read, whole.substr(0, below(random, whole.size()))), "");
    EXPECT_NE(refusal(GetParam().read, whole + std::string(1 + below(random, 5000), '\0')), "");
  }
}

// A forged file has the checksum that it says.
TEST_P(breakdown_files, are_not_believed_because_their_checksum_is_right) {
  std::mt19937_64 random(seed());
  const format& of = GetParam();
  int taken = 0;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 1000; ++i) {
    std::string forged = of.whole();
    for (std::size_t k = 1 + below(random, 6); k > 0; --k) {
      const std::size_t at =
          below(random, 2) == 0 ? below(random, of.header_bytes) : below(random, forged.size());
      forged[at] = static_cast<char>(below(random, 3) == 0 ? 0xff : below(random, 256));
    }
    std::memset(forged.data() + of.checksum_at, 0, sizeof(std::uint32_t));
    const std::uint32_t sum = checksum_of({std::as_bytes(std::span(forged))});
    std::memcpy(forged.data() + of.checksum_at, &sum, sizeof sum);
    taken += refusal(of.read, forged).empty();
  }
  EXPECT_GT(taken, 0);  // Else nothing behind the first checks was tried.
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 1'000'000) << "KiB";
}

INSTANTIATE_TEST_SUITE_P(all, breakdown_files, testing::ValuesIn(formats),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(breakdown_event_log, of_a_rank_that_the_job_has_not_is_refused) {
  std::string forged = job_recorded().events;
  event_file::part_header header;
  std::memcpy(static_cast<void*>(&header), forged.data(), sizeof header);
  const std::size_t events = sizeof header + header.places * sizeof(event_file::place_row);
  const std::int32_t rank = 8961;
  std::memcpy(forged.data() + events + offsetof(event_file::event_row, rank), &rank, sizeof rank);
  header.checksum = 0;
  std::memcpy(forged.data(), &header, sizeof header);
  header.checksum = checksum_of({std::as_bytes(std::span(forged))});
  std::memcpy(forged.data(), &header, sizeof header);
  EXPECT_EQ(refusal(read_events, forged),
            "some.file: part 0: rank of an event is 8961; allowed are 0 to 2");
}

// Two files of one process each, of which a part says that there are two.
TEST(breakdown_event_log, of_parts_of_two_runs_is_refused) {
  const auto part = [](std::int32_t process, std::uint64_t more_job) {
    std::string made = job_recorded().events;
    event_file::part_header header;
    std::memcpy(static_cast<void*>(&header), made.data(), sizeof header);
    header.process = process;
    header.processes = 2;
    header.job += more_job;
    header.checksum = 0;
    std::memcpy(made.data(), &header, sizeof header);
    header.checksum = checksum_of({std::as_bytes(std::span(made))});
    std::memcpy(made.data(), &header, sizeof header);
    return made;
  };
  EXPECT_EQ(refusal(read_events, part(0, 0) + part(1, 0)), "");
  EXPECT_NE(refusal(read_events, part(0, 0) + part(0, 0)).find("process 0 has two parts"),
            std::string::npos);
  EXPECT_NE(refusal(read_events, part(0, 0) + part(1, 2)).find("of another run"),
            std::string::npos);
}

TEST(breakdown_run_summary, of_events_of_another_run_is_refused) {
  const std::string path = testing::TempDir() + "of." + std::to_string(::getpid()) + ".events";
  std::ofstream(path, std::ios::binary) << job_recorded().events;
  record of(bytes_of(job_recorded().record), "record", record::from::file);
  EXPECT_GT(read_run_summary(path, of).recorded_seconds, 0);
  // Relaxed: nobody else is here.
  of.header().job.fetch_add(2, std::memory_order_relaxed);
  try {
    (void)read_run_summary(path, of);
    ADD_FAILURE() << "events of another run were taken";
  } catch (const error& failure) {
    EXPECT_NE(std::string(failure.what()).find("events of another run, "), std::string::npos)
        << failure.what();
  }
  ::unlink(path.c_str());
}

TEST(breakdown_otf2, makes_no_archive_of_what_is_forged_that_it_could_not_close) {
  if (!has_otf2()) GTEST_SKIP() << "without OTF2";
  std::mt19937_64 random(seed());
  namespace fs = std::filesystem;
  const fs::path here = fs::path(testing::TempDir()) / ("otf2." + std::to_string(::getpid()));
  fs::create_directory(here);
  const std::string path = (here / "some.events").string();
  const std::size_t header = sizeof(event_file::part_header);
  int made = 0;
  for (int i = 0; i < 60; ++i) {
    std::string forged = job_recorded().events;
    for (int k = 0; k < 2; ++k)
      forged[header + below(random, forged.size() - header)] =
          static_cast<char>(below(random, 256));
    const std::size_t at = offsetof(event_file::part_header, checksum);
    std::memset(forged.data() + at, 0, sizeof(std::uint32_t));
    const std::uint32_t sum = checksum_of({std::as_bytes(std::span(forged))});
    std::memcpy(forged.data() + at, &sum, sizeof sum);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << forged;
    const fs::path archive = here / ("a" + std::to_string(i));
    try {
      write_otf2(path, archive.string());
      ++made;
      EXPECT_TRUE(fs::exists(archive / "traces.otf2"));
    } catch (const error& failure) {
      EXPECT_EQ(std::string(failure.what()).find('\n'), std::string::npos) << failure.what();
    }
  }
  EXPECT_GT(made, 0);
  fs::remove_all(here);
}

TEST(breakdown_report, tells_the_bytes_of_all_messages_from_those_of_one) {
  summary s;
  s.messages.sent = 40;
  s.messages.bytes = 320;
  s.messages.collectives = 6;
  const std::string text = text_of(s);
  EXPECT_NE(text.find("messages: 40, 320 bytes in all;"), text.npos) << text;
  EXPECT_NE(text.find("6 calls of collectives"), text.npos) << text;
}

// --- Files of text -------------------------------------------------------------------------------

std::string measured_file() {
  measured m;
  m.face = "ranks";
  m.host = m.processor = "some";
  m.bytes = 8;
  m.rounds = 3;
  const distribution d = distribution_of({1, 2, 3, 4});
  m.overhead = d;
  m.injection = {{{"pack", "low", "some", d}, {"progress", "high", "some", d}}, d};
  m.latency = {{{"wire", "network", "some", d}}, d};
  m.interval = d;
  m.windows = {{1, 2, 3}, {16, 2, 3}};
  return json_of(m);
}

TEST(breakdown_message, of_a_window_follows_the_one_before_as_fast_as_the_slower_side_lets_it) {
  const auto of = [](double ns) { return distribution_of({ns, ns}); };
  measured m;
  m.face = "ranks";
  m.injection = {{{"protocol", "high", "", of(20)}, {"progress", "high", "", of(5)}}, of(25)};
  m.latency = {{{"wire", "network", "", of(60)}}, of(60)};
  m.interval = of(30);  // The receiver is the slower side.
  EXPECT_DOUBLE_EQ(m.in_window(1), 120);
  EXPECT_DOUBLE_EQ(m.in_window(4), (120 + 3 * 30) / 4.0);
  m.interval = of(10);  // The sender is.
  EXPECT_DOUBLE_EQ(m.in_window(4), (120 + 3 * 20) / 4.0);
  m.is_on_one_core = true;  // Both have their turn.
  EXPECT_DOUBLE_EQ(m.in_window(4), (120 + 3 * 30) / 4.0);
  m.host = m.processor = "some";
  m.rounds = 1;
  m.overhead = of(1);
  EXPECT_DOUBLE_EQ(read_measured(json_of(m), "some.file").gap(), 30);
}

// Stages of microseconds, of which many overlap.
TEST(breakdown_message, is_read_with_a_part_far_below_zero) {
  measured m = read_measured(measured_file(), "some.file");
  const distribution below_zero = distribution_of({-1500, -1500});
  m.injection.parts.push_back({"misc", "misc", "", below_zero});
  m.latency.parts.push_back({"misc", "misc", "", below_zero});
  const measured again = read_measured(json_of(m), "some.file");
  EXPECT_DOUBLE_EQ(again.injection.parts.back().ns.mean, -1500);
  EXPECT_DOUBLE_EQ(again.latency.parts.back().ns.mean, -1500);
}

TEST(breakdown_message, tells_gaps_only_where_they_were_measured) {
  measured m = read_measured(measured_file(), "some.file");
  EXPECT_NE(text_of(m).find("one comes every 2.5 ns"), std::string::npos) << text_of(m);
  m.interval = {};
  EXPECT_EQ(text_of(m).find("one comes every"), std::string::npos) << text_of(m);
  EXPECT_NE(text_of(m).find("16 messages: model"), std::string::npos) << text_of(m);
}

measured with_misc(double ns) {
  const auto of = [](double value) { return distribution_of({value, value}); };
  measured m = read_measured(measured_file(), "some.file");
  m.injection = {
      {{"pack", "low", "", of(4)}, {"misc", "misc", "", of(ns)}, {"progress", "high", "", of(16)}},
      of(25)};
  m.latency = {{{"publish", "low", "", of(4)},
                {"wire", "network", "", of(60)},
                {"match", "high", "", of(10)},
                {"return", "high", "", of(6)},
                {"loop", "test", "", of(3)},
                {"misc", "misc", "", of(ns)}},
               of(100)};
  return m;
}

// With misc the sum is what was measured as a whole, whatever the stages are.
TEST(breakdown_message, tells_how_far_its_stages_are_off_beside_the_whole) {
  const measured m = with_misc(20);
  EXPECT_DOUBLE_EQ(m.latency.of_stages(), 83);
  EXPECT_DOUBLE_EQ(m.latency.error_percent_of_stages(), -17);
  EXPECT_DOUBLE_EQ(m.latency.error_percent(), 3);
  const std::string text = text_of(m);
  EXPECT_NE(text.find("  83.00  the sum of the parts without misc, -17.0 % off\n"), text.npos)
      << text;
  EXPECT_NE(text.find("  103.00  with misc, as they take together, +3.0 % off\n"), text.npos)
      << text;
  const std::string data = json_of(m);
  EXPECT_NE(data.find("\"stages\": 83.0000, \"stages_error_percent\": -17.000"), data.npos) << data;
  measured without = m;
  without.latency.parts.pop_back();
  EXPECT_NE(text_of(without).find("  83.00  the sum of the parts, -17.0 % off\n"), text.npos)
      << text_of(without);
}

// It is of both sides, and no level's.
TEST(breakdown_message, counts_what_is_beyond_its_parts_for_no_level_and_no_side) {
  for (const double ns : {-10.0, 10.0}) {
    const measured m = with_misc(ns);
    const std::vector<improvement> all = improvements_of(m);
    const auto low = std::ranges::find(all, "low level", &improvement::name);
    ASSERT_NE(low, all.end());
    EXPECT_DOUBLE_EQ(low->in_injection, 4);
    EXPECT_DOUBLE_EQ(low->in_latency, 4);
    const message_cost cost = cost_of(m);
    EXPECT_DOUBLE_EQ(cost.deliver, 16);  // The loop is the test's.
    EXPECT_DOUBLE_EQ(cost.flight + cost.deliver, 100);
  }
}

TEST(breakdown_texts, that_are_changed_are_refused_in_one_line_or_read) {
  std::mt19937_64 random(seed());
  const std::function<void(const std::string&)> read_message = [](const std::string& text) {
    const measured m = read_measured(text, "some.file");
    (void)text_of(m);
    (void)improvements_of(m);
  };
  const std::function<void(const std::string&)> read_table = [](const std::string& text) {
    (void)figures_of(read_components(text, "some.file"));
  };
  const std::pair<std::string, std::function<void(const std::string&)>> all[] = {
      {measured_file(), read_message}, {std::string(published_text()), read_table}};
  for (const auto& [whole, read] : all) {
    EXPECT_EQ(refusal(read, whole), "");
    for (int i = 0; i < 1000; ++i) {
      std::string changed =
          whole.substr(0, i % 3 == 0 ? below(random, whole.size()) : whole.size());
      for (std::size_t k = below(random, 5); k > 0 && !changed.empty(); --k)
        changed[below(random, changed.size())] = static_cast<char>(below(random, 256));
      (void)refusal(read, changed);
    }
  }
}

}  // namespace
}  // namespace weft::breakdown
