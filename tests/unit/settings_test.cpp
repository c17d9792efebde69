#include "base/settings.hpp"
#include "base/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <set>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

// A command line that resolve_options() may change.
struct command_line {
  explicit command_line(std::vector<std::string> given) : words(std::move(given)) {
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    argc = static_cast<int>(words.size());
  }
  options parse() { return parse_options(argc, argv.data()); }
  std::vector<std::string> rest() const { return {argv.begin(), argv.begin() + argc}; }

  std::vector<std::string> words;
  std::vector<char*> argv;
  int argc;
};

std::string error_of(const std::vector<std::string>& words) {
  command_line line(words);
  try {
    line.parse();
  } catch (const error& failure) {
    EXPECT_EQ(line.rest(), words) << "argv was changed although parsing failed";
    EXPECT_EQ(std::string(failure.what()).find('\n'), std::string::npos);
    return failure.what();
  }
  return "no error";
}

// Restores the environment of the test.
class settings : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

 private:
  static void clear() {
    for (const setting& row : weft::settings()) ::unsetenv(row.environment_name().c_str());
  }
};

TEST_F(settings, without_any_word_every_value_is_the_default) {
  command_line line({"program"});
  const resolved_options resolved = resolve_options(line.argc, line.argv.data());
  for (const setting& row : weft::settings())
    EXPECT_EQ(row.text(resolved.values), row.text(options{})) << row.name;
  EXPECT_EQ(std::ranges::count(resolved.sources, setting_source::default_value),
            static_cast<std::ptrdiff_t>(weft::settings().size()));
}

TEST_F(settings, words_are_taken_out_and_the_others_keep_their_order) {
  command_line line({"program", "a", "--weft-ranks", "4", "-x", "--weft-stats", "b",
                     "--weft-stack=1M", "--weft-pin=off"});
  const options values = line.parse();
  EXPECT_EQ(values.ranks, 4);
  EXPECT_TRUE(values.stats);
  EXPECT_EQ(values.stack_bytes, std::size_t{1} << 20);
  EXPECT_FALSE(values.pin);
  EXPECT_EQ(line.rest(), (std::vector<std::string>{"program", "a", "-x", "b"}));
  EXPECT_EQ(line.argv[static_cast<std::size_t>(line.argc)], nullptr);
}

TEST_F(settings, one_that_may_stand_alone_leaves_the_next_word_to_the_program) {
  command_line line({"program", "--weft-secure", "off"});
  EXPECT_EQ(line.parse().secure, "encrypt");
  EXPECT_EQ(line.rest(), (std::vector<std::string>{"program", "off"}));
  EXPECT_EQ(command_line({"program", "--weft-secure=authenticate"}).parse().secure, "authenticate");
  EXPECT_NE(error_of({"program", "--weft-secure=on"}).find("auto, off, authenticate or encrypt"),
            std::string::npos);
  for (const setting& row : weft::settings())
    for (const std::string_view word : row.words) {
      options values;
      EXPECT_TRUE(row.assign(values, word)) << row.name << " " << word;
    }
}

TEST_F(settings, words_after_a_double_dash_belong_to_the_program) {
  command_line line({"program", "--weft-ranks=2", "--", "--weft-ranks=3"});
  EXPECT_EQ(line.parse().ranks, 2);
  EXPECT_EQ(line.rest(), (std::vector<std::string>{"program", "--", "--weft-ranks=3"}));
}

TEST_F(settings, an_empty_argv_is_left_alone) {
  command_line line({});
  EXPECT_EQ(line.parse().ranks, 0);
  EXPECT_EQ(line.argc, 0);
}

TEST_F(settings, a_word_wins_over_the_environment_and_that_over_the_default) {
  ::setenv("WEFT_RANKS", "3", 1);
  ::setenv("WEFT_WORKERS", "2", 1);
  command_line line({"program", "--weft-ranks", "5"});
  const resolved_options resolved = resolve_options(line.argc, line.argv.data());
  EXPECT_EQ(resolved.values.ranks, 5);
  EXPECT_EQ(resolved.values.workers, 2);
  const auto source = [&](std::string_view name) {
    return resolved.sources[static_cast<std::size_t>(find_setting(name) - weft::settings().data())];
  };
  EXPECT_EQ(source("ranks"), setting_source::command_line);
  EXPECT_EQ(source("workers"), setting_source::environment);
  EXPECT_EQ(source("steal"), setting_source::default_value);
}

TEST_F(settings, an_empty_variable_counts_as_unset) {
  ::setenv("WEFT_RANKS", "", 1);
  EXPECT_EQ(command_line({"program"}).parse().ranks, 0);
}

