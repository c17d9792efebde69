#include "trace/trace.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "profile/stamps.hpp"
#include "trace/event_file.hpp"
#include "trace/flows.hpp"
#include "trace/mixing.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

// A JSON value and a strict parser of the subset without escapes: any deviation throws.
struct json {
  std::string text;  // Of a string, number or literal.
  std::vector<json> items;
  std::map<std::string, json> fields;

  const json& operator[](const std::string& name) const { return fields.at(name); }
  double number() const { return std::stod(text); }
};

class json_parser {
 public:
  static json parse(const std::string& text) {
    json_parser parser(text);
    json value = parser.value();
    parser.skip_space();
    if (parser.at_ != text.size()) parser.fail();
    return value;
  }

 private:
  explicit json_parser(const std::string& text) : text_(text) {}

  [[noreturn]] void fail() const {
    throw std::runtime_error("malformed JSON at byte " + std::to_string(at_));
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  char next() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void expect(char c) {
    if (next() != c) fail();
    ++at_;
  }
  std::string string() {
    expect('"');
    const std::size_t end = text_.find('"', at_);
    if (end == text_.npos) fail();
    std::string result = text_.substr(at_, end - at_);
    if (result.find_first_of("\\\n") != result.npos) fail();
    at_ = end + 1;
    return result;
  }
  json value() {
    json result;
    if (next() == '{') {
      ++at_;
      while (next() != '}') {
        if (!result.fields.empty()) expect(',');
        const std::string name = string();
        expect(':');
        if (!result.fields.emplace(name, value()).second) fail();
      }
      ++at_;
    } else if (next() == '[') {
      ++at_;
      while (next() != ']') {
        if (!result.items.empty()) expect(',');
        result.items.push_back(value());
      }
      ++at_;
    } else if (next() == '"') {
      result.text = string();
    } else {
      const std::size_t end = text_.find_first_not_of("+-.0123456789eE", at_);
      if (end == at_ || end == text_.npos) fail();
      result.text = text_.substr(at_, end - at_);
      at_ = end;
    }
    return result;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

// Records what `body` does and returns the parsed file.
template <class Body>
json traced(int workers, const Body& body, std::size_t events_max = 1000) {
  const std::string path =
      ::testing::TempDir() + "weft_trace_" + std::to_string(::getpid()) + ".json";
  start_trace(path, workers, {}, events_max);
  body();
  stop_trace();
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  return json_parser::parse(text.str());
}

std::vector<json> events_of_phase(const json& trace, const std::string& phase) {
  std::vector<json> result;
  for (const json& e : trace["traceEvents"].items)
    if (e["ph"].text == phase) result.push_back(e);
  return result;
}

std::string track_name(const json& trace, const json& e) {
  for (const json& m : events_of_phase(trace, "M"))
    if (m["name"].text == "thread_name" && m["pid"].text == e["pid"].text &&
        m["tid"].text == e["tid"].text)
      return m["args"]["name"].text;
  return "unnamed";
}

TEST(trace, nothing_is_recorded_while_off) {
  EXPECT_FALSE(tracing());
  trace_begin(trace_kind::run, 0);
  trace_end(trace_kind::run, 0);
  const json trace = traced(1, [] {});
  EXPECT_TRUE(events_of_phase(trace, "X").empty());
  EXPECT_FALSE(tracing());
}

// Perfetto shows thread 0 of a process as the thread that has the process' number.
TEST(trace, no_track_is_taken_for_another) {
  const json trace = traced(4, [] {
    trace_begin(trace_kind::run, 0);
    for (int rank = 0; rank < 4; ++rank) {
      trace_begin(trace_kind::wait_recv, rank, 0);
      trace_end(trace_kind::wait_recv, rank);
    }
    trace_end(trace_kind::run, 0);
  });
  std::set<std::string> names;
  for (const json& e : events_of_phase(trace, "M"))
    if (e["name"].text == "thread_name") {
      EXPECT_GT(e["tid"].number(), 4);
      EXPECT_TRUE(names.insert(e["args"]["name"].text).second);
    }
  EXPECT_EQ(names.size(), 9U) << "four workers, this thread, four ranks";
  for (const json& e : events_of_phase(trace, "X")) EXPECT_NE(track_name(trace, e), "unnamed");
}

TEST(trace, a_stolen_chunk_is_on_the_thiefs_track_under_its_owners_rank) {
  const json trace = traced(2, [] {
    std::thread([] {
      trace_thread(1);
      trace_begin(trace_kind::run, 5);
      trace_begin(trace_kind::chunk_stolen, 3, 7);
      trace_end(trace_kind::chunk_stolen, 3);
      trace_end(trace_kind::run, 5);
    }).join();
  });
  const auto slices = events_of_phase(trace, "X");
  ASSERT_EQ(slices.size(), 2u);
  const json& chunk = slices[0];
  EXPECT_EQ(chunk["name"].text, "chunk of rank 3 (stolen)");
  EXPECT_EQ(chunk["cat"].text, "stolen");
  EXPECT_EQ(chunk["args"]["first chunk"].text, "7");
  EXPECT_EQ(track_name(trace, chunk), "worker 1");
  const json& run = slices[1];
  EXPECT_EQ(run["name"].text, "rank 5");
  EXPECT_LE(run["ts"].number(), chunk["ts"].number());
  EXPECT_GE(run["ts"].number() + run["dur"].number() + 0.002,
            chunk["ts"].number() + chunk["dur"].number());
}

TEST(trace, waits_are_on_the_ranks_track_and_may_overlap_on_one_worker) {
  const json trace = traced(1, [] {
    trace_thread(0);
    trace_begin(trace_kind::wait_recv, 0, 1);
    trace_begin(trace_kind::wait_collective, 1);
    trace_end(trace_kind::wait_recv, 0);
    trace_end(trace_kind::wait_collective, 1);
  });
  const auto slices = events_of_phase(trace, "X");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["name"].text, "wait to receive");
  EXPECT_EQ(slices[0]["args"]["source"].text, "1");
  EXPECT_EQ(track_name(trace, slices[0]), "rank 0");
  EXPECT_EQ(track_name(trace, slices[1]), "rank 1");
}

TEST(trace, durations_are_those_of_the_clock) {
  const json trace = traced(1, [] {
    const trace_span span(trace_kind::copy, 0, 4096);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  const auto slices = events_of_phase(trace, "X");
  ASSERT_EQ(slices.size(), 1u);
  EXPECT_GE(slices[0]["dur"].number(), 19'000);
  EXPECT_GE(slices[0]["ts"].number(), 0);
  EXPECT_EQ(slices[0]["args"]["bytes"].text, "4096");
}

TEST(trace, every_kind_is_written) {
  const json trace = traced(1, [] {
    for (int kind = 0; kind < trace_kind_count; ++kind)
      trace_instant(static_cast<trace_kind>(kind), kind, -1);
  });
  EXPECT_EQ(events_of_phase(trace, "i").size(), static_cast<std::size_t>(trace_kind_count));
}

TEST(trace, a_slice_without_end_lasts_until_the_trace_stops_and_an_end_without_begin_is_dropped) {
  const json trace = traced(1, [] {
    trace_end(trace_kind::run, 0);
    trace_end(trace_kind::wait_send, 0);
    trace_begin(trace_kind::run, 1);
    trace_begin(trace_kind::wait_send, 2, 0);
  });
  const auto slices = events_of_phase(trace, "X");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["name"].text, "rank 1");
  EXPECT_EQ(slices[1]["args"]["rank"].text, "2");
}

TEST(trace, a_full_ring_keeps_the_newest_events_and_reports_the_others) {
  constexpr std::size_t kept = 4;
  constexpr std::size_t extra = 10;
  ::testing::internal::CaptureStderr();
  const json trace = traced(
      1,
      [] {
        for (std::size_t i = 0; i < kept + extra; ++i)
          trace_instant(trace_kind::send, 0, static_cast<std::int64_t>(i));
      },
      kept);
  const std::string report = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(report.find("the first 10 events are missing"), std::string::npos) << report;
  std::string label;
  for (const json& m : events_of_phase(trace, "M"))
    if (m["name"].text == "process_labels") label = m["args"]["labels"].text;
  EXPECT_EQ(label, "the first 10 events are missing");
  const auto instants = events_of_phase(trace, "i");
  ASSERT_EQ(instants.size(), kept);
  EXPECT_EQ(instants.front()["args"]["destination"].text, std::to_string(extra));
  EXPECT_EQ(instants.back()["args"]["destination"].text, std::to_string(kept + extra - 1));
}

TEST(trace, a_thread_that_outlives_a_trace_takes_part_in_the_next) {
  for (int round = 0; round < 2; ++round) {
    const json trace = traced(1, [] { trace_instant(trace_kind::send, 0, 1); });
    EXPECT_EQ(events_of_phase(trace, "i").size(), 1u);
  }
}

TEST(trace, processes_of_a_host_write_one_file_on_one_clock) {
  const std::string path =
      ::testing::TempDir() + "weft_traces_" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << "of an earlier job, and longer than what comes: "
                      << std::string(4096, 'x');
  for (int process = 0; process < 3; ++process) {
    start_trace(path, 1, {process, 3, process == 0});
    trace_thread(0);
    trace_instant(trace_kind::send, process, 7);
    trace_begin(trace_kind::wait_recv, process, 7);
    trace_end(trace_kind::wait_recv, process);
    stop_trace();
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  const json trace = json_parser::parse(text.str());
  const auto instants = events_of_phase(trace, "i");
  ASSERT_EQ(instants.size(), 3u);
  double before = 0;
  std::set<std::string> groups;
  for (const json& e : instants) {
    EXPECT_GT(std::stod(e["ts"].text), before);
    before = std::stod(e["ts"].text);
    groups.insert(e["pid"].text);
    EXPECT_EQ(track_name(trace, e), "worker 0");
  }
  EXPECT_EQ(groups.size(), 3u) << "workers of each process by themselves";
  groups.clear();
  for (const json& e : events_of_phase(trace, "X")) groups.insert(e["pid"].text);
  EXPECT_EQ(groups.size(), 1u) << "ranks of all processes together";
}

TEST(trace, a_file_that_cannot_be_written_is_named) {
  try {
    start_trace("/nonexistent/trace.json", 1);
    FAIL() << "no error";
  } catch (const error& failure) {
    EXPECT_STREQ(failure.what(),
                 "cannot write the trace /nonexistent/trace.json: No such file or directory; name "
                 "another file with --trace");
  }
  EXPECT_FALSE(tracing());
}

TEST(trace, a_full_disk_is_reported) {
  if (!std::filesystem::is_character_file("/dev/full"))
    GTEST_SKIP() << "this machine has no /dev/full";
  start_trace("/dev/full", 1);
  trace_instant(trace_kind::send, 0, 1);
  EXPECT_THROW(stop_trace(), error);
  EXPECT_FALSE(tracing());
}

// The receiver, which counts all that come from a rank, cannot know which of its threads has sent what.
TEST(trace, messages_of_two_threads_of_a_rank_have_flows_of_their_own) {
  const message_name name{7, 0, 3, 1};
  std::vector<std::uint64_t> sent, received;
  (void)traced(1, [&] {
    for (int thread = 0; thread < 2; ++thread)
      std::thread([&] {
        for (int i = 0; i < 3; ++i) sent.push_back(flow_in(trace_sent(0, 1, name)));
      }).join();
    for (int i = 0; i < 6; ++i) received.push_back(flow_in(trace_received(1, 0, name)));
  });
  EXPECT_EQ(sent, received);
  std::ranges::sort(sent);
  EXPECT_EQ(std::ranges::adjacent_find(sent), sent.end());
}

// Long messages may be matched in the order in which they were sent, and end in another one.
TEST(trace, a_message_keeps_its_flow_when_a_later_one_ends_before_it) {
  const message_name name{7, 0, 3, 1};
  std::vector<std::uint64_t> sent, received(3);
  (void)traced(1, [&] {
    for (int i = 0; i < 3; ++i) sent.push_back(flow_in(trace_sent(0, 1, name)));
    const int first = 0, second = 0, third = 0;
    trace_matched(1, name, &first);
    trace_matched(1, name, &second);
    received[1] = flow_in(trace_received(1, 0, name, &second));
    received[2] = flow_in(trace_received(1, 0, name, &third));
    received[0] = flow_in(trace_received(1, 0, name, &first));
  });
  EXPECT_EQ(sent, received);
}

// Programs number their tags by step, direction and block, so names differ in few bits.
TEST(trace, no_two_names_of_messages_are_one) {
  std::vector<std::uint64_t> names, keys;
  for (int context = 0; context < 6; ++context)
    for (int source = 0; source < 20; ++source)
      for (int to = 0; to < 20; ++to)
        for (int tag = 0; tag < 200; ++tag)
          names.push_back(stream_of({static_cast<std::uint32_t>(context), source, tag, to}));
  // Large ones: contexts of collectives, and tags of whole numbers.
  for (int context = 0; context < 3; ++context)
    for (int source = 0; source < 16; ++source)
      for (int to = 0; to < 16; ++to)
        for (int bit = 16; bit < 31; ++bit)
          for (int tag = 0; tag < 8; ++tag)
            names.push_back(stream_of({1U << 31 | static_cast<std::uint32_t>(context), source << 15,
                                       tag << 10 | 1 << bit, to << 12}));
  for (std::size_t i = 0; i < names.size(); i += 7)
    for (std::uint64_t number = 1; number <= 4; ++number) keys.push_back(mixed(names[i], number));
  for (std::vector<std::uint64_t>* all : {&names, &keys}) {
    std::ranges::sort(*all);
    EXPECT_EQ(std::ranges::adjacent_find(*all), all->end()) << all->size();
  }
}

TEST(trace, no_two_collectives_are_one) {
  std::vector<std::int64_t> names;
  for (int first = 0; first < 40; ++first)
    for (unsigned context = 0; context < 400; ++context)
      for (int size = 1; size < 10; ++size)
        for (std::uint64_t turn = 0; turn < 2; ++turn)
          names.push_back(event_file::packed(
              {first, context * 8, turn, size << 14, collective_relation::all, false, false, ""}));
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  const event_file::meeting m = event_file::unpacked(
      event_file::packed({3, 9, 77, 12, collective_relation::to_root, true, false, ""}));
  EXPECT_EQ(m.turn, 77U);
  EXPECT_EQ(m.how, collective_relation::to_root);
  EXPECT_TRUE(m.is_root);
}

TEST(trace, only_one_trace_at_a_time) {
  (void)traced(1, [] { EXPECT_THROW(start_trace("/dev/null", 1), error); });
}

}  // namespace
}  // namespace weft
