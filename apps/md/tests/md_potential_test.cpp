// Reading potential files: real ones, and what is said about broken ones.
#include "md/potential.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <weft/error.hpp>

namespace md {
namespace {

// Six values of F, rho and r*phi for one element.
const std::string small_setfl =
    "comment\ncomment\ncomment\n"
    "1 Cu\n"
    "6 0.5 6 1.0 4.5\n"
    "29 63.55 3.615 fcc\n"
    "0 1 2 3 4 5\n"
    "10 11 12 13 14 15\n"
    "20 21 22 23 24 2.5D+01\n";

// The same numbers for F and rho, and Z.
const std::string small_funcfl =
    "comment\n 29 63.55 3.615 FCC\n6 0.5 6 1.0 4.5\n"
    "0 1 2 3 4 5\n2 2 2 2 2 2\n10 11 12 13 14 15\n";

class temporary_file {
 public:
  temporary_file(const std::string& ending, const std::string& text)
      : path_((std::filesystem::temp_directory_path() /
               ("weft-md-test-" + std::to_string(getpid()) + ending))
                  .string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~temporary_file() { std::filesystem::remove(path_); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What the reader says about a file; fails the test when it says nothing.
std::string complaint_about(const std::string& text, const std::string& ending = ".eam.alloy",
                            const std::string& element = "Cu") {
  const temporary_file file(ending, text);
  try {
    read_potential(file.path(), element);
  } catch (const weft::error& e) {
    const std::string what = e.what();
    const auto at = what.find(file.path());
    return at == 0 ? what.substr(file.path().size()) : what;
  }
  ADD_FAILURE() << "a broken file was accepted";
  return {};
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(md_potential, reads_header_and_tables_of_setfl) {
  const temporary_file file(".eam.alloy", small_setfl);
  const eam_potential p = read_potential(file.path());
  EXPECT_EQ(p.mass, 63.55);
  EXPECT_EQ(p.lattice_constant, 3.615);
  EXPECT_EQ(p.structure, "fcc");
  EXPECT_EQ(p.cutoff, 4.5);
  EXPECT_EQ(p.density_step, 0.5);
  EXPECT_EQ(p.distance_step, 1.0);
  ASSERT_EQ(p.embedding.size(), 5u);
  EXPECT_EQ(p.embedding[2].c0, 2.0);
  EXPECT_EQ(p.density[3].c0, 13.0);
  EXPECT_EQ(p.pair_times_r[4].c0, 24.0);
  EXPECT_EQ(
      p.pair_times_r[4].c0 + p.pair_times_r[4].c1 + p.pair_times_r[4].c2 + p.pair_times_r[4].c3,
      25.0);
}

TEST(md_potential, takes_the_wanted_element_of_an_alloy) {
  const temporary_file file(".eam.alloy",
                            "a\nb\nc\n2 Al Cu\n5 1 5 1 4\n"
                            "13 27 4.05 fcc 1 1 1 1 1  2 2 2 2 2\n"
                            "29 63.5 3.6 fcc 3 3 3 3 3  4 4 4 4 4\n"
                            "5 5 5 5 5  6 6 6 6 6  7 7 7 7 7\n");
  const eam_potential p = read_potential(file.path(), "Cu");
  EXPECT_EQ(p.mass, 63.5);
  EXPECT_EQ(p.embedding[0].c0, 3.0);
  EXPECT_EQ(p.density[0].c0, 4.0);
  EXPECT_EQ(p.pair_times_r[0].c0, 7.0);
  EXPECT_EQ(read_potential(file.path(), "Al").pair_times_r[0].c0, 5.0);
}

TEST(md_potential, turns_the_charge_of_funcfl_into_energy) {
  const temporary_file file(".eam", small_funcfl);
  const eam_potential p = read_potential(file.path());
  EXPECT_DOUBLE_EQ(p.pair_times_r[1].c0, 27.2 * 0.529 * 4.0);
  EXPECT_EQ(p.embedding.size(), 4u);  // As LAMMPS, which leaves out the last of six points.
}

TEST(md_potential, spline_reproduces_cubic_polynomials_between_knots) {
  const auto f = [](double x) { return 2.0 - x + 0.5 * x * x + 0.25 * x * x * x; };
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) values.push_back(f(i));
  const auto pieces = spline_of(values);
  // The slopes of the outer two knots are of lower order.
  for (std::size_t m = 2; m + 3 < values.size(); ++m)
    for (const double t : {0.0, 0.3, 1.0}) {
      const cubic& c = pieces[m];
      EXPECT_NEAR(((c.c3 * t + c.c2) * t + c.c1) * t + c.c0, f(static_cast<double>(m) + t), 1e-10);
    }
}

TEST(md_potential, embedding_continues_along_its_last_slope) {
  const temporary_file file(".eam.alloy", small_setfl);
  const eam_potential p = read_potential(file.path());
  EXPECT_NEAR(p.embed(2.5).energy, 5.0, 1e-12);
  EXPECT_NEAR(p.embed(3.5).energy, 7.0, 1e-12);
  EXPECT_NEAR(p.embed(3.5).slope, 2.0, 1e-12);
}

TEST(md_potential, names_line_and_column_of_a_word_that_is_no_number) {
  const std::string what = complaint_about(with(small_setfl, "12 13", "12 1e3x3"));
  EXPECT_TRUE(
      what.starts_with(":8:10: expected a number for value 4 of 6 of rho of element 1, "
                       "found '1e3x3'"))
      << what;
  EXPECT_NE(what.find("--potential"), std::string::npos) << what;
  EXPECT_EQ(what.find('\n'), std::string::npos) << what;
}

TEST(md_potential, refuses_numbers_that_are_not_finite) {
  EXPECT_TRUE(
      complaint_about(with(small_setfl, "12", "nan")).starts_with(":8:7: expected a number"));
  EXPECT_TRUE(
      complaint_about(with(small_setfl, "12", "inf")).starts_with(":8:7: expected a number"));
}

TEST(md_potential, says_where_a_file_that_is_cut_short_ends) {
  const std::string cut = small_setfl.substr(0, small_setfl.find("23"));
  EXPECT_TRUE(complaint_about(cut).starts_with(
      ":9:10: the file ends where value 4 of 6 of r*phi of elements 1 and 1 should stand"))
      << complaint_about(cut);
  EXPECT_TRUE(complaint_about("").starts_with(":1:1: the file ends")) << complaint_about("");
}

TEST(md_potential, refuses_more_values_than_the_header_promises) {
  EXPECT_TRUE(complaint_about(small_setfl + "26\n").starts_with(":10:1: expected the end"));
}

TEST(md_potential, refuses_impossible_headers) {
  EXPECT_TRUE(complaint_about(with(small_setfl, "4.5", "-1")).starts_with(":5:13: the cutoff is"))
      << complaint_about(with(small_setfl, "4.5", "-1"));
  EXPECT_TRUE(complaint_about(with(small_setfl, "6 0.5", "6.5 0.5"))
                  .starts_with(":5:1: the number of F values must be a whole number"));
  EXPECT_TRUE(complaint_about(with(small_setfl, "6 0.5", "4 0.5")).starts_with(":5:1: the number"));
  EXPECT_TRUE(
      complaint_about(with(small_setfl, "6 0.5", "1e12 0.5")).starts_with(":5:1: the number"));
  EXPECT_NE(complaint_about(small_setfl, ".eam.alloy", "Au")
                .find("describes Cu but not Au; name one that it describes with --element"),
            std::string::npos);
}

TEST(md_potential, refuses_funcfl_of_another_element) {
  const std::string nickel = with(small_funcfl, "29", "28");
  const std::string what = complaint_about(nickel, ".eam");
  EXPECT_TRUE(what.starts_with(":2:2: the file describes Ni but not Cu; name it with --element Ni"))
      << what;
  const temporary_file file(".eam", nickel);
  EXPECT_EQ(read_potential(file.path(), "Ni").element, "Ni");
  EXPECT_TRUE(complaint_about(with(small_funcfl, "29", "0"), ".eam")
                  .starts_with(":2:2: the atomic number must be a whole number from 1 to 118"));
}

TEST(md_potential, says_where_it_looked_for_a_missing_file) {
  try {
    read_potential("no_such_file.eam.alloy");
    FAIL();
  } catch (const weft::error& e) {
    EXPECT_NE(std::string(e.what()).find("/usr/share/lammps/potentials"), std::string::npos);
  }
  EXPECT_THROW(read_potential("/no/such/file.eam"), weft::error);
  EXPECT_THROW(read_potential("potential.txt"), weft::error);
  std::filesystem::create_directory("directory.eam");
  try {
    read_potential("./directory.eam");
    ADD_FAILURE() << "a directory is no potential";
  } catch (const weft::error& e) {
    EXPECT_NE(std::string(e.what()).find("not a regular file"), std::string::npos) << e.what();
  }
  std::filesystem::remove("directory.eam");
}

}  // namespace
}  // namespace md
