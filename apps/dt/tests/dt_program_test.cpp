// What weft-dt does as a program: options, runs in every form, failures.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "app_program.hpp"
#include "dt/job.hpp"
#include "dt/picture.hpp"

namespace dt {
namespace {

using weft::tests::scratch_path;

std::optional<program_options> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "weft-dt");
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  return parse_program_options(static_cast<int>(argv.size()), argv.data());
}

weft::tests::program_run run_program(const std::string& words, const std::string& launcher = {}) {
  return weft::tests::run_app("weft-dt", words, launcher);
}

TEST(dt_program, reads_its_options) {
  const auto o = parse({"--graph", "bh", "--class", "W", "--waves", "3", "--tasks", "off"});
  ASSERT_TRUE(o);
  EXPECT_EQ(o->kind, graph_kind::black_hole);
  EXPECT_EQ(o->size.samples, 13'824u);
  EXPECT_EQ(o->waves, 3);
  EXPECT_FALSE(o->tasks);
}

TEST(dt_program, ends_with_status_2_and_one_line_on_bad_words) {
  for (const char* words : {"--graph xx", "--class C", "--waves 0", "--seed -1", "--taskz on",
                            "--csv one --picture ./one", "--csv ''", "--weft-ranks 0x"}) {
    const auto [status, output] = run_program(words);
    EXPECT_EQ(status, 2) << words << ": " << output;
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  }
}

TEST(dt_program, names_the_ranks_that_a_graph_needs_and_keeps_files_of_other_runs) {
  const scratch_path kept("kept.csv");
  std::ofstream(kept.path) << "of another run";
  const auto [status, output] = run_program("--weft-ranks 11 --csv " + kept.path);
  EXPECT_EQ(status, 1) << output;
  EXPECT_NE(output.find("has 12 nodes, but the job has 11 ranks"), std::string::npos) << output;
  std::string text;
  std::getline(std::ifstream(kept.path), text);
  EXPECT_EQ(text, "of another run");
}

outcome run_in_process(const program_options& o, const weft::options& runtime) {
  outcome result;
  const int status = weft::run(runtime, [&](weft::communicator& ranks) {
    const outcome mine = run_waves(ranks, o);
    if (ranks.rank() == 0) result = mine;
  });
  EXPECT_EQ(status, 0);
  return result;
}

TEST(dt_program,
     checksums_are_the_known_ones_for_any_number_of_workers_and_helpers_with_and_without_tasks) {
  for (const kind_name& kind : kind_names)
    for (const bool tasks : {false, true})
      for (const auto& [workers, helpers] : {std::pair{1, 0}, {2, 0}, {3, 0}, {1, 2}}) {
        program_options o;
        o.kind = kind.kind;
        o.waves = 2;
        o.tasks = tasks;
        weft::options runtime;
        runtime.ranks = make_graph(kind.kind, o.size.width).size();
        runtime.workers = workers;
        runtime.helpers = helpers;
        runtime.pin = false;
        const outcome result = run_in_process(o, runtime);
        EXPECT_TRUE(result.right) << kind.words << workers << helpers << tasks;
        EXPECT_EQ(result.checksum, known_checksum(kind.kind, 'S', 1)) << kind.words;
      }
}

TEST(dt_program, ranks_without_a_node_only_help) {
  const auto [status, output] = run_program("--weft-ranks 15 --waves 2 --class S");
  EXPECT_EQ(status, 0) << output;
  EXPECT_NE(output.find("15 ranks on"), std::string::npos) << output;
  EXPECT_NE(output.find(", right\n"), std::string::npos) << output;
}

TEST(dt_program, another_seed_is_compared_with_one_rank_that_sends_nothing) {
  const auto [status, output] = run_program("--seed 42 --waves 1 --check");
  EXPECT_EQ(status, 0) << output;
  EXPECT_NE(output.find("right: one rank without messages has the same"), std::string::npos)
      << output;
}

TEST(dt_program, comes_to_the_same_checksum_in_several_processes) {
  if (!std::filesystem::exists(WEFT_PROGRAM_DIR "/weftrun"))
    GTEST_SKIP() << "built without weftrun";
  const auto [status, output] = run_program(
      "--waves 2", "timeout 100 " WEFT_PROGRAM_DIR "/weftrun -n 12 --workers 1 --processes 2");
  EXPECT_EQ(status, 0) << output;
  EXPECT_NE(output.find("in each of 2 processes"), std::string::npos) << output;
  EXPECT_NE(output.find(", right\n"), std::string::npos) << output;
}

std::uint64_t stolen_chunks_of(const std::string& words) {
  const auto [status, output] = run_program(words);
  EXPECT_EQ(status, 0) << output;
  return weft::tests::stolen_chunks_in(output, 32);
}

TEST(dt_program, waiting_ranks_and_helpers_take_chunks_unless_tasks_are_off) {
  EXPECT_GT(stolen_chunks_of("--class W --waves 3 --weft-workers 2 --weft-stats"), 0u);
  EXPECT_EQ(stolen_chunks_of("--class W --waves 3 --weft-workers 2 --weft-stats --tasks off"), 0u);
}

TEST(dt_program, ends_early_when_interrupted_and_writes_all_that_it_has) {
  const scratch_path csv("waves.csv");
  const auto [status, output] = run_program(
      "--waves 1000000 --csv " + csv.path + " 2>&1 & job=$!; for i in $(seq 1200); do [ $(cat " +
      csv.path +
      " 2>/dev/null | wc -l) -gt 3 ] && break; sleep 0.05; done; kill -TERM $job; wait $job");
  EXPECT_EQ(status, 128 + 15) << output.substr(output.size() > 400 ? output.size() - 400 : 0);
  EXPECT_NE(output.find("\ninterrupted          after "), std::string::npos);
  EXPECT_NE(output.find(", right\n"), std::string::npos);
  std::ifstream table(csv.path);
  const std::string rows(std::istreambuf_iterator<char>(table), {});
  EXPECT_GT(std::ranges::count(rows, '\n'), 3) << rows;
  EXPECT_TRUE(rows.ends_with('\n'));
}

TEST(dt_program, draws_the_graph_and_what_each_rank_did) {
  const scratch_path png("wave.png");
  const auto [status, output] = run_program("--graph wh --waves 1 --picture " + png.path);
  EXPECT_EQ(status, 0) << output;
  std::ifstream in(png.path, std::ios::binary);
  std::string head(24, '\0');
  in.read(head.data(), 24);
  EXPECT_EQ(head.substr(1, 3), "PNG");
  EXPECT_THROW(draw_wave("/no/such/directory/a.png", make_graph(graph_kind::shuffle, 4), {}, ""),
               weft::error);
}

TEST(dt_program, help_teaches_and_succeeds) {
  const auto [status, output] = run_program("--help");
  EXPECT_EQ(status, 0);
  EXPECT_NE(output.find("--weft-helpers"), std::string::npos);
}

}  // namespace
}  // namespace dt
