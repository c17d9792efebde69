// What a program expects of its process (docs/images.md, "What is private, what is shared"), in each arrangement of ranks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

#include "unit/shell.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

#define WEFT_NEEDS_IMAGES()                    \
  if (!fs::exists(WEFT_PROGRAM_DIR "/weftcc")) \
  GTEST_SKIP() << "built with a sanitizer, which takes each copy of a program for a different one"

// All ranks in one process, in two, each in its own, and one that nobody has started.
struct arrangement {
  const char* options;  // Null: the program alone.
  int ranks;
};

class a_process : public testing::TestWithParam<arrangement> {
 protected:
  static outcome run(const std::string& program) {
    const char* const options = GetParam().options;
    const std::string start =
        options != nullptr ? std::string("./weftrun --timeout 60 -n 4 ") + options + " image/"
                           : "image/";
    return shell("timeout -s KILL 100 " + start + program);
  }
};

INSTANTIATE_TEST_SUITE_P(arrangements, a_process,
                         testing::Values(arrangement{"--workers 2", 4},
                                         arrangement{"--processes 2", 4},
                                         arrangement{"--ranks-per-process 1", 4},
                                         arrangement{nullptr, 1}));

TEST_P(a_process, is_its_ranks_own) {
  WEFT_NEEDS_IMAGES();
  for (const char* what : {"environment", "path", "children"}) {
    const outcome ran = run(std::string("process ") + what);
    const std::string n = std::to_string(GetParam().ranks);
    EXPECT_EQ(ran.status, 0) << what << '\n' << ran.text;
    EXPECT_EQ(ran.text, "right in " + n + " of " + n + "\n") << what;
  }
}

long lines_with(const std::string& text, const std::string& part) {
  long count = 0;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);)
    if (line.find(part) != line.npos) ++count;
  return count;
}

TEST_P(a_process, leads_the_output_of_each_rank_where_that_wants_it) {
  WEFT_NEEDS_IMAGES();
  std::string directory = fs::temp_directory_path() / "weft-process-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const outcome ran = run("process output " + directory);
  fs::remove_all(directory);
  const std::string n = std::to_string(GetParam().ranks);
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(lines_with(ran.text, "right in " + n + " of " + n), 1) << ran.text;
  for (const char* line : {"seen", "error"})
    EXPECT_EQ(lines_with(ran.text, line), GetParam().ranks) << ran.text;
  EXPECT_EQ(lines_with(ran.text, ""), 2 * GetParam().ranks + 1) << ran.text;
}

TEST_P(a_process, has_mpi_before_and_after_main) {
  WEFT_NEEDS_IMAGES();
  const std::string ranks = ": " + std::to_string(GetParam().ranks) + " ranks";
  for (const char* way : {"global", "static", "guarded", "handler"})
    for (const int status : {0, 5}) {
      const outcome ran = run(std::string("outside_of_main ") + way + " " + std::to_string(status));
      EXPECT_EQ(ran.status, status) << way << '\n' << ran.text;
      const std::string_view what = way;
      const auto expect_line = [&](const char* place, bool is_there) {
        EXPECT_EQ(lines_with(ran.text, place + ranks), is_there ? 1 : 0) << way << '\n' << ran.text;
      };
      expect_line("constructor", what == "global");
      expect_line("main", true);
      expect_line("destructor", what == "global" || what == "static");
      expect_line("handler", what == "handler");
      const int guarded = what == "guarded" ? GetParam().ranks : 0;
      // One that ends with another status need not wait for the others.
      EXPECT_LE(lines_with(ran.text, "guarded"), guarded) << ran.text;
      EXPECT_GE(lines_with(ran.text, "guarded"), status == 0 ? guarded : 0) << ran.text;
      // Copies in one process end in another order yet.
      const bool is_alone = GetParam().options == nullptr ||
                            std::string_view(GetParam().options) == "--ranks-per-process 1";
      EXPECT_TRUE(!is_alone || lines_with(ran.text, "the last destructor") == 0) << ran.text;
      const bool is_told = status != 0 && GetParam().ranks > 1;
      EXPECT_EQ(lines_with(ran.text, "weft:"), is_told ? 1 : 0) << way << '\n' << ran.text;
    }
}

}  // namespace
}  // namespace weft
