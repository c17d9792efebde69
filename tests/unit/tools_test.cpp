// weftrun and weft-info as a user meets them: words in, text and exit status out.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "unit/shell.hpp"

namespace weft {
namespace {

void expect_one_line(const std::string& command, int status, const std::string& line) {
  const outcome result = shell(command);
  EXPECT_EQ(result.status, status) << command;
  EXPECT_EQ(result.text, line + "\n") << command;
}

TEST(weftrun, hands_its_options_to_the_program_as_variables) {
  const outcome result = shell(
      "./weftrun -n 4 --map cyclic --stack 1M --pin=off --stats printenv WEFT_RANKS WEFT_MAP "
      "WEFT_STACK WEFT_PIN WEFT_STATS");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.text, "4\ncyclic\n1M\noff\non\n");
}

TEST(weftrun, leaves_the_programs_own_words_alone) {
  expect_one_line("./weftrun -n 2 echo -n5 --ranks 7 -- x", 0, "-n5 --ranks 7 -- x");
  expect_one_line("./weftrun -n 2 -- echo -- y", 0, "-- y");
}

TEST(weftrun, an_option_wins_over_the_environment_and_the_last_over_the_first) {
  expect_one_line("WEFT_RANKS=3 ./weftrun -n 4 --ranks 5 printenv WEFT_RANKS", 0, "5");
  expect_one_line("WEFT_RANKS=3 ./weftrun printenv WEFT_RANKS", 0, "3");
}

TEST(weftrun, takes_on_and_off_after_a_switch_but_not_from_the_program) {
  expect_one_line("./weftrun --stats -n 3 --pin off printenv WEFT_PIN", 0, "off");
  expect_one_line("./weftrun --pin off --pin on printenv WEFT_PIN", 0, "on");
  expect_one_line("./weftrun -n 2 echo --pin off", 0, "--pin off");
  expect_one_line("./weftrun -n 2 -- echo --pin off", 0, "--pin off");
  EXPECT_EQ(shell("./weftrun --stats true").status, 0);
}

TEST(weftrun, takes_np_as_mpirun_does) {
  expect_one_line("./weftrun -np 3 printenv WEFT_RANKS", 0, "3");
}

TEST(weftrun, exit_status_is_the_programs) {
  EXPECT_EQ(shell("./weftrun sh -c 'exit 7'").status, 7);
  EXPECT_EQ(shell("./weftrun true").status, 0);
  // The shell that runs the test reports a signal as 128 + number.
  EXPECT_EQ(shell("./weftrun sh -c 'kill -TERM $$'").status, 128 + 15);
}

TEST(weftrun, bad_usage_is_one_line_with_a_remedy_and_status_2) {
  expect_one_line("./weftrun", 2,
                  "weftrun: no program to run; say for example: weftrun -n 4 "
                  "./program");
  expect_one_line("./weftrun -n 4", 2,
                  "weftrun: no program to run; say for example: weftrun -n 4 "
                  "./program");
  expect_one_line("./weftrun -n 0 true", 2,
                  "weftrun: --ranks: '0' is not allowed; give a whole number from 1 to 1048576, or "
                  "auto");
  expect_one_line("./weftrun -n -3 true", 2,
                  "weftrun: --ranks: '-3' is not allowed; give a whole number from 1 to 1048576, "
                  "or auto");
  expect_one_line(
      "./weftrun --rank 4 true", 2,
      "weftrun: unknown option --rank (did you mean --ranks?); weftrun --help lists all "
      "options");
  expect_one_line("./weftrun -q true", 2,
                  "weftrun: unknown option -q; weftrun --help lists all options");
  expect_one_line("./weftrun -n", 2, "weftrun: -n needs a value; weftrun --help lists all options");
  expect_one_line("./weftrun --steal far true", 2,
                  "weftrun: --steal: 'far' is not allowed; give random, near or sticky");
}

TEST(weftrun, a_bad_variable_is_named_before_the_program_starts) {
  expect_one_line("WEFT_WORKERS=many ./weftrun -n 2 echo started", 2,
                  "weftrun: WEFT_WORKERS: 'many' is not allowed; give a whole number from 1 to "
                  "1024, or auto");
}

TEST(weftrun, a_misspelt_variable_is_pointed_out) {
  const outcome result = shell("WEFT_RNKS=4 ./weftrun echo started");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.text,
            "weft: the variable WEFT_RNKS has no meaning to weft (did you mean WEFT_RANKS?); "
            "weft-info lists those that have\nstarted\n");
}

