// What processes say to each other of ranks and of the end of a job, and must not be believed: one
// process of a job of three, whose peers say what a test puts into their mouths. And what they say in an
// order that processes come to seldom.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collective/meetings.hpp"
#include "comm/wire.hpp"
#include "job.hpp"
#include "made_up_endpoint.hpp"
#include "mirrored_job.hpp"
#include "rank/remote.hpp"
#include "rank/start.hpp"
#include "runtime/termination.hpp"

namespace weft {
namespace {

using word = termination::message;

constexpr int processes = 3;  // Each has a rank and a worker.
// In the order in which they are registered.
constexpr std::uint16_t eager_handler = 1;
constexpr std::uint16_t rts_handler = 2;
constexpr std::uint16_t finished_handler = 3;
constexpr std::uint16_t congestion_handler = 4;
constexpr std::uint16_t broken_handler = 8;
constexpr std::uint16_t question_handler = 9;
constexpr std::uint16_t said_handler = 10;
constexpr std::uint16_t call_told_handler = 12;
constexpr std::uint16_t finished_told_handler = 7;
constexpr std::uint16_t end_handler = 14;  // 13 is of agreements.
constexpr int tag = 5;

std::uint64_t two(int high, int low) {
  return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
}
std::vector<std::byte> bytes_of_text(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

struct said {
  int process = 0;  // Of a peer: who says it, or whose end it is; of the process itself: to whom.
  wire_header header{};
  std::vector<std::byte> bytes{};
  bool dies = false;
};

said am(int process, std::uint16_t handler, std::uint64_t number, std::uint64_t first,
        std::uint64_t second, std::vector<std::byte> bytes = {}) {
  wire_header header{};
  header.kind = static_cast<std::uint8_t>(comm::message_kind::am);
  header.handler = handler;
  header.tag = number;
  header.size = first;
  header.operation = second;
  return {process, header, std::move(bytes)};
}
said about_the_end(int process, word what, std::uint64_t first = 0, std::uint64_t second = 0,
                   std::string_view text = {}) {
  return am(process, end_handler, static_cast<std::uint64_t>(what), first, second,
            bytes_of_text(text));
}
said statement(int process, word what, std::uint64_t sent, std::uint64_t received) {
  said made = about_the_end(process, what, sent, received);
  made.header.user = 1;  // Its number.
  return made;
}
template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  const auto all = std::as_bytes(std::span(&value, 1));
  return {all.begin(), all.end()};
}
said a_message_of(int process, std::uint32_t context, int source, int to, int value) {
  return am(process, eager_handler, two(static_cast<int>(context), tag), two(source, to), 0,
            bytes_of(value));
}
said a_message(int process, int to, int value) {
  return a_message_of(process, 0, process, to, value);
}
bool is(const said& s, word what) {
  return s.header.handler == end_handler && s.header.tag % 256 == static_cast<std::uint64_t>(what);
}
// As it travels in a word.
std::string list_of(const std::vector<std::uint32_t>& dead) {
  return {reinterpret_cast<const char*>(dead.data()), dead.size() * sizeof dead[0]};
}

// What becomes of reads from the memory of a peer.
enum class reading { gives_zeros, fails };

// Says one thing in each poll.
class made_up_peers final : public tests::made_up_endpoint {
 public:
  using answers = std::function<std::vector<said>(const said&)>;
  made_up_peers(std::deque<said> script, answers answer, reading how)
      : made_up_endpoint("made up", true),
        script_(std::move(script)),
        answer_(std::move(answer)),
        reading_(how) {}
  status send(std::uint32_t peer, const wire_header& header, wire_parts parts,
              void*) noexcept override {
    said mine{static_cast<int>(peer), header};
    for (const auto& part : parts) mine.bytes.insert(mine.bytes.end(), part.begin(), part.end());
    for (said& next : answer_(mine)) script_.push_back(std::move(next));
    return status::done;
  }
  int poll(arrivals& to, int) noexcept override {
    if (script_.empty()) return 0;
    const said next = std::move(script_.front());
    script_.pop_front();
    if (next.dies)
      to.peer_failed(static_cast<std::uint32_t>(next.process), "it was killed");
    else
      to.delivered(static_cast<std::uint32_t>(next.process), next.header, next.bytes);
    return 1;
  }
  status get(std::uint32_t, std::span<std::byte> into, const memory_region*, const remote_key&,
             std::uint64_t, void*) noexcept override {
    if (reading_ == reading::fails) return status::failed;
    std::memset(into.data(), 0, into.size());
    return status::done;
  }
  [[nodiscard]] bool arm() noexcept override { return script_.empty(); }

