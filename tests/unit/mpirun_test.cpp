// mpirun with the words of Open MPI and of MPICH, jobs of several programs, and programs whose objects a plain compiler
// has made, or that run with another user's rights.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

// A rank of the first program prints what all of them are.
constexpr const char* part_source = R"(
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int mine;
int main(int argc, char** argv) {
  int rank, size, is_there, *number, all[64], places[64], place = getpid();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &is_there);
  mine += is_there ? *number : -1;
  MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gather(&place, 1, MPI_INT, places, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d ranks:", size);
    for (int i = 0; i < size; ++i) printf("%s%d", i == 0 || places[i] != places[i - 1] ? " " : "", all[i]);
    printf("\n");
  }
  const char* const variable = getenv("OWN");
  char here[256] = "";
  if (argc > 2 && strcmp(argv[1], "where") == 0)
    printf("%s %d %s %s\n", argv[2], rank, variable ? variable : "-", strrchr(getcwd(here, sizeof here), '/'));
  MPI_Finalize();
  return argc > 2 && strcmp(argv[1], "status") == 0 ? atoi(argv[2]) : 0;
}
)";

std::multiset<std::string> lines_of(const std::string& text) {
  std::multiset<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.insert(line);
  return lines;
}

std::string content_of(const std::string& name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

class mpirun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(WEFT_PROGRAM_DIR "/weftcc"))
      GTEST_SKIP()
          << "built with a sanitizer, which takes each copy of a program for a different one";
    std::string name = fs::temp_directory_path() / "weft-mpirun-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  void TearDown() override {
    if (!directory_.empty()) fs::remove_all(directory_);
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name) << text;
  }
  // In the directory of the test.
  [[nodiscard]] outcome in_directory(const std::string& command) const {
    return shell(
        "bin=$PWD; cc=$bin/weftcc; cxx=$bin/weftcxx; run=\"timeout -s KILL 100 $bin/weftrun\"; "
        "mpirun=\"timeout -s KILL 100 $bin/../lib/weft/bin/mpirun\"; cd " +
        directory_ + "; " + command);
  }
  void expect(const std::string& command, int status,
              const std::multiset<std::string>& lines) const {
    const outcome ran = in_directory(command);
    EXPECT_EQ(ran.status, status) << command << '\n' << ran.text;
    EXPECT_EQ(lines_of(ran.text), lines) << command << '\n' << ran.text;
  }
  void make_part() const {
    write("part.c", part_source);
    const outcome made = in_directory("$cc part.c -o a && ln -s a b");
    ASSERT_EQ(made.status, 0) << made.text;
  }

  std::string directory_;
};

TEST_F(mpirun, wrappers_answer_what_build_systems_ask) {
  for (const char* word :
       {"-showme:incdirs", "--showme:incdirs", "-compile_info", "--showme:compile"})
    EXPECT_NE(in_directory(std::string("$cc ") + word).text.find("/mpi"), std::string::npos)
        << word;
  EXPECT_EQ(in_directory("$cc --showme:libdirs").text,
            in_directory("cd $bin/../lib/weft && pwd -P").text);
  EXPECT_NE(in_directory("$cc --showme:libs").text.find("weft-program"), std::string::npos);
  EXPECT_TRUE(in_directory("$cc --showme:version").text.starts_with("weftcc: weft 0."));
  // The same flags link a program and a library, which need not name all that it calls.
  write(
      "uses.c",
      "#include <mpi.h>\nint elsewhere(void); int rank(void) { int r; MPI_Comm_rank(MPI_COMM_WORLD, &r); return r + elsewhere(); }\n");
  write(
      "main.c",
      "#include <mpi.h>\n#include <stdio.h>\nint rank(void); static int zero; int elsewhere(void) { return zero; }\n"
      "int main(void) { MPI_Init(0, 0); printf(\"rank %d\\n\", rank()); zero = 1; return MPI_Finalize(); }\n");
  for (const char* word : {"-link_info", "--showme:link"}) {
    const outcome made = in_directory(formatted(
        "link=$($cc {} | sed 's/^[^ ]* //'); inc=-I$($cc --showme:incdirs | sed 's/ / -I/'); "
        "cc -fPIC -shared $inc uses.c $link -o libuses.so && cc $inc main.c -L. -luses -Wl,-rpath,$PWD $link -o main && "
        "! readelf -l libuses.so | grep INTERP",
        word));
    EXPECT_EQ(made.status, 0) << made.text;
    expect("$run -n 2 ./main", 0, {"rank 0", "rank 1"});
    expect("./main", 0, {"rank 0"});
  }
}

// With the rights of another user nothing that the caller says is obeyed.
TEST_F(mpirun, a_setuid_program_is_one_rank_and_obeys_no_variable) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives a file away";
  write("rights.c", R"(
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("%d ranks, %d words, %s, %s\n", size, argc, secure_getenv("HOME") ? "obeys" : "safe", getenv("HOME") ? "home" : "none");
  MPI_Finalize();
  return 0;
}
)");
  const outcome made = in_directory(
      "chmod 755 . && $cc rights.c -o rights && cp rights set && chown nobody set && chmod u+s set && cp rights group && "
      "chgrp nogroup group && chmod g+s group");
  ASSERT_EQ(made.status, 0) << made.text;
  const std::string words = "HOME=/ WEFT_RANKS=3 WEFT_TRACE=trace.json WEFT_STACK=nonsense ";
  for (const char* program : {"./set", "./group"}) {
    const outcome first = in_directory(words + program);
    if (first.text.find("obeys") != std::string::npos ||
        first.text.find("cannot open shared") != std::string::npos)
      GTEST_SKIP() << "no program gets other rights here, or none may read the library with them: "
                   << first.text;
    expect(words + program + " --weft-ranks 2", 0, {"1 ranks, 3 words, safe, home"});
    expect("HOME=/ $run -n 1 " + std::string(program), 0, {"1 ranks, 1 words, safe, home"});
    EXPECT_FALSE(fs::exists(directory_ + "/trace.json"));
  }
  expect("HOME=/ WEFT_RANKS=2 ./rights", 0,
         {"2 ranks, 1 words, obeys, home", "2 ranks, 1 words, obeys, home"});
}

}  // namespace
}  // namespace weft
