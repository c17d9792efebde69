// The model of "Breaking Band": what the paper prints, windows, and files that are wrong.
#include "breakdown/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "breakdown/analysis.hpp"
#include "breakdown/record.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

const components& paper() {
  return published_components();
}

double percent(std::string_view figure, std::string_view name, std::string_view of) {
  for (const bar& one : figures_of(paper()))
    if (one.figure == figure && one.name == name)
      for (const part& p : one.parts)
        if (p.name == of) return 100 * p.ns / one.total();
  ADD_FAILURE() << "figure " << figure << " has no " << of << " in " << name;
  return 0;
}

const improvement& improving(std::string_view name) {
  static const std::vector<improvement> all = improvements_of(paper());
  const auto at = std::ranges::find(all, name, &improvement::name);
  EXPECT_NE(at, all.end()) << name;
  return *at;
}

std::string refusal(std::string_view text) {
  try {
    (void)read_components(text, "mine.txt");
  } catch (const error& failure) {
    return failure.what();
  }
  return "none";
}

// Each number is one that the paper prints.
TEST(breakdown_model, sums_are_those_that_the_paper_prints) {
  const prediction p = predict(paper());
  EXPECT_NEAR(p.low_post, 175.42, 0.005);
  EXPECT_NEAR(p.low_misc, 58.68, 0.005);
  EXPECT_NEAR(p.low_injection, 295.73, 0.005);
  EXPECT_NEAR(p.network, 382.81, 0.005);
  EXPECT_NEAR(p.low_latency, 1135.8, 0.05);
  EXPECT_NEAR(p.high_post, 26.56, 0.005);
  EXPECT_NEAR(p.post, 201.98, 0.005);
  EXPECT_NEAR(p.high_receive_progress, 224.66, 0.005);
  EXPECT_NEAR(p.injection, 264.97, 0.005);
  EXPECT_NEAR(p.latency, 1387.02, 0.005);
  EXPECT_LT(p.low_send_progress, 1);  // "Less than a nanosecond".
}

TEST(breakdown_model, sums_are_as_near_to_what_the_paper_observed_as_it_says) {
  const prediction p = predict(paper());
  const std::map<std::string_view, std::pair<double, double>> said{
      {"injection overhead, low level", {282.33, 5}},
      {"latency, low level", {1190.25, 5}},
      {"injection overhead", {263.91, 1}},
      {"latency", {1336, 4}}};
  ASSERT_EQ(published_observations().size(), said.size());
  for (const observation& one : published_observations()) {
    const auto [ns, percent] = said.at(one.name);
    EXPECT_EQ(one.ns, ns) << one.name;
    const double error = error_percent(p.*one.modelled, one.ns);
    EXPECT_LT(std::abs(error), percent) << one.name;
    EXPECT_GT(std::abs(error), 0.1) << one.name;
  }
  EXPECT_NEAR(error_percent(1387.02, 1336), 3.82, 0.01);
}

TEST(breakdown_model, figures_have_the_shares_that_the_paper_tells) {
  EXPECT_GT(percent("4", "low-level post", "PIO copy"), 50);
  EXPECT_GT(percent("12", "injection overhead", "post"), 70);
  EXPECT_NEAR(percent("15", "latency", "network"), 27.6, 0.05);
  EXPECT_NEAR(percent("15", "latency", "CPU") + percent("15", "latency", "I/O"), 72.4, 0.05);
  EXPECT_LT(std::abs(percent("15", "CPU", "high level") - percent("15", "CPU", "low level")), 4);
  EXPECT_GT(percent("15", "network", "wire"), 50);
  EXPECT_GT(percent("16", "on node", "target"), 50);
  EXPECT_GT(percent("16", "target", "I/O"), 50);
  EXPECT_GT(percent("16", "target I/O", "memory write"), 50);
  EXPECT_GT(percent("16", "initiator", "CPU"), 50);
  EXPECT_GT(percent("14", "initiation", "low level"), 50);
  EXPECT_GT(percent("14", "send progress", "high level"), 50);
  EXPECT_GT(percent("14", "receive progress", "high level"), 50);
  const prediction p = predict(paper());
  // The paper cuts 4.786 off behind its second digit.
  EXPECT_NEAR((p.high_receive_progress + paper().progress) / paper().send_progress, 4.78, 0.01);
  for (const bar& one : figures_of(paper()))
    for (const part& of : one.parts) EXPECT_GT(of.ns, 0) << one.figure << " " << of.name;
}

