// What weft-md makes of its command line, and how it cuts the box.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>
#include <weft/error.hpp>

#include "app_program.hpp"
#include "front/workers.hpp"
#include "md/job.hpp"
#include "md/options.hpp"
#include "md/output.hpp"
#include "md/picture.hpp"

namespace md {
namespace {

using weft::tests::scratch_path;

std::optional<program_options> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "weft-md");
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  return parse_program_options(static_cast<int>(argv.size()), argv.data());
}

std::string complaint_about(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const weft::error& e) {
    return e.what();
  }
  ADD_FAILURE() << "accepted: " << words.front();
  return {};
}

TEST(md_program, reads_its_options) {
  const auto o = parse({"--size", "5x6x7", "--voids", "3/4.5", "--tasks", "off", "--dt", "2"});
  ASSERT_TRUE(o);
  EXPECT_EQ(o->physics.solid.cells, (std::array<int, 3>{5, 6, 7}));
  EXPECT_EQ(o->void_count, 3);
  EXPECT_EQ(o->void_radius, 4.5);
  EXPECT_FALSE(o->tasks);
  EXPECT_DOUBLE_EQ(o->physics.timestep, 0.002);
  EXPECT_EQ(parse({"--size", "5"})->physics.solid.cells, (std::array<int, 3>{5, 5, 5}));
}