TEST_F(settings, every_field_can_be_set_and_its_text_reads_back) {
  const std::vector<std::pair<std::string, std::string>> samples{
      {"ranks", "12"},
      {"workers", "3"},
      {"helpers", "1"},
      {"map", "cyclic"},
      {"stack", "1M"},
      {"timeout", "2.5"},
      {"schedule", "42"},
      {"trace", "out.json"},
      {"breakdown", "on"},
      {"breakdown-file", "out.html"},
      {"stats", "on"},
      {"eager-max", "8K"},
      {"steal", "near"},
      {"chunks", "single"},
      {"busy-warning", "60"},
      {"report-signal", "HUP"},
      {"pin", "off"},
      {"moving", "on"},
      {"spin-us", "0"},
      {"tag-output", "on"},
      {"processes", "4"},
      {"ranks-per-process", "8"},
      {"hosts", "a,b"},
      {"rsh", "rsh -n"},
      {"transport", "ofi"},
      {"secure", "encrypt"},
      {"secure", "off"},
      {"plugins", "/there"},
      {"reorder", "off"},
      {"on-failure", "error"},
      {"check", "on"},
      {"private-libraries", "libown"},
      {"shared-libraries", "libshared"},
      {"progress", "on"},
      {"parcelport", "lci_psr_cq_mt_i:2"}};
  ASSERT_EQ(samples.size(), weft::settings().size()) << "a row has no sample here";
  for (const auto& [name, text] : samples) {
    const setting* const row = find_setting(name);
    ASSERT_NE(row, nullptr) << name;
    ASSERT_NE(row->text(options{}), text) << name << ": the sample must differ from the default";
    ::setenv(row->environment_name().c_str(), text.c_str(), 1);
    const options from_environment = command_line({"program"}).parse();
    ::unsetenv(row->environment_name().c_str());
    const options from_word =
        command_line({"program", formatted("--weft-{}={}", name, text)}).parse();
    EXPECT_EQ(row->text(from_environment), text);
    EXPECT_EQ(row->text(from_word), text);
    for (const setting& other : weft::settings()) {
      if (other.name == name) continue;
      EXPECT_EQ(other.text(from_word), other.text(options{})) << name;
    }
  }
}

TEST_F(settings, names_help_and_variables_are_complete_and_unique) {
  std::set<std::string> names;
  for (const setting& row : weft::settings()) {
    EXPECT_TRUE(names.insert(row.environment_name()).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.allowed.empty()) << row.name;
  }
  EXPECT_EQ(find_setting("busy-warning")->environment_name(), "WEFT_BUSY_WARNING");
}

TEST_F(settings, sizes_and_times_take_units) {
  EXPECT_EQ(command_line({"p", "--weft-stack=64K"}).parse().stack_bytes, 65536u);
  EXPECT_EQ(command_line({"p", "--weft-stack=65536"}).parse().stack_bytes, 65536u);
  EXPECT_EQ(command_line({"p", "--weft-stack=0.5M"}).parse().stack_bytes, 524288u);
  EXPECT_EQ(command_line({"p", "--weft-timeout=90"}).parse().timeout_s, 90);
  EXPECT_EQ(command_line({"p", "--weft-timeout=1.5m"}).parse().timeout_s, 90);
  EXPECT_EQ(command_line({"p", "--weft-timeout=none"}).parse().timeout_s, 0);
}

TEST_F(settings, bad_values_are_named_with_what_is_allowed) {
  const std::string ranks = "a whole number from 1 to 1048576, or auto";
  for (const char* text : {"0", "-3", "four", "4x", "1e3", "", "99999999999", " 4"})
    EXPECT_EQ(error_of({"p", formatted("--weft-ranks={}", text)}),
              formatted("--weft-ranks: '{}' is not allowed; give {}", text, ranks));
  for (const char* word : {"--weft-stack=15K",
                           "--weft-stack=17G",
                           "--weft-stack=-1M",
                           "--weft-stack=K",
                           "--weft-stack=16384.5",
                           "--weft-stack=nan",
                           "--weft-stack=inf",
                           "--weft-timeout=0",
                           "--weft-timeout=-1",
                           "--weft-timeout=nan",
                           "--weft-timeout=inf",
                           "--weft-timeout=5x",
                           "--weft-steal=far",
                           "--weft-chunks=",
                           "--weft-pin=maybe",
                           "--weft-schedule=-1",
                           "--weft-schedule=18446744073709551616",
                           "--weft-helpers=-1",
                           "--weft-map=",
                           "--weft-trace=",
                           "--weft-spin-us=2000000",
                           "--weft-report-signal=KILL",
                           "--weft-eager-max=1G"})
    EXPECT_NE(error_of({"p", word}).find("is not allowed; give "), std::string::npos) << word;
}

TEST_F(settings, a_bad_variable_is_named) {
  ::setenv("WEFT_WORKERS", "0", 1);
  EXPECT_EQ(error_of({"p"}),
            "WEFT_WORKERS: '0' is not allowed; give a whole number from 1 to 1024, or auto");
}

