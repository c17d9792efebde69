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
        "sources=" WEFT_SOURCE_DIR
        "/tests/image/mpirun; bin=$PWD; cc=$bin/weftcc; cxx=$bin/weftcxx; run=\"timeout -s KILL 100 $bin/weftrun\"; "
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
    const outcome made = in_directory("$cc $sources/part.c -o a && ln -s a b");
    ASSERT_EQ(made.status, 0) << made.text;
  }

  std::string directory_;
};

TEST_F(mpirun, several_programs_are_one_job_in_processes_of_their_own) {
  ASSERT_NO_FATAL_FAILURE(make_part());
  for (const char* start : {"$run", "$mpirun"}) {
    const std::string by = start;
    // Digits that stand together are ranks of one process.
    expect(by + " -np 1 ./a : -np 2 ./b", 0, {"3 ranks: 0 11"});
    expect(by + " --processes 2 -n 3 ./a : -n 1 ./b : -n 4 ./a", 0, {"8 ranks: 00 0 1 22 22"});
    expect(by + " -n 2 --ranks-per-process 1 ./a : --ranks-per-process 3 -n 3 ./b", 0,
           {"5 ranks: 0 0 111"});
    expect(by + " --map cyclic --workers 1 -n 2 ./a : -n 3 --processes 2 ./b", 0,
           {"5 ranks: 00 1 1 1"});
    expect(by + " ./a : ./b", 0, {"2 ranks: 0 1"});
  }
  const outcome failed = in_directory("$run -n 1 ./a : -n 2 ./b status 7");
  EXPECT_EQ(failed.status, 7) << failed.text;
  const outcome missing = in_directory("$run -n 1 ./a : -n 2 ./nowhere");
  EXPECT_EQ(missing.status, 127) << missing.text;
  EXPECT_NE(missing.text.find("cannot run ./nowhere"), std::string::npos) << missing.text;
  expect("$run -n 1 ./a : ", 2,
         {"weftrun: no program to run; say for example: weftrun -n 4 ./program"});
  expect("$run -n 1 ./a : --stats -n 1 ./b", 2,
         {"weftrun: --stats on: holds for the whole job; say it before the first program, ./a"});
  const outcome mapped = in_directory("echo 0-2 > order; $run --map order -n 1 ./a : -n 2 ./b");
  EXPECT_EQ(mapped.status, 2) << mapped.text;
  EXPECT_NE(mapped.text.find("give block or cyclic"), std::string::npos) << mapped.text;
}

TEST_F(mpirun, understands_the_words_of_others) {
  ASSERT_NO_FATAL_FAILURE(make_part());
  const std::string here = "$(uname -n)";
  const std::vector<std::string> all{"-H localhost -n 4",
                                     "-host localhost:4",
                                     "-hosts " + here + " -np 4",
                                     "--host 127.0.0.1:2,localhost:2",
                                     "--np=4 --oversubscribe --bind-to none --mca a b",
                                     "-n 4 --pin off --spin-us 10",
                                     "-n 4 --private-libraries=none --progress"};
  for (const std::string& words : all) expect("$mpirun " + words + " ./a", 0, {"4 ranks: 0000"});
  expect("echo localhost slots=3 > hosts; $mpirun -hostfile hosts ./a", 0, {"3 ranks: 000"});
  // What is none of weft's runs once for each rank.
  expect("$mpirun -n 2 echo once", 0, {"once", "once"});
  expect("$run -n 2 echo once", 0, {"once"});
  // One program in each line, with its own directory and variables.
  write(
      "programs",
      "# two\n-n 1 --wd one -env OWN 'a b' ../a where first\n\n-n 1 -wdir two ../b where second\n");
  for (const char* word : {"-configfile", "--app"})
    expect(std::string("mkdir -p one two; $mpirun ") + word + " programs", 0,
           {"2 ranks: 0 1", "first 0 a b /one", "second 1 - /two"});
  expect("OWN=x $mpirun -x OWN -genv OTHER y -n 1 --wd one ../a where alone", 0,
         {"1 ranks: 0", "alone 0 x /one"});
  for (const char* word : {"-genvnone", "-envnone"})
    expect("OWN=x OTHER=y $mpirun -n 2 " + std::string(word) +
               " -genv OWN z sh -c 'echo $OWN-$OTHER-$HOME'",
           0, {"z--", "z--"});
  expect("$mpirun -envnone -n 1 ./a : -n 1 ./b", 2,
         {"mpirun: -envnone: programs of one job have the same variables; say -genvnone"});
  expect("printf '# none\\n\\n' > none; $mpirun -machinefile none ./a", 2,
         {"mpirun: -machinefile none: the file names no host; write one in each line"});
  expect("$mpirun -host , ./a", 2, {"mpirun: -host names no host; give names, as in a,b"});
  // Standard input.
  expect("echo text | $mpirun -n 1 -stdin none cat; echo text | $mpirun -n 1 --stdin 0 cat", 0,
         {"text"});
  EXPECT_EQ(in_directory("$mpirun -n 2 -stdin all cat").status, 2);
  // CPUs.
  expect(
      "cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//'); $mpirun -n 1 --cpu-set $cpu sh -c 'taskset -cp $$' | "
      "grep -c \": $cpu$\"",
      0, {"1"});
  EXPECT_EQ(in_directory("$mpirun --cpu-set 8191 -n 1 true").status, 2);
  EXPECT_EQ(in_directory("$mpirun --cpu-set 1, -n 1 true").status, 2);
  const outcome build = in_directory("$mpirun -info");
  EXPECT_EQ(build.status, 0) << build.text;
  EXPECT_TRUE(build.text.starts_with("weft ")) << build.text;
  expect("$mpirun -n 2", 2, {"mpirun: no program; for example: mpirun -n 4 ./prog"});
  expect("$mpirun --no-such-word true", 2,
         {"mpirun: unknown option --no-such-word; --help lists those that are known"});
}