TEST(breakdown_model, bars_add_up_to_the_sums) {
  const prediction p = predict(paper());
  const std::vector<bar> bars = figures_of(paper());
  const auto total = [&](std::string_view figure) {
    return std::ranges::find(bars, figure, &bar::figure)->total();
  };
  EXPECT_NEAR(total("4"), p.low_post, 1e-9);
  EXPECT_NEAR(total("8"), p.low_injection, 1e-9);
  EXPECT_NEAR(total("10"), p.low_latency, 1e-9);
  EXPECT_NEAR(total("12"), p.injection, 1e-9);
  EXPECT_NEAR(total("13"), p.latency, 1e-9);
  EXPECT_NEAR(total("15"), p.latency, 1e-9);
  EXPECT_NEAR(total("16"), p.latency - p.network, 1e-9);
}

// Figure 17, where section 7 says what can be read there.
TEST(breakdown_model, what_if_gives_the_gains_that_the_paper_prints) {
  const prediction p = predict(paper());
  const auto injection = [&](std::string_view part, double by) {
    return gain_percent(improving(part).in_injection, p.injection, by);
  };
  const auto latency = [&](std::string_view part, double by) {
    return gain_percent(improving(part).in_latency, p.latency, by);
  };
  EXPECT_NEAR(injection("high level", 0.2), 6.44, 0.03);
  EXPECT_NEAR(injection("low level", 0.2), 13.33, 0.03);
  EXPECT_LT(latency("high level", 0.2), 5);
  EXPECT_LT(latency("low level", 0.2), 5);
  EXPECT_GT(latency("integrated NIC", 0.5), 15);
  EXPECT_GT(injection("PIO", 0.84), 25);
  EXPECT_GT(latency("PIO", 0.84), 5);
  EXPECT_NEAR(latency("switch", 0.7), 5.45, 0.005);
  EXPECT_DOUBLE_EQ(injection("wire", 0.9), 0);
}

TEST(breakdown_model, enough_posts_hide_completions_and_fewer_do_not) {
  const prediction p = predict(paper());
  EXPECT_NEAR(p.generate_completion, 2 * (137.49 + 382.81) + 240.96, 0.01);
  EXPECT_DOUBLE_EQ(p.posts_min, std::ceil(p.generate_completion / p.low_post));
  EXPECT_NEAR(injection_in_windows(paper(), 1), p.injection + p.generate_completion, 1e-9);
  for (int window = 2; window <= 64; ++window)
    EXPECT_LE(injection_in_windows(paper(), window), injection_in_windows(paper(), window - 1));
  EXPECT_DOUBLE_EQ(injection_in_windows(paper(), 64), p.injection);
}

TEST(breakdown_model, a_file_may_leave_out_what_does_not_exist) {
  const components c = read_components("mpi_post = 20 # ours\n\n  wire=100\n", "mine.txt");
  const prediction p = predict(c);
  EXPECT_DOUBLE_EQ(p.injection, 20);
  EXPECT_DOUBLE_EQ(p.latency, 120);
}

TEST(breakdown_model, wrong_files_are_refused_with_file_line_and_what_is_allowed) {
  EXPECT_EQ(refusal("pcie = 1\nwires = 2").substr(0, 63),
            "mine.txt, line 2: no component is called 'wires'; there are: de");
  EXPECT_EQ(refusal("wire = -1"), "mine.txt, line 1: wire is '-1'; allowed are 0 to 1000000000 ns");
  for (const char* const value : {"nan", "inf", "1e300", "", "12 ns", "0x10", "--3"})
    EXPECT_NE(refusal(std::string("wire = ") + value).find("mine.txt, line 1: wire is"),
              std::string::npos)
        << value;
  EXPECT_EQ(refusal("signal_period = 0"),
            "mine.txt, line 1: signal_period is '0'; allowed are 1 to 1000000000");
  EXPECT_EQ(refusal("wire 3"), "mine.txt, line 1: 'wire 3' is not of the form name = value");
  EXPECT_EQ(refusal("wire = 3\nwire = 4"), "mine.txt, line 2: wire is given twice");
  EXPECT_NE(refusal("send_progress = 1\nprogress = 64").find("less than the 64.00 ns"),
            std::string::npos);
  // Bytes that are no text make no second line and no escape sequence.
  const std::string strange = refusal(std::string("\x1b[31m\0x = 3", 11));
  EXPECT_EQ(strange.find('\n'), std::string::npos);
  EXPECT_EQ(strange.find('\x1b'), std::string::npos);
}