TEST(a_program_without_weftrun, points_out_a_misspelt_variable) {
  const std::string remark =
      "weft: the variable WEFT_WORKER has no meaning to weft (did you mean WEFT_WORKERS?); "
      "weft-info lists those that have";
  const std::string to_stderr_only = " 2>&1 >/dev/null";
  expect_one_line("WEFT_WORKER=2 ./test-job greet" + to_stderr_only, 0, remark);
  if (std::filesystem::exists(WEFT_PROGRAM_DIR "/conformance/hello"))
    expect_one_line("WEFT_RANKS=4 WEFT_WORKER=2 ./conformance/hello" + to_stderr_only, 0, remark);
  // weftrun says it for all processes, whether it stays or not.
  for (const char* words : {"-n 2", "-n 2 --processes 1", "-n 2 --processes 2"})
    expect_one_line(
        std::string("WEFT_WORKER=2 ./weftrun ") + words + " ./test-job greet" + to_stderr_only, 0,
        remark);
}

TEST(weftrun, a_program_that_cannot_be_run_is_named) {
  expect_one_line("./weftrun -n 2 nowhere", 127,
                  "weftrun: cannot run nowhere: No such file or directory; check the name of the "
                  "program");
  expect_one_line("PATH=/nowhere ./weftrun weftrun", 127,
                  "weftrun: cannot run weftrun: No such file or directory; did you mean "
                  "./weftrun?");
  expect_one_line(
      "./weftrun /", 126,
      "weftrun: cannot run /: Permission denied; is it a program that you may execute?");
}

TEST(weftrun, help_names_every_option_and_shows_examples) {
  const outcome result = shell("./weftrun --help");
  EXPECT_EQ(result.status, 0);
  for (const char* word :
       {"-n,--ranks N", "--workers", "--helpers", "--map", "--timeout", "--schedule", "--trace",
        "--stats", "--steal", "--chunks", "--tag-output", "--stack", "weftrun -n 16 ./heat"})
    EXPECT_NE(result.text.find(word), std::string::npos) << word;
  // Broken into lines.
  const outcome joined = shell("./weftrun --help | tr -s ' \\n' ' '");
  for (const char* words : {"tries first (random, near or sticky) [random]",
                            "or one (guided or single) [guided]", "(stop or error) [stop]"})
    EXPECT_NE(joined.text.find(words), std::string::npos) << words;
}

TEST(weft_info, shows_each_setting_with_where_it_came_from) {
  const outcome result =
      shell("WEFT_STACK=1M ./weftrun -n 4 ./weft-info --weft-map cyclic | tr -s ' '");
  EXPECT_EQ(result.status, 0);
  for (const char* line : {"\n ranks 4 WEFT_RANKS ", "\n stack 1M WEFT_STACK ",
                           "\n map cyclic --weft-map ", "\n steal random default ", "\n cores "})
    EXPECT_NE(result.text.find(line), std::string::npos) << line << "\n" << result.text;
}

TEST(weft_info, explains_one_setting) {
  const outcome result = shell("./weft-info stack");
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.text.find("a size from 16K to 16G"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("WEFT_STACK"), std::string::npos);
}

TEST(weft_info, bad_words_are_refused) {
  expect_one_line("./weft-info rank", 2,
                  "weft-info: there is no setting rank (did you mean ranks?); weft-info lists them "
                  "all");
  EXPECT_EQ(shell("./weft-info --bogus").status, 2);
  EXPECT_EQ(shell("./weft-info --weft-bogus").status, 2);
}

}  // namespace
}  // namespace weft