TEST_F(mpirun, puts_what_ranks_print_into_files) {
  ASSERT_NO_FATAL_FAILURE(make_part());
  expect("$mpirun -n 3 -ppn 2 -outfile-pattern out/%r.txt -errfile-pattern err-%r ./a where x", 0,
         {});
  EXPECT_EQ(content_of(directory_ + "/out/0.txt").substr(0, 22), "3 ranks: 00 0\nx 0 - /w");
  EXPECT_EQ(content_of(directory_ + "/out/2.txt").substr(0, 9), "x 2 - /we");
  EXPECT_FALSE(fs::exists(directory_ + "/err-0"));
  // As Open MPI: beside the terminal, or instead of it.
  const outcome both = in_directory("$mpirun -n 2 --output-filename all ./a where x");
  EXPECT_EQ(lines_of(both.text).size(), 3u) << both.text;
  EXPECT_EQ(content_of(directory_ + "/all/1/rank.1/stdout").substr(0, 7), "x 1 - /");
  expect("$mpirun -n 2 --output-filename apart:nocopy sh -c 'echo out; echo error >&2'", 0, {});
  EXPECT_EQ(content_of(directory_ + "/apart/1/rank.1/stderr"), "error\n");
  const outcome refused = in_directory("$mpirun -n 1 -outfile-pattern /dev/null/%r ./a");
  EXPECT_EQ(refused.status, 1) << refused.text;
  EXPECT_NE(refused.text.find("the file /dev/null/0 for the output of rank 0"), std::string::npos)
      << refused.text;
}

// The default of many compilers is good for executables alone.
TEST_F(mpirun, objects_of_a_plain_compiler_are_linked_and_their_ranks_have_copies) {
  write("library.c", "int counted = 5; int count(void) { return ++counted; }\n");
  const outcome made = in_directory(
      "words=\"-O1 -fPIE -I$($cc --showme:incdirs | sed 's/ / -I/')\"; cc $words -c $sources/plain.c && cc -shared -fPIC library.c -o libcounts.so && "
      "cc $words -c $sources/local.c && c++ $words -c $sources/plain.cpp -o plain_cpp.o && $cc plain.o -L. -lcounts -Wl,-rpath,$PWD -o plain && "
      "$cxx plain_cpp.o -o plain_cpp && $cc local.o -o local");
  ASSERT_EQ(made.status, 0) << made.text;
  EXPECT_EQ(made.text, "");
  for (const char* how : {"--workers 1", "--workers 2", "--processes 2", "--ranks-per-process 1"}) {
    expect(std::string("$run -n 3 ") + how + " ./plain -a text", 0,
           {"right 0", "right 1", "right 2"});
    expect(std::string("$run -n 3 ") + how + " ./plain_cpp", 0, {"rank 0", "rank 1", "rank 2"});
  }
  expect("./plain -a text; ./plain_cpp", 0, {"right 0", "rank 0"});
  expect("$run -n 2 ./local 2>/dev/null", 0, {"mine 0", "mine 1"});
  // Its thread-local variable is the rank's by a worker for each, where there are so many.
  EXPECT_EQ(in_directory("$mpirun -n 2 ./local 2>&1 >/dev/null").text, "");
  const outcome told = in_directory("$run -n 2 --workers 1 ./local 2>&1 >/dev/null");
  EXPECT_EQ(lines_of(told.text).size(), 1u) << told.text;
  EXPECT_NE(told.text.find("each rank gets a process of its own"), std::string::npos) << told.text;
  // What the linker says of other mistakes is told as it is.
  write("unknown.c", "int nowhere(void); int main(void) { return nowhere(); }\n");
  EXPECT_NE(in_directory("$cc unknown.c -o unknown").text.find("nowhere"), std::string::npos);
}

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
  for (const char* word : {"-link_info", "--showme:link"}) {
    const outcome made = in_directory(formatted(
        "link=$($cc {} | sed 's/^[^ ]* //'); inc=-I$($cc --showme:incdirs | sed 's/ / -I/'); "
        "cc -fPIC -shared $inc $sources/uses.c $link -o libuses.so && cc $inc $sources/main.c -L. -luses -Wl,-rpath,$PWD $link -o main && "
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
  const outcome made = in_directory(
      "chmod 755 . && $cc $sources/rights.c -o rights && cp rights set && chown nobody set && chmod u+s set && cp rights group && "
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