TEST(md_program, refuses_a_crystal_that_no_memory_holds_and_names_the_largest) {
  const std::string text = complaint_about({"--size", "10000"});
  EXPECT_NE(text.find("--size asks for 4000000000000 atoms"), std::string::npos) << text;
  const std::size_t at = text.rfind("--size ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(parse({"--size", text.substr(at + 7)})) << "what it proposes is accepted";
}

TEST(md_program, names_the_word_it_does_not_understand_in_one_line) {
  const std::vector<std::vector<std::string>> bad{{"--size", "3y4"},   {"--size", "0"},
                                                  {"--size", "3x4"},   {"--size", "-1"},
                                                  {"--voids", "3/"},   {"--voids", "3/-1"},
                                                  {"--voids", "many"}, {"--tasks", "maybe"},
                                                  {"--steps", "-3"},   {"--steps", "1.5"},
                                                  {"--dt", "0"},       {"--drift", "1e9"},
                                                  {"--drift", "nan"},  {"--temperature", "-1"},
                                                  {"--skin", "0"},     {"--voidz", "3"},
                                                  {"--steps"},         {"stray"}};
  for (const auto& words : bad) {
    const std::string what = complaint_about(words);
    EXPECT_NE(what.find(words.front()), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

TEST(md_program, refuses_numbers_that_are_not_finite) {
  for (const char* option :
       {"--temperature", "--displace", "--skin", "--lattice", "--dt", "--drift", "--voids"})
    for (const char* value : {"nan", "-nan", "inf", "-inf"}) {
      const bool is_voids = option == std::string_view("--voids");
      const std::string what =
          complaint_about({option, (is_voids ? "3/" : "") + std::string(value)});
      EXPECT_NE(what.find(option), std::string::npos) << what;
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    }
}

TEST(md_program, refuses_a_lattice_that_is_not_fcc_unless_told) {
  eam_potential tungsten;
  tungsten.structure = "bcc";
  tungsten.lattice_constant = 3.157;
  auto o = parse({"--steps", "1"});
  EXPECT_THROW(complete(*o, tungsten), weft::error);
  o = parse({"--lattice", "4"});
  complete(*o, tungsten);
  EXPECT_EQ(o->physics.solid.lattice_constant, 4.0);
}

TEST(md_program, chooses_the_grid_with_the_least_surface) {
  const vec3 cube{70, 70, 70};
  EXPECT_EQ(choose_grid(1, cube, 6.5), (process_grid{1, 1, 1}));
  EXPECT_EQ(choose_grid(2, cube, 6.5), (process_grid{2, 1, 1}));
  EXPECT_EQ(choose_grid(7, cube, 6.5), (process_grid{7, 1, 1}));
  EXPECT_EQ(choose_grid(16, cube, 6.5), (process_grid{4, 2, 2}));
  EXPECT_EQ(choose_grid(16, {30, 30, 300}, 6.5), (process_grid{1, 1, 16}));
}

TEST(md_program, avoids_blocks_thinner_than_the_halo) {
  EXPECT_EQ(choose_grid(4, {20, 14, 14}, 6.5), (process_grid{2, 2, 1}));
  try {
    choose_grid(7, {40, 40, 40}, 6.5);
    FAIL() << "slabs of 5.7 Å were accepted";
  } catch (const weft::error& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("7 ranks"), std::string::npos) << what;
    EXPECT_NE(what.find("6.50"), std::string::npos) << what;
    EXPECT_NE(what.find("--size"), std::string::npos) << what;
  }
}

TEST(md_program, every_place_of_the_grid_has_its_six_neighbors) {
  const process_grid grid{3, 2, 1};
  const vec3 box{30, 20, 10};
  for (int rank = 0; rank < 6; ++rank) {
    const domain d(grid, rank, box);
    for (int axis = 0; axis < 3; ++axis)
      EXPECT_EQ(domain(grid, d.neighbor(axis, 1), box).neighbor(axis, -1), rank);
  }
  EXPECT_EQ(domain(grid, 0, box).shift(0, -1), 30.0);
  EXPECT_EQ(domain(grid, 0, box).shift(0, 1), 0.0);
  EXPECT_EQ(domain(grid, 5, box).shift(0, 1), -30.0);
}

TEST(md_program, knows_what_sharing_can_win) {
  EXPECT_DOUBLE_EQ(front::sharing_limit({9, 1}, 2), 1.8);
  EXPECT_DOUBLE_EQ(front::sharing_limit({5, 5, 5, 5}, 2), 1.0);
  EXPECT_DOUBLE_EQ(front::sharing_limit({8, 8, 2, 2}, 2), 1.6);
  EXPECT_DOUBLE_EQ(front::sharing_limit({8, 8, 2, 2}, 1), 1.0);
  EXPECT_DOUBLE_EQ(front::sharing_limit({8, 8, 2, 2}, 1, 2),
                   1.0);  // Nobody else in either process.
  EXPECT_DOUBLE_EQ(front::sharing_limit({9, 3, 2, 2}, 2, 2), 1.5);
}

TEST(md_program, fits_a_line_through_the_energy) {
  energy_trend trend;
  for (int step = 0; step <= 100; ++step)
    trend.add(step, -50.0 + 1e-4 * step + (step % 2 ? 1e-3 : -1e-3));
  EXPECT_NEAR(trend.relative_drift(), 1e-2 / 50, 2e-6);
}

TEST(md_program, draws_atoms_in_the_colour_of_their_rank) {
  const scratch_path png("slice.png");
  const vec3 box{20, 10, 10};
  std::vector<atom_record> atoms;
  for (int i = 0; i < 20; ++i)
    atoms.push_back({static_cast<std::uint64_t>(i), {i + 0.5, 5, 5}, {}, -3.5 + 0.01 * i, i / 10});
  draw_slice(png.path, atoms, {2, 1, 1}, box, 3.0, "title");
  std::ifstream in(png.path, std::ios::binary);
  std::string head(24, '\0');
  in.read(head.data(), 24);
  EXPECT_EQ(head.substr(1, 3), "PNG");
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  EXPECT_GT(byte(18) * 256 + byte(19), 1200);  // Two panels of 680 pixels.
  EXPECT_THROW(draw_slice("/no/such/directory/a.png", atoms, {2, 1, 1}, box, 3.0, ""), weft::error);
}

TEST(md_program, a_picture_that_a_full_disk_does_not_take_is_told_and_its_file_stays) {
  if (!std::filesystem::is_character_file("/dev/full"))
    GTEST_SKIP() << "this machine has no /dev/full";
  const scratch_path png("full.png");
  std::filesystem::create_symlink("/dev/full", png.path);
  const std::vector<atom_record> atoms(1);
  EXPECT_THROW(draw_slice(png.path, atoms, {1, 1, 1}, {10, 10, 10}, 3.0, ""), weft::error);
  EXPECT_TRUE(std::filesystem::is_symlink(png.path));
}

weft::tests::program_run run_program(const std::string& words, const std::string& launcher = {}) {
  return weft::tests::run_app("weft-md", words, launcher);
}

TEST(md_program, ends_with_status_2_and_one_line_on_bad_words) {
  for (const char* words : {"--voidz 3", "--size 3y", "--skin nan", "--weft-ranks 0x",
                            "--weft-nonsense 1", "--potential missing.eam.alloy", "--dump-every 1",
                            "--seed -1", "--seed 99999999999999999999", "--csv both --dump ./both",
                            "--csv ''", "--potential /usr", "--potential ."}) {
    const auto [status, output] = run_program(words);
    EXPECT_EQ(status, 2) << words << ": " << output;
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  }
}

TEST(md_program, ends_with_status_1_when_ranks_do_not_fit) {
  if (!std::filesystem::exists("/usr/share/lammps/potentials/Cu_mishin1.eam.alloy"))
    GTEST_SKIP() << "lammps-data is missing";
  const std::string kept = ::testing::TempDir() + "weft_md_kept_" + std::to_string(::getpid());
  std::ofstream(kept) << "of another run";
  const auto [status, output] = run_program("--size 4 --weft-ranks 27 --csv " + kept);
  EXPECT_EQ(status, 1) << output;
  EXPECT_NE(output.find("27 ranks cannot share a box"), std::string::npos) << output;
  std::string text;
  std::getline(std::ifstream(kept), text);
  EXPECT_EQ(text, "of another run");
  std::filesystem::remove(kept);
}

TEST(md_program, shows_a_progress_bar_on_a_terminal_alone_and_removes_it) {
  if (!std::filesystem::exists("/usr/share/lammps/potentials/Cu_mishin1.eam.alloy"))
    GTEST_SKIP() << "lammps-data is missing";
  if (std::system("command -v script >/dev/null") != 0)
    GTEST_SKIP() << "script(1), which has a terminal for it, is missing";
  const std::string words = "--size 5 --steps 100 --weft-ranks 2";
  const auto [piped_status, piped] = run_program(words);
  EXPECT_EQ(piped_status, 0) << piped;
  EXPECT_EQ(piped.find('\r'), std::string::npos) << piped;
  const auto [status, shown] = run_program(words + "\" /dev/null", "script -qec \"");
  EXPECT_EQ(status, 0) << shown;
  const std::size_t bar = shown.find("\r[....................");
  ASSERT_NE(bar, std::string::npos) << shown;
  EXPECT_NE(shown.find("step 1 of 100", bar), std::string::npos) << shown;
  const std::size_t removed = shown.find("\r\x1b[K", bar);
  ASSERT_NE(removed, std::string::npos) << shown;
  // While the job runs.
  EXPECT_LT(removed, shown.find("energy drift")) << shown;
}

TEST(md_program, ends_with_status_1_when_atoms_fly_apart) {
  if (!std::filesystem::exists("/usr/share/lammps/potentials/Cu_mishin1.eam.alloy"))
    GTEST_SKIP() << "lammps-data is missing";
  const auto [status, output] = run_program("--size 5 --temperature 1e5 --dt 20 --weft-ranks 2");
  EXPECT_EQ(status, 1) << output;
  EXPECT_NE(output.find("flew apart"), std::string::npos) << output;
}

// SIGTERM: a shell lets what runs in its background ignore SIGINT.
TEST(md_program, ends_early_when_interrupted_and_writes_all_that_it_has) {
  if (!std::filesystem::exists("/usr/share/lammps/potentials/Cu_mishin1.eam.alloy"))
    GTEST_SKIP() << "lammps-data is missing";
  const scratch_path csv("thermo.csv"), xyz("atoms.xyz");
  const auto [status, output] = run_program(
      "--size 5 --steps 1000000000 --thermo 20 --dump-every 20 --weft-ranks 2 --csv " + csv.path +
      " --dump " + xyz.path + " 2>&1 & job=$!; for i in $(seq 1200); do [ $(cat " + csv.path +
      " 2>/dev/null | wc -l) -gt 3 ] && break; sleep 0.05; done; kill -TERM $job; wait $job");
  EXPECT_EQ(status, 128 + 15) << output;
  EXPECT_NE(output.find("\ninterrupted                after "), std::string::npos) << output;
  EXPECT_NE(output.find("\ntime "), std::string::npos) << output;
  std::ifstream table(csv.path), atoms(xyz.path);
  const std::string rows(std::istreambuf_iterator<char>(table), {});
  EXPECT_GT(std::ranges::count(rows, '\n'), 3) << rows;
  EXPECT_TRUE(rows.ends_with('\n')) << rows;
  const std::string frames(std::istreambuf_iterator<char>(atoms), {});
  EXPECT_EQ(std::ranges::count(frames, '\n') % 502, 0) << "whole frames of 500 atoms";
}

TEST(md_program, writes_thermo_atoms_and_picture) {
  if (!std::filesystem::exists("/usr/share/lammps/potentials/Cu_mishin1.eam.alloy"))
    GTEST_SKIP() << "lammps-data is missing";
  const scratch_path csv("thermo.csv"), xyz("atoms.xyz");
  const auto [status, output] =
      run_program("--size 5 --steps 20 --thermo 5 --dump-every 10 --weft-ranks 2 --csv " +
                  csv.path + " --dump " + xyz.path);
  EXPECT_EQ(status, 0) << output;
  EXPECT_NE(output.find("energy drift"), std::string::npos) << output;
  std::ifstream table(csv.path);
  std::string line;
  int lines = 0;
  while (std::getline(table, line)) ++lines;
  EXPECT_EQ(lines, 1 + 5);  // Header, steps 0, 5, 10, 15, 20.
  std::ifstream frames(xyz.path);
  lines = 0;
  while (std::getline(frames, line)) {
    if (lines == 0) {
      EXPECT_EQ(line, "500");
    }
    if (lines == 1) {
      EXPECT_TRUE(line.starts_with("Lattice=\"18.075 0 0 0 18.075")) << line;
    }
    ++lines;
  }
  EXPECT_EQ(lines, 2 * 502);
}

// Number, time, temperature, energies and pressure of each line of the table.
std::vector<double> thermo_of(const std::string& output) {
  std::vector<double> numbers;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<double> row;
    for (double number = 0; words >> number;) row.push_back(number);
    if (row.size() == 6 && words.eof()) numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return numbers;
}

TEST(md_program, moves_atoms_likewise_in_several_processes) {
  if (!std::filesystem::exists("/usr/share/lammps/potentials/Cu_mishin1.eam.alloy"))
    GTEST_SKIP() << "lammps-data is missing";
  if (!std::filesystem::exists(WEFT_PROGRAM_DIR "/weftrun"))
    GTEST_SKIP() << "built without weftrun";
  const std::string words = "--size 6 --steps 100 --thermo 20 --voids 2/3";
  const auto [status, output] = run_program(words + " --weft-ranks 4");
  ASSERT_EQ(status, 0) << output;
  const std::vector<double> expected = thermo_of(output);
  ASSERT_EQ(expected.size(), 6u * 6u) << output;
  for (const int processes : {2, 4}) {
    const auto [ended, text] =
        run_program(words, std::string("timeout 100 " WEFT_PROGRAM_DIR "/weftrun -n 4 --workers 1 "
                                       "--processes ") +
                               std::to_string(processes));
    EXPECT_EQ(ended, 0) << text;
    EXPECT_NE(text.find("on 1 worker in each of " + std::to_string(processes) + " processes"),
              std::string::npos)
        << text;
    const std::vector<double> got = thermo_of(text);
    ASSERT_EQ(got.size(), expected.size()) << text;
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 1e-9 * std::abs(expected[i]) + 1e-6) << i << "\n" << text;
  }
}

TEST(md_program, lets_ranks_in_the_voids_steal_chunks_of_the_others_unless_tasks_are_off) {
  if (!std::filesystem::exists("/usr/share/lammps/potentials/Cu_mishin1.eam.alloy"))
    GTEST_SKIP() << "lammps-data is missing";
  const auto stolen = [](const std::string& tasks) {
    const auto [status, output] = run_program(
        "--size 8 --steps 40 --thermo 20 --voids 2/5 --weft-ranks 2 --weft-workers 2 "
        "--weft-stats --tasks " +
        tasks);
    EXPECT_EQ(status, 0) << output;
    return weft::tests::stolen_chunks_in(output, 2);
  };
  EXPECT_GT(stolen("on"), 0u);
  EXPECT_EQ(stolen("off"), 0u);
}

TEST(md_program, help_teaches_and_succeeds) {
  const auto [status, output] = run_program("--help");
  EXPECT_EQ(status, 0);
  EXPECT_NE(output.find("--voids"), std::string::npos);
  EXPECT_NE(output.find("--weft-"), std::string::npos);
}

}  // namespace
}  // namespace md