// --- Summaries of accounts -----------------------------------------------------------------------

// Ranks that all run for one second, of 1e9 ticks.
class written_record {
 public:
  explicit written_record(int ranks)
      : content_(profile::bytes_of_accounts(static_cast<std::size_t>(ranks), false)) {
    auto* const header = new (content_.data()) profile::file_header;
    header->magic = profile::file_magic;
    header->account_bytes = sizeof(profile::account);
    header->ranks = ranks;
    header->processes = header->workers = 1;
    header->ns_per_tick = 1;
    for (int rank = 0; rank < ranks; ++rank) {
      auto* const a =
          new (content_.data() + profile::header_bytes +
               static_cast<std::size_t>(rank) * sizeof(profile::account)) profile::account;
      a->state = profile::life::ended;
      a->rank = rank;
      a->ended = a->mark = 1'000'000'000;
      all_.push_back(a);
    }
  }
  [[nodiscard]] profile::account& of(int rank) { return *all_[static_cast<std::size_t>(rank)]; }
  static std::uint64_t& time(profile::account& a, profile::share s) {
    return a.times[static_cast<std::size_t>(s)];
  }
  [[nodiscard]] summary summarised() const { return summarise(record(content_, "written")); }

 private:
  std::vector<std::byte> content_;
  std::vector<profile::account*> all_;
};

TEST(breakdown_analysis, ranks_of_one_worker_sleep_at_the_same_time) {
  written_record r(4);
  for (int rank = 0; rank < 4; ++rank) {
    written_record::time(r.of(rank), profile::share::asleep) = 500'000'000;
    written_record::time(r.of(rank), profile::share::waiting) = 500'000'000;
    r.of(rank).critical = 500'000'000;
    profile::region_row& row = r.of(rank).regions[0];
    std::strcpy(row.name, "step");
    row.entries = 1;
    row.times = {.elapsed = 1'000'000'000,
                 .computing = 500'000'000,
                 .critical = 500'000'000,
                 .asleep = 500'000'000};
  }
  const summary s = r.summarised();
  EXPECT_EQ(s.workers, 1);
  EXPECT_NEAR(s.efficiency.parallel, 0.5, 1e-9);
  EXPECT_NEAR(s.efficiency.communication, 0.5, 1e-9);
  EXPECT_NEAR(s.efficiency.transfer, 0.5, 1e-9);
  ASSERT_EQ(s.regions.size(), 1U);
  EXPECT_NEAR(s.regions[0].seconds, 1, 1e-9);
  EXPECT_NEAR(s.regions[0].parallel, 0.5, 1e-9);
}

TEST(breakdown_analysis, even_work_in_different_places_is_no_serial_section) {
  const auto advice_with = [](std::uint64_t second, std::uint64_t shorter_by = 1) {
    written_record r(2);
    for (int rank = 0; rank < 2; ++rank) {
      profile::account& a = r.of(rank);
      const std::uint64_t computing = (rank == 0 ? 900'000'000 : second) / shorter_by;
      a.worker = rank;
      written_record::time(a, profile::share::computing) = computing;
      written_record::time(a, profile::share::in_calls) = 1'000'000'000 / shorter_by - computing;
      a.ended = a.mark = 1'000'000'000 / shorter_by;
      std::strcpy(a.sites[0].call, rank == 0 ? "MPI_Send" : "MPI_Recv");
      std::strcpy(a.sites[0].place, rank == 0 ? "main at a.c:1" : "main at a.c:2");
      a.sites[0].computing = computing;
    }
    std::string all;
    for (const std::string& line : r.summarised().advice) all += line + "\n";
    return all;
  };
  EXPECT_EQ(advice_with(880'000'000).find("only rank"), std::string::npos)
      << advice_with(880'000'000);
  const std::string uneven = advice_with(300'000'000);
  EXPECT_NE(uneven.find("only rank 0 computes before a.c:1"), std::string::npos) << uneven;
  EXPECT_NE(uneven.find("would save up to 30.0 %"), std::string::npos) << uneven;
  EXPECT_EQ(uneven.find("only rank 1"), std::string::npos) << uneven;
  // Most of a run of 2 ms is its start.
  EXPECT_EQ(advice_with(300'000'000, 500),
            "the run took 2.0 ms, most of it for its start and end: too short to advise on\n");
}
}  // namespace
}  // namespace weft::breakdown