 private:
  std::deque<said> script_;
  answers answer_;
  const reading reading_;
};

// What the coordinator answers, so that the job ends.
std::vector<said> end_well(const said& mine) {
  if (is(mine, word::ended)) return {about_the_end(mine.process, word::all_ended)};
  if (is(mine, word::halted)) return {about_the_end(mine.process, word::unwind)};
  return {};
}

struct ended_job {
  int status = -1;
  std::string text;
  std::uint64_t refused = 0;
  std::vector<said> said_here;
};

// Process `self` runs `body` as its rank.
ended_job run_among(int self, std::deque<said> script,
                    const std::function<void(communicator&)>& body,
                    const made_up_peers::answers& answer = end_well,
                    reading how_read = reading::gives_zeros) {
  ended_job ended;
  tests::mirrored_job job(self, processes);
  options how = job_of(processes, 1);
  how.processes = 0;
  how.on_failure = "error";
  how.timeout_s = 20;
  network* between = nullptr;
  detail::launch_context others;
  others.job = &job;
  others.connected = [&](network* now) {
    if (between != nullptr) ended.refused = remote::port(between->at(0)).statistics().refused;
    between = now;
  };
  others.make_endpoints = [&](int) {
    std::vector<std::unique_ptr<transport>> made;
    const auto answer_and_note = [&](const said& mine) {
      ended.said_here.push_back(mine);
      return answer(mine);
    };
    made.push_back(std::make_unique<made_up_peers>(std::move(script), answer_and_note, how_read));
    return made;
  };
  testing::internal::CaptureStderr();
  ended.status = detail::run_ranks_of_job(how, body, others);
  ended.text = testing::internal::GetCapturedStderr();
  return ended;
}

const std::function<void(communicator&)> receive_from_0 = [](communicator& world) {
  EXPECT_EQ(world.recv<int>(0, tag), 42);
};

class a_decision : public testing::TestWithParam<word> {};

TEST_P(a_decision, of_a_process_that_is_not_the_coordinator_is_refused_counted_and_reported) {
  const ended_job ended =
      run_among(1, {about_the_end(2, GetParam(), 77), a_message(0, 1, 42)}, receive_from_0);
  EXPECT_EQ(ended.status, 0) << ended.text;
  EXPECT_EQ(ended.refused, 1u);
  EXPECT_EQ(
      ended.text,
      "weft: process 1 device 0: a message of process 2 device 0 was refused: it is a decision of a "
      "process that is not the coordinator\n");
}

TEST_P(a_decision, of_another_one_is_refused_by_the_coordinator) {
  // What the others have sent and received, so that the coordinator ends the job.
  const ended_job ended =
      run_among(0,
                {about_the_end(1, GetParam(), 77), a_message(2, 0, 42),
                 statement(1, word::ended, 0, 0), statement(2, word::ended, 1, 0)},
                [](communicator& world) { EXPECT_EQ(world.recv<int>(2, tag), 42); });
  EXPECT_EQ(ended.status, 0) << ended.text;
  EXPECT_EQ(ended.refused, 1u);
  expect_contains(ended.text, "a message of process 1 device 0 was refused: it is a decision");
}

const char* name_of(word what) {
  if (what == word::all_ended) return "all_ended";
  if (what == word::stop) return "stop";
  if (what == word::unwind) return "unwind";
  return what == word::confirm ? "confirm" : "describe";
}

INSTANTIATE_TEST_SUITE_P(forged, a_decision,
                         testing::Values(word::all_ended, word::stop, word::unwind, word::confirm,
                                         word::describe),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST(a_word_about_the_end, that_is_none_or_too_long_is_refused) {
  const ended_job ended = run_among(
      1,
      {about_the_end(0, static_cast<word>(200)),
       about_the_end(0, word::failure, 77, 0, std::string(1025, 'x')), a_message(0, 1, 42)},
      receive_from_0);
  EXPECT_EQ(ended.status, 0) << ended.text;
  EXPECT_EQ(ended.refused, 2u);
  expect_contains(ended.text, "was refused: it is no word about the end of a job\n");  // Once.
}

// The coordinator, who ends the job as if it had not heard of it, may never hear: then those say it who told it.
TEST(a_failure, that_is_told_to_a_process_that_is_not_the_coordinator_is_handed_on) {
  const ended_job ended = run_among(
      1, {about_the_end(2, word::failure, 77, 0, "it broke"), a_message(0, 1, 42)}, receive_from_0);
  EXPECT_EQ(ended.status, 77);
  EXPECT_EQ(ended.text, "weft: it broke\n");
  int handed_on = 0;
  for (const said& s : ended.said_here) {
    EXPECT_FALSE(is(s, word::stop)) << "only the coordinator says so";
    if (!is(s, word::failure)) continue;
    ++handed_on;
    EXPECT_EQ(s.process, 0);
    EXPECT_EQ(s.header.size, 77u);
    EXPECT_EQ(s.bytes, bytes_of_text("it broke"));
  }
  EXPECT_EQ(handed_on, 1);
}

// The one may know of a death before the other.
TEST(a_stop, of_one_who_becomes_the_coordinator_by_a_death_counts_once_the_death_is_known) {
  const said early = about_the_end(1, word::stop, 77, 0, list_of({0}));
  const ended_job unknown = run_among(2, {early, a_message(0, 2, 42)}, receive_from_0);
  EXPECT_EQ(unknown.status, 0) << unknown.text;
  EXPECT_EQ(unknown.refused, 0u);

  said death;
  death.process = 0;
  death.dies = true;
  const ended_job known =
      run_among(2, {early, a_message(0, 2, 42), death}, [](communicator& world) {
        EXPECT_EQ(world.recv<int>(0, tag), 42);
        (void)world.recv<int>(1, tag);
        ADD_FAILURE() << "the job stops";
      });
  EXPECT_EQ(known.status, 77) << known.text;
  EXPECT_EQ(known.refused, 0u);
}

// It names another process than those before it.
TEST(a_stop, of_one_who_says_that_others_are_dead_which_do_not_make_it_the_coordinator_is_refused) {
  const ended_job ended = run_among(
      1, {about_the_end(2, word::stop, 77, 0, list_of({0})), a_message(0, 1, 42)}, receive_from_0);
  EXPECT_EQ(ended.status, 0) << ended.text;
  EXPECT_EQ(ended.refused, 1u);
}

// Process 0 sends what `forge` made of an offer that would be right, and then a message.
ended_job run_with_rts(const std::function<void(detail::rts_on_wire&)>& forge, int source = 0) {
  detail::rts_on_wire offered;
  offered.bytes = offered.memory.size = 100'000;
  offered.memory.process = 0;
  forge(offered);
  const said rendezvous_request =
      am(0, rts_handler, two(0, tag), two(source, 1), 0, bytes_of(offered));
  return run_among(1, {rendezvous_request, a_message(0, 1, 42)}, [](communicator& world) {
    const message_status first = world.probe(0, tag);
    if (first.bytes == sizeof(int)) return (void)world.recv<int>(0, tag);
    EXPECT_EQ(first.bytes, 100'000u);
    EXPECT_EQ(world.recv_vector<char>(0, tag).size(), 100'000u);
    EXPECT_EQ(world.recv<int>(0, tag), 42);
  });
}

TEST(an_rts, of_memory_of_another_process_device_or_length_is_refused_counted_and_reported) {
  EXPECT_EQ(run_with_rts([](auto&) {}).refused, 0u) << "it is right";
  for (const int other : {1, 2, 3, -1, 1 << 30}) {
    const ended_job ended = run_with_rts([&](auto& o) { o.memory.process = other; });
    EXPECT_EQ(ended.status, 0) << ended.text;
    EXPECT_EQ(ended.refused, 1u) << other;
    EXPECT_EQ(
        ended.text,
        "weft: process 1 device 0: a message of process 0 device 0 was refused: it offers memory "
        "that is not its own, or of another length\n");
  }
  EXPECT_EQ(run_with_rts([](auto& o) { o.memory.device = 1; }).refused, 1u);
  EXPECT_EQ(run_with_rts([](auto& o) { o.memory.size = 99'999; }).refused, 1u);
  EXPECT_EQ(run_with_rts([](auto& o) { o.memory.size = ~0ull; }).refused, 1u);
}

TEST(a_message_of_ranks, for_none_that_is_here_or_of_the_wrong_length_is_refused) {
  for (const said& forged :
       {a_message(0, 0, 7), a_message(0, 2, 7), a_message(0, 99, 7),
        am(0, rts_handler, two(0, tag), two(0, 1), 0, std::vector<std::byte>(3)),
        am(0, congestion_handler, 0, 2, 0), am(0, congestion_handler, 0, ~0ull, 0),
        am(0, finished_told_handler, 0, 2, 0), am(0, finished_told_handler, 0, ~0ull, 0)}) {
    const ended_job ended = run_among(1, {forged, a_message(0, 1, 42)}, receive_from_0);
    EXPECT_EQ(ended.status, 0) << ended.text;
    EXPECT_EQ(ended.refused, 1u);
  }
}

constexpr std::array no_ranks_of_2{0, 1, 3, -1, 1 << 30};

TEST(a_message_of_ranks, whose_source_is_of_another_process_is_refused_counted_and_reported) {
  for (const int source : no_ranks_of_2)
    for (const std::uint32_t kind :
         {0u, detail::hidden_context, detail::group_context, detail::neighbor_context}) {
      const ended_job ended =
          run_among(1, {a_message_of(2, kind, source, 1, 7), a_message(0, 1, 42)}, receive_from_0);
      EXPECT_EQ(ended.status, 0) << ended.text;
      EXPECT_EQ(ended.refused, 1u) << source;
      EXPECT_EQ(ended.text,
                "weft: process 1 device 0: a message of process 2 device 0 was refused: its source "
                "is no rank of the process that sends it\n");
    }
}

TEST(an_rts, whose_source_is_of_another_process_is_refused) {
  for (const int source : {1, 2, 3, -1}) {
    const ended_job ended = run_with_rts([](auto&) {}, source);
    EXPECT_EQ(ended.status, 0) << ended.text;
    EXPECT_EQ(ended.refused, 1u) << source;
  }
}

// Process 2 among two that say what it says. Of a split they want the same, but for the process 1 where
// it is left out.
constexpr std::uint32_t made_context = 1;  // The first that process 0 takes.
constexpr int go_on = 6;                   // A tag: what comes late is said now.

said told_to_2(const said& mine, int process, std::uint64_t source) {
  said made{process, mine.header, mine.bytes};
  made.header.size = source << 32 | 2;
  return made;
}
std::vector<said> say_the_same(const said& mine, bool leave_1_out) {
  if (mine.header.handler == said_handler) {
    std::vector<said> made{told_to_2(mine, mine.process, 0)};
    // Within the world they meet by turns.
    if (mine.header.tag == 0) made.push_back(told_to_2(mine, 1 - mine.process, 0));
    for (said& one : made)
      if (one.bytes.size() == sizeof made_context) one.bytes = bytes_of(made_context);
    return made;
  }
  if (mine.header.handler == eager_handler && mine.header.tag >> 32 == detail::hidden_context) {
    said made = told_to_2(mine, mine.process, static_cast<std::uint64_t>(mine.process));
    const int color = undefined_color;
    if (mine.process == 1 && leave_1_out) std::memcpy(made.bytes.data(), &color, sizeof color);
    return {made};
  }
  return end_well(mine);
}
// `early` comes before the communicator is made, `late` when it has been.
ended_job run_with_split(std::deque<said> early, const std::vector<said>& late, bool leave_1_out,
                         const std::function<void(communicator&)>& use) {
  early.push_back(a_message(0, 2, 41));
  return run_among(
      2, std::move(early),
      [&](communicator& world) {
        EXPECT_EQ(world.recv<int>(0, tag), 41);
        communicator made = *world.split(0, 0);
        world.send(1, 0, go_on);
        EXPECT_EQ(world.recv<int>(0, tag), 42);
        use(made);
      },
      [&](const said& mine) {
        if (mine.header.handler != eager_handler || mine.header.tag != go_on)
          return say_the_same(mine, leave_1_out);
        std::vector<said> now = late;
        now.push_back(a_message(0, 2, 42));
        return now;
      });
}

TEST(a_message_of_ranks, that_comes_before_its_communicator_is_looked_at_when_that_is_made) {
  for (const int wanted : {1, any_source})
    for (const int source : {0, 2, 3, -1}) {
      const said forged = a_message_of(1, made_context, source, 2, 7);
      const said right = a_message_of(1, made_context, 1, 2, 43);
      for (const bool is_early : {true, false}) {
        const ended_job ended =
            run_with_split(is_early ? std::deque{forged, right} : std::deque<said>{},
                           is_early ? std::vector<said>{} : std::vector{forged, right}, false,
                           [&](communicator& made) { EXPECT_EQ(made.recv<int>(wanted, tag), 43); });
        EXPECT_EQ(ended.status, 0) << ended.text;
        EXPECT_EQ(ended.refused, 1u) << source;
        expect_contains(ended.text, "a message of process 1 device 0 was refused: its source");
      }
    }
}

TEST(an_rts, that_comes_before_its_communicator_is_looked_at_when_that_is_made) {
  detail::rts_on_wire offered;
  offered.bytes = offered.memory.size = 100'000;
  offered.memory.process = 1;
  offered.memory.peers = peer_access::read;
  for (const int source : {0, 1}) {
    const said rendezvous_request =
        am(1, rts_handler, two(made_context, tag), two(source, 2), 0, bytes_of(offered));
    const ended_job ended =
        run_with_split({rendezvous_request}, {}, false, [&](communicator& made) {
          EXPECT_EQ(made.iprobe(any_source, tag).has_value(), source == 1);
          if (source != 1) return;
          EXPECT_EQ(made.recv_vector<char>(1, tag).size(), 100'000u);
        });
    EXPECT_EQ(ended.status, 0) << ended.text;
    EXPECT_EQ(ended.refused, source == 1 ? 0u : 1u);
  }
}

struct question_on_wire {
  std::int32_t rank;
  std::int32_t unused;
  detail::broadcast_question asked;
};
said a_question(int process, int of) {
  question_on_wire question{1, 0, {}};  // Rank 1 of the two is that of process 2.
  question.asked.turn = 0;
  question.asked.rank = of;
  std::strcpy(question.asked.name, "bcast");
  return am(process, question_handler, made_context, 2, 0, bytes_of(question));
}

// What one says who has no rank in the communicator, and others do not believe.
TEST(a_word_between_subgroups, of_a_process_without_a_rank_there_is_refused_early_and_late) {
  for (const said& forged :
       {am(1, broken_handler, made_context, 2, 0, bytes_of_text("it is broken")),
        am(1, said_handler, made_context, 2, two(0, 1)), a_question(1, 0), a_question(1, 1),
        a_question(0, 1), a_question(0, 7)})
    for (const bool is_early : {true, false}) {
      const ended_job ended = run_with_split(is_early ? std::deque{forged} : std::deque<said>{},
                                             is_early ? std::vector<said>{} : std::vector{forged},
                                             true, [&](communicator& made) {
                                               EXPECT_EQ(made.size(), 2);
                                               made.barrier();
                                             });
      EXPECT_EQ(ended.status, 0) << ended.text;
      EXPECT_EQ(ended.refused, 1u) << forged.header.handler << (is_early ? " early" : " late");
    }
}

TEST(a_word_between_subgroups, of_one_with_a_rank_there_counts) {
  const said broken = am(0, broken_handler, made_context, 2, 0, bytes_of_text("it is broken"));
  for (const bool is_early : {true, false}) {
    const ended_job ended =
        run_with_split(is_early ? std::deque{broken} : std::deque<said>{},
                       is_early ? std::vector<said>{} : std::vector{broken}, true,
                       [&](communicator& made) { EXPECT_THROW(made.barrier(), error); });
    EXPECT_EQ(ended.status, 0) << ended.text;
    EXPECT_EQ(ended.refused, 0u);
  }
}

TEST(a_call, that_was_not_asked_for_is_refused) {
  const auto told = [](std::uint32_t context, std::uint64_t name) {
    return am(0, call_told_handler, context, 0, name, bytes_of(detail::call_on_wire{}));
  };
  const ended_job ended =
      run_with_split({}, {told(made_context, 0)}, true, [&](communicator& made) {
        made.barrier();
        EXPECT_EQ(made.size(), 2);
      });
  EXPECT_EQ(ended.status, 0) << ended.text;
  EXPECT_EQ(ended.refused, 1u) << "nobody has met there yet";
  const ended_job again =
      run_among(2, {am(0, said_handler, 0, 2, two(0, 1)), told(0, two(1, 0)), a_message(0, 2, 42)},
                receive_from_0);
  EXPECT_EQ(again.status, 0) << again.text;
  EXPECT_EQ(again.refused, 1u);
}

// --- Transfers of a collective that fail ---------------------------------------------------------

// Process 2 gives to rank 0, which refuses what it is offered; then `later` comes.
std::string told_of_refusal(const std::vector<said>& later) {
  std::string text;
  const ended_job ended = run_among(
      2, {},
      [&](communicator& world) {
        const std::vector<char> mine(100'000);
        std::vector<char> all;
        text = error_of([&] { world.gather(mine, all, 0); });
      },
      [&](const said& mine) {
        if (mine.header.handler != rts_handler) return say_the_same(mine, false);
        detail::rts_on_wire offered;
        std::memcpy(&offered, mine.bytes.data(), sizeof offered);
        said refusal = am(mine.process, finished_handler, 0, offered.send, 0);
        refusal.header.user = 1;  // It failed.
        std::vector<said> now{refusal};
        // What says nothing more of it, so that many passes lie between the refusal and `later`.
        now.insert(now.end(), 100, refusal);
        now.insert(now.end(), later.begin(), later.end());
        return now;
      });
  EXPECT_EQ(ended.status, 0) << ended.text;
  EXPECT_EQ(ended.refused, 0u) << ended.text;
  return text;
}

TEST(a_refused_subgroup, waits_for_the_word_that_says_why) {
  EXPECT_EQ(told_of_refusal({am(0, broken_handler, 0, 2, 0, bytes_of_text("it is broken"))}),
            "it is broken");
}

// Who refuses has heard of a death that this process hears of later.
TEST(a_refused_subgroup, names_the_process_that_has_died_and_not_the_one_that_refuses) {
  said death;
  death.process = 1;
  death.dies = true;
  // The collective or, between two of its passes, the worker sees the death first; the first names the call, too.
  std::string text = told_of_refusal({death});
  if (text.starts_with("gather on ")) text.erase(0, std::string_view("gather on ").size());
  EXPECT_EQ(text, "communicator 0: process 1 on host here, which holds some of its ranks, is dead");
}

TEST(a_refused_subgroup, goes_on_when_neither_word_nor_death_comes) {
  EXPECT_EQ(
      told_of_refusal({}),
      "rank 2: a send of 100000 bytes to rank 0, tag 1, failed: its process has died, or refused the "
      "data, or could not read them");
}

TEST(a_subgroup, that_cannot_read_what_it_is_offered_says_so_and_goes_on) {
  detail::rts_on_wire offered;
  offered.bytes = offered.memory.size = 100'000;
  offered.memory.process = 0;
  offered.send = 7;
  const said rendezvous_request =
      am(0, rts_handler, two(static_cast<int>(detail::hidden_context), 1), two(0, 2), 0,
         bytes_of(offered));
  std::string text;
  const ended_job ended = run_among(
      2, {rendezvous_request},
      [&](communicator& world) {
        const std::vector<char> none;
        std::vector<char> mine(100'000);
        text = error_of([&] { world.scatter(none, mine, 0); });
      },
      [](const said& mine) { return say_the_same(mine, false); }, reading::fails);
  EXPECT_EQ(ended.status, 0) << ended.text;
  EXPECT_EQ(
      text,
      "rank 2: a receive of 100000 bytes from rank 0, tag 1, failed: its process has died, or the data "
      "could not be read");
  const auto says_that_it_failed = [](const said& s) {
    return s.process == 0 && s.header.handler == finished_handler && s.header.size == 7 &&
           s.header.user == 1;
  };
  EXPECT_EQ(std::ranges::count_if(ended.said_here, says_that_it_failed), 1);
}

}  // namespace
}  // namespace weft