TEST_F(settings, an_unknown_word_is_refused_with_the_nearest_name) {
  EXPECT_EQ(
      error_of({"p", "--weft-rank=4"}),
      "unknown option --weft-rank (did you mean --weft-ranks?); weft-info lists all settings");
  EXPECT_EQ(error_of({"p", "--weft-colour"}),
            "unknown option --weft-colour; weft-info lists all settings");
}

TEST_F(settings, a_missing_value_is_named) {
  EXPECT_EQ(error_of({"p", "--weft-steal"}),
            "--weft-steal needs a value; give random, near or sticky");
}

TEST_F(settings, a_schedule_and_several_workers_exclude_each_other) {
  EXPECT_EQ(error_of({"p", "--weft-schedule=1", "--weft-workers=2"}),
            "a schedule is repeatable on one worker only; leave out workers and helpers, or the "
            "schedule");
  EXPECT_EQ(command_line({"p", "--weft-schedule=1", "--weft-workers=1"}).parse().workers, 1);
  EXPECT_THROW(check_options({.helpers = 1, .schedule = 3}), error);
}

TEST_F(settings, variables_without_a_meaning_are_found_with_the_nearest_that_have_one) {
  ::setenv("WEFT_EAGER_MIX", "4", 1);
  ::setenv("WEFT_NONSENSE", "4", 1);
  ::setenv("WEFT_RANKS", "4", 1);
  const auto remarks = remarks_on_environment();
  for (const char* name : {"WEFT_EAGER_MIX", "WEFT_NONSENSE", "WEFT_RANKS"}) ::unsetenv(name);
  const auto has = [&](const std::string& remark) {
    return std::ranges::find(remarks, remark) != remarks.end();
  };
  EXPECT_TRUE(
      has("the variable WEFT_EAGER_MIX has no meaning to weft (did you mean WEFT_EAGER_MAX?); "
          "weft-info lists those that have"));
  EXPECT_TRUE(
      has("the variable WEFT_NONSENSE has no meaning to weft; weft-info lists those that have"));
  EXPECT_TRUE(std::ranges::none_of(
      remarks, [](const std::string& one) { return one.find("WEFT_RANKS ") != one.npos; }));
}

TEST_F(settings, values_set_by_a_program_are_checked_too) {
  EXPECT_NO_THROW(check_options({}));
  const auto message = [](const options& values) {
    try {
      check_options(values);
    } catch (const error& failure) {
      return std::string(failure.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message({.ranks = -1}),
            "option ranks: '-1' is not allowed; give a whole number from 1 to 1048576, or auto");
  EXPECT_NE(message({.stack_bytes = 100}).find("option stack: '100'"), std::string::npos);
  EXPECT_NE(message({.timeout_s = -1}).find("option timeout"), std::string::npos);
  EXPECT_NE(message({.timeout_s = std::numeric_limits<double>::quiet_NaN()}).find("timeout"),
            std::string::npos);
  EXPECT_NE(message({.steal = "far"}).find("random, near or sticky"), std::string::npos);
  EXPECT_NE(message({.map = ""}).find("option map"), std::string::npos);
}

TEST_F(settings, report_signal_has_its_number) {
  EXPECT_EQ(report_signal_number({}), SIGUSR1);
  EXPECT_EQ(report_signal_number({.report_signal = "none"}), 0);
}

TEST_F(settings, more_processes_than_ranks_are_refused) {
  EXPECT_EQ(error_of({"program", "--weft-ranks", "2", "--weft-processes", "3"}),
            "3 processes for 2 ranks; give at least one rank to each process");
  EXPECT_EQ(error_of({"program", "--weft-ranks", "9", "--weft-processes", "2",
                      "--weft-ranks-per-process", "4"}),
            "2 processes of at most 4 ranks cannot hold 9 ranks; leave out processes or "
            "ranks-per-process");
  EXPECT_EQ(error_of({"program", "--weft-schedule", "2", "--weft-processes", "3"}),
            "a schedule is repeatable in one process only; leave out processes, or the schedule");
}

TEST_F(settings, hosts_are_names_without_gaps_repetitions_or_options) {
  command_line line({"program", "--weft-hosts", "a,b.example.org,user@c"});
  EXPECT_EQ(line.parse().hosts, "a,b.example.org,user@c");
  for (const char* wrong : {"", ",", "a,", ",a", "a,,b", "a,a", "a,-oProxyCommand=x"})
    EXPECT_EQ(error_of({"program", std::string("--weft-hosts=") + wrong}),
              std::string("--weft-hosts: '") + wrong +
                  "' is not allowed; give names of hosts separated by commas, or none");
}

TEST(printable, keeps_an_error_on_one_line_and_short) {
  EXPECT_EQ(printable("3\n"), "3\\n");
  EXPECT_EQ(printable(std::string_view("a\0\x1b[31m", 7)), "a\\x00\\x1b[31m");
  EXPECT_EQ(printable(std::string(1000, 'x')), std::string(200, 'x') + "... (1000 bytes)");
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
}

}  // namespace
}  // namespace weft
