// What weft-amr does as a program: options, equal bits in every form, failures.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>
#include <weft/error.hpp>

#include "amr/job.hpp"
#include "app_program.hpp"

namespace amr {
namespace {

using weft::tests::scratch_path;

std::optional<program_options> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "weft-amr");
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  return parse_program_options(static_cast<int>(argv.size()), argv.data());
}

weft::tests::program_run run_program(const std::string& words, const std::string& launcher = {}) {
  return weft::tests::run_app("weft-amr", words, launcher);
}

std::string hash_in(const std::string& output) {
  const std::size_t at = output.find("\nhash");
  return at == std::string::npos ? output : output.substr(at + 22, 16);
}

TEST(amr_program, reads_its_options) {
  const auto o = parse({"--levels", "5", "--base", "1", "--objects", "3", "--balance", "0"});
  ASSERT_TRUE(o);
  EXPECT_EQ(o->physics.levels, 5);
  EXPECT_EQ(o->physics.objects, 3);
  EXPECT_EQ(o->physics.balance_every, 0);
  EXPECT_TRUE(o->tasks);
}

TEST(amr_program, ends_with_status_2_and_one_line_on_bad_words) {
  for (const char* words : {"--levels 9", "--base 4 --levels 3", "--variables 0", "--speed nan",
                            "--objectz 1", "--csv one --picture ./one", "--csv ''"}) {
    const auto [status, output] = run_program(words);
    EXPECT_EQ(status, 2) << words << ": " << output;
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  }
}

TEST(amr_program, refuses_blocks_that_no_memory_holds_and_names_the_finest_base) {
  try {
    parse({"--base", "7", "--levels", "7", "--variables", "1000"});
    ADD_FAILURE() << "accepted";
  } catch (const weft::error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("--base 7 asks for 2097152 blocks of 1000 variables"), std::string::npos);
    const std::size_t at = text.find("at most ");
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_TRUE(parse({"--levels", "7", "--variables", "1000", "--base", text.substr(at + 8, 1)}));
  }
}

TEST(amr_program, has_the_same_bits_for_any_ranks_workers_and_balance_with_and_without_tasks) {
  std::uint64_t hash = 0;
  for (const int ranks : {1, 3, 8})
    for (const bool tasks : {true, false})
      for (const int balance : {1, 0}) {
        program_options o;
        o.physics.base = 1;
        o.physics.levels = 3;
        o.physics.variables = 2;
        o.physics.speed = 0.03;
        o.physics.regrid_every = 2;
        o.physics.balance_every = balance;
        o.steps = 12;
        o.report_every = 12;
        o.tasks = tasks;
        weft::options runtime;
        runtime.ranks = ranks;
        runtime.workers = std::min(ranks, 2);
        runtime.pin = false;
        outcome result;
        const int status = weft::run(runtime, [&](weft::communicator& world) {
          const outcome mine = run_steps(world, o);
          if (world.rank() == 0) result = mine;
        });
        ASSERT_EQ(status, 0);
        EXPECT_TRUE(result.right) << ranks << tasks << balance;
        if (hash == 0) hash = result.hash;
        EXPECT_EQ(result.hash, hash) << ranks << tasks << balance;
      }
}

TEST(amr_program, has_the_same_bits_in_several_processes) {
  if (!std::filesystem::exists(WEFT_PROGRAM_DIR "/weftrun"))
    GTEST_SKIP() << "built without weftrun";
  const std::string words = "--steps 10 --levels 3 --variables 2 --speed 0.03";
  const auto [alone, expected] = run_program(words + " --weft-ranks 4");
  EXPECT_EQ(alone, 0) << expected;
  const auto [status, output] =
      run_program(words, "timeout 100 " WEFT_PROGRAM_DIR "/weftrun -n 4 --workers 1 --processes 2");
  EXPECT_EQ(status, 0) << output;
  EXPECT_NE(output.find("in each of 2 processes"), std::string::npos) << output;
  EXPECT_EQ(hash_in(output), hash_in(expected)) << output;
}

// pure.amr.* of ctest expect it of the same steps over each MPI.
TEST(amr_program, has_the_bits_of_its_mpi_form) {
  const auto [status, output] = run_program(
      "--steps 6 --levels 3 --base 1 --variables 1 --regrid 2 --balance 0 --weft-ranks 5");
  EXPECT_EQ(status, 0) << output;
  EXPECT_EQ(hash_in(output), "301ef74fc574f991") << output;
}

std::uint64_t stolen_chunks_of(const std::string& words) {
  const auto [status, output] = run_program(words);
  EXPECT_EQ(status, 0) << output;
  return weft::tests::stolen_chunks_in(output, 2);
}

TEST(amr_program, waiting_ranks_take_blocks_of_others_unless_tasks_are_off) {
  const std::string words =
      "--steps 20 --levels 3 --balance 0 --weft-ranks 2 --weft-workers 2 --weft-stats --tasks ";
  EXPECT_GT(stolen_chunks_of(words + "on"), 0u);
  EXPECT_EQ(stolen_chunks_of(words + "off"), 0u);
}

TEST(amr_program, ends_early_when_interrupted_and_writes_all_that_it_has) {
  const scratch_path csv("steps.csv");
  const auto [status, output] = run_program(
      "--steps 100000000 --report 2 --levels 3 --variables 1 --csv " + csv.path +
      " 2>&1 & job=$!; for i in $(seq 1200); do [ $(cat " + csv.path +
      " 2>/dev/null | wc -l) -gt 3 ] && break; sleep 0.05; done; kill -TERM $job; wait $job");
  EXPECT_EQ(status, 128 + 15) << output;
  EXPECT_NE(output.find("\ninterrupted          after "), std::string::npos) << output;
  std::ifstream table(csv.path);
  const std::string rows(std::istreambuf_iterator<char>(table), {});
  EXPECT_GT(std::ranges::count(rows, '\n'), 3) << rows;
  EXPECT_TRUE(rows.ends_with('\n')) << rows;
}

TEST(amr_program, draws_the_mesh_through_the_middle) {
  const scratch_path png("plane.png");
  const auto [status, output] =
      run_program("--steps 2 --levels 3 --variables 1 --picture " + png.path);
  EXPECT_EQ(status, 0) << output;
  std::ifstream in(png.path, std::ios::binary);
  std::string head(24, '\0');
  in.read(head.data(), 24);
  EXPECT_EQ(head.substr(1, 3), "PNG");
}

TEST(amr_program, help_teaches_and_succeeds) {
  const auto [status, output] = run_program("--help");
  EXPECT_EQ(status, 0);
  EXPECT_NE(output.find("--balance"), std::string::npos);
}

}  // namespace
}  // namespace amr
