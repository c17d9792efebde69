// weft-octree as a whole: the same numbers however it is run, its words, what it writes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>
#include <weft/tasks.hpp>
#include <weft/weft.hpp>

#include "app_program.hpp"
#include "octree/job.hpp"
#include "octree/parcel_exchange.hpp"
#include "octree/rank_exchange.hpp"

namespace octree {
namespace {

using weft::tests::scratch_path;

// Sanitizers multiply the time of every step.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// Small, but with leaves of two levels, and regrids that change the tree: stars that cross borders of leaves.
physics crossing_stars() {
  physics p;
  p.levels = {1, 2, 0.1};
  p.regrid_every = 3;
  p.start.stars[0].center = {-0.8, -0.5, -0.5};
  p.start.stars[1].center = {0.22, 0.5, 0.5};
  p.start.stars[0].velocity = {-10, 0, 0};
  p.start.stars[1].velocity = {-10, 0, 0};
  return p;
}

struct ending {
  std::uint64_t hash = 0;
  std::size_t leaves = 0;
  double mass_and_lost = 0;
  friend bool operator==(const ending&, const ending&) = default;
};
ending simulate(exchange& between, const physics& p, int steps) {
  simulation s(between, p);
  for (int step = 0; step < steps; ++step) {
    (void)s.step();
    s.regrid_when_due();
  }
  const totals t = s.measure();
  return {s.hash(), s.own().nodes().leaves().size(), t.mass + t.lost};
}

TEST(octree_ranks, have_the_numbers_of_one_thread_whatever_their_number) {
  const physics p = crossing_stars();
  constexpr int steps = 7;
  const auto alone = make_serial_exchange();
  const ending expected = simulate(*alone, p, steps);
  EXPECT_NE(expected.leaves, make_tree(p.start, p.levels, 1).leaves().size()) << "the tree changes";
  for (const auto& [ranks, workers] : {std::pair{1, 1}, {2, 1}, {2, 2}, {3, 2}, {4, 1}, {4, 2}}) {
    if (sanitized && (ranks % 2 != 0 || workers != 2)) continue;
    weft::options how;
    how.ranks = ranks;
    how.workers = workers;
    std::vector<ending> got(static_cast<std::size_t>(ranks));
    const int status = weft::run(how, [&](weft::communicator& world) {
      const auto between = make_rank_exchange(world);
      got[static_cast<std::size_t>(world.rank())] = simulate(*between, p, steps);
    });
    ASSERT_EQ(status, 0);
    for (const ending& one : got)
      EXPECT_EQ(one, expected) << ranks << " ranks, " << workers << " workers";
  }
}

// More ranks than leaves: some have nothing.
TEST(octree_ranks, may_have_no_leaf) {
  physics p = crossing_stars();
  p.levels = {1, 1, 0.1};
  const auto alone = make_serial_exchange();
  const ending expected = simulate(*alone, p, 2);
  weft::options how;
  how.ranks = 11;
  ending got;
  ASSERT_EQ(weft::run(how,
                      [&](weft::communicator& world) {
                        const auto between = make_rank_exchange(world);
                        const ending mine = simulate(*between, p, 2);
                        if (world.rank() == 10) got = mine;
                      }),
            0);
  EXPECT_EQ(got, expected);
}

TEST(octree_ranks, end_with_one_line_when_a_step_was_too_long) {
  physics p = crossing_stars();
  p.courant = 40;
  weft::options how;
  how.ranks = 3;
  testing::internal::CaptureStderr();
  const int status = weft::run(how, [&](weft::communicator& world) {
    const auto between = make_rank_exchange(world);
    (void)simulate(*between, p, 5);
  });
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 1);
  EXPECT_NE(text.find("give --courant a smaller number"), std::string::npos) << text;
}

// --- The program -----------------------------------------------------------------------------------
weft::tests::program_run run_program(const std::string& words, const std::string& launcher = {}) {
  return weft::tests::run_app("weft-octree", words, "timeout 100 " + launcher);
}

// What follows a word at the beginning of a line.
std::string line_of(const std::string& output, const std::string& word) {
  const std::size_t at = output.find("\n" + word);
  if (at == std::string::npos) return {};
  return output.substr(at + 1, output.find('\n', at + 1) - at - 1);
}

const std::string small = "--base 1 --levels 2 --steps 2 --regrid 3 ";

TEST(octree_program, has_the_same_hash_in_any_number_of_processes) {
  if (!std::filesystem::exists(WEFT_PROGRAM_DIR "/weftrun"))
    GTEST_SKIP() << "built without weftrun";
  const auto [status, output] = run_program(small + "--weft-ranks 1");
  ASSERT_EQ(status, 0) << output;
  const std::string hash = line_of(output, "hash");
  ASSERT_EQ(hash.size(), 21u + 16u) << output;
  const auto in_processes = [&](const std::string& exchange, int processes, int workers) {
    const bool by_ranks = exchange == "ranks";
    const auto [ended, text] =
        run_program(small + "--exchange " + exchange,
                    WEFT_PROGRAM_DIR "/weftrun --processes " + std::to_string(processes) +
                        " --workers " + std::to_string(workers) +
                        (by_ranks ? " -n " + std::to_string(processes * workers) : std::string()));
    EXPECT_EQ(ended, 0) << text;
    EXPECT_EQ(line_of(text, "hash"), hash) << text;
    const int localities = by_ranks ? processes * workers : processes;
    EXPECT_NE(text.find(std::to_string(localities) + " localities in " + std::to_string(processes) +
                        " processes"),
              std::string::npos)
        << text;
  };
  for (const char* exchange : {"ranks", "parcels"}) {
    for (const int processes : {2, 3, 4})
      for (const int workers : {1, 2})
        if (!sanitized || (processes == 2 && workers == 2))
          in_processes(exchange, processes, workers);
  }
}

std::vector<std::string> all_parcelports() {
  std::vector<std::string> all = {"lci", "lci_i", "tcp", "tcp_i", "lci_psr_cq_mt_i:2"};
  for (const std::string by : {"sr", "psr"})
    for (const std::string completion : {"cq", "sy"})
      for (const std::string progress : {"pin", "mt", "core"})
        for (const std::string at_once : {"", "_i"})
          all.push_back("lci_" + by + "_" + completion + "_" + progress + at_once);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // Which know no MPI.
  for (const std::string kind : {"mpi", "mpi_i", "mpi_orig", "mpi_orig_i"})
    for (const std::string mpi : {"mpich", "openmpi"}) all.push_back(kind + ":" + mpi);
#endif
  return all;
}

// With OCTREE_WHOLE over each of them with 1 to 4 processes of 1, 2 and 8 workers; else a sample. Not over those that this
// build has not, or that have no core here for a thread.
TEST(octree_program, has_the_same_hash_over_every_parcelport) {
  if (!std::filesystem::exists(WEFT_PROGRAM_DIR "/weftrun"))
    GTEST_SKIP() << "built without weftrun";
  const bool is_whole = std::getenv("OCTREE_WHOLE") != nullptr;
  const auto [status, output] = run_program(small + "--weft-ranks 1");
  ASSERT_EQ(status, 0) << output;
  const std::string hash = line_of(output, "hash");
  ASSERT_EQ(hash.size(), 21u + 16u) << output;
  int runs = 0;
  const auto run_over = [&](const std::string& port, int processes, int workers) {
    const auto words = " --parcelport " + port + " --processes " + std::to_string(processes) +
                       " --workers " + std::to_string(workers);
    const auto [ended, text] =
        run_program(small + "--exchange parcels", WEFT_PROGRAM_DIR "/weftrun --timeout 90" + words);
    for (const char* const why : {"was built without it", "needs weft's plug-in", "needs a core"})
      if (text.find(why) != std::string::npos) return;
    EXPECT_EQ(ended, 0) << words << ": " << text;
    EXPECT_EQ(line_of(text, "hash"), hash) << words << ": " << text;
    ++runs;
  };
  if (is_whole) {
    for (const std::string& port : all_parcelports())
      for (const int processes : {1, 2, 3, 4})
        for (const int workers : {1, 2, 8}) run_over(port, processes, workers);
    std::printf("%d runs with the same hash\n", runs);
  } else {
    run_over("tcp_i", 3, 1);
    run_over("lci_sr_sy_pin", 2, 2);
    run_over("lci_psr_cq_mt_i:2", 4, 2);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    run_over("mpi:mpich", 3, 1);
    run_over("mpi_orig_i:openmpi", 2, 2);
#endif
  }
}

TEST(octree_parcels, have_the_numbers_of_one_thread_in_one_process) {
  const physics p = crossing_stars();
  const auto alone = make_serial_exchange();
  const ending expected = simulate(*alone, p, 4);
  for (const int workers : {1, 2}) {
    weft::options how;
    how.workers = workers;
    ending got;
    ASSERT_EQ(weft::run_tasks(how,
                              [&] {
                                const auto between = make_parcel_exchange(weft::this_world());
                                got = simulate(*between, p, 4);
                              }),
              0);
    EXPECT_EQ(got, expected) << workers << " workers";
  }
}

TEST(octree_program, proves_what_it_computes_and_writes_table_picture_and_cells) {
  const scratch_path csv("octree.csv"), png("octree.png"), vtu("octree.vtu");
  const auto [status, output] =
      run_program("--base 1 --levels 3 --steps 2 --report 1 --check --weft-ranks 2 --csv " +
                  csv.path + " --picture " + png.path + " --vtk " + vtu.path);
  EXPECT_EQ(status, 0) << output;
  EXPECT_NE(line_of(output, "mass ").find("below 1e-12"), std::string::npos) << output;
  EXPECT_TRUE(line_of(output, "linear field").ends_with(" 0 wrong")) << output;
  EXPECT_NE(line_of(output, "potential").find("(below"), std::string::npos) << output;
  EXPECT_EQ(output.find('\r'), std::string::npos) << "no progress bar in a pipe";

  std::ifstream table(csv.path);
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(table), {}, '\n'), 1 + 3);

  std::ifstream picture(png.path, std::ios::binary);
  std::string head(24, '\0');
  picture.read(head.data(), 24);
  EXPECT_EQ(head.substr(1, 3), "PNG");

  // The XML and the arrays behind it: as long as it says.
  std::ifstream grid(vtu.path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(grid), {});
  const std::size_t leaves = 148, cells_of_all = leaves * 512;
  EXPECT_NE(text.find("NumberOfCells=\"" + std::to_string(cells_of_all) + "\""), std::string::npos);
  const std::size_t data = text.find("encoding=\"raw\">\n_");
  ASSERT_NE(data, std::string::npos);
  const std::size_t arrays =
      leaves * 729 * 12 + cells_of_all * (64 + 8 + 1 + 4 + 4 + 12 + 1 + 4) + 9 * 8;
  const std::size_t behind = data + 17 + arrays;
  ASSERT_LT(behind, text.size());
  EXPECT_EQ(text.substr(behind, 17), "\n</AppendedData>\n");
}

TEST(octree_program, ends_with_status_2_and_one_line_on_bad_words) {
  for (const char* words :
       {"--levelz 3", "--levels 0", "--levels 9", "--courant nan", "--weft-ranks 0x",
        "--exchange pigeons", "--base 5 --levels 4", "--csv both --vtk ./both", "--vtk ''"}) {
    const auto [status, output] = run_program(words);
    EXPECT_EQ(status, 2) << words << ": " << output;
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  }
}

TEST(octree_program, help_teaches_and_a_file_that_cannot_be_written_is_told_before_the_run) {
  const auto [status, output] = run_program("--help");
  EXPECT_EQ(status, 0);
  EXPECT_NE(output.find("--picture"), std::string::npos);
  EXPECT_NE(output.find("--weft-"), std::string::npos);
  const auto [ended, text] = run_program(small + "--vtk /no/such/directory/star.vtu");
  EXPECT_EQ(ended, 1) << text;
  EXPECT_NE(text.find("cannot write '/no/such/directory/star.vtu'"), std::string::npos) << text;
}

}  // namespace
}  // namespace octree
