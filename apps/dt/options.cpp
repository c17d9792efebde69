#include "dt/options.hpp"

#include <CLI/CLI.hpp>

#include "front/option_checks.hpp"

namespace dt {
namespace {

using front::limits;
using front::not_empty;

constexpr const char* description =
    "Data traffic through graphs of ranks, in the shape of the NAS benchmark DT.\n"
    "\n"
    "Sources make streams of random samples, comparators add the streams that they get and average\n"
    "them over a window, sinks check them. One layer of the graph computes while the others wait:\n"
    "waiting ranks steal chunks of its loops.\n"
    "\n"
    "  weft-dt                                 shuffle of class S, 12 ranks on all cores, ten waves\n"
    "  weft-dt --class A --tasks off           80 ranks; most of them wait most of the time ...\n"
    "  weft-dt --class A                       ... now they help\n"
    "  weft-dt --graph bh --class W            eight sources, 11 nodes, one sink\n"
    "  weft-dt --class A --weft-workers 2 --weft-helpers 2   two cores without ranks only help\n"
    "  weft-dt --picture dt.png                the graph, and what each rank did when\n"
    "  weftrun -n 12 --processes 2 weft-dt     the same checksum in two processes";

constexpr const char* footer =
    "Class  bh, wh: ranks  sh: ranks  samples\n"
    "S                  5         12  1,728\n"
    "W                 11         32  13,824\n"
    "A                 21         80  110,592\n"
    "B                 43        192  884,736\n"
    "The job has as many ranks as the graph has nodes, unless it is told otherwise; further ranks only help.\n"
    "Words that begin with --weft- are for the runtime: weft-info lists them.\n"
    "Exit status: 0 success, 1 failure of the run or of a check, 2 wrong options.";

}  // namespace

std::optional<program_options> parse_program_options(int argc, char** argv) {
  program_options o;
  std::string kind = "sh", letter = "S", tasks = "on";
  CLI::App app(description, "weft-dt");
  app.footer(footer);
  app.get_formatter()->column_width(30);
  app.add_option(
         "--graph", kind,
         "bh: a black hole, many sources and one sink; wh: a white hole, one source and many "
         "sinks; sh: a shuffle, layers that all mix")
      ->check(CLI::IsMember({"bh", "wh", "sh"}).description(""))
      ->capture_default_str()
      ->type_name("bh|wh|sh");
  app.add_option("--class", letter, "how many nodes, and samples in a stream")
      ->check(CLI::IsMember({"S", "W", "A", "B"}).description(""))
      ->capture_default_str()
      ->type_name("S|W|A|B");
  app.add_option("--waves", o.waves, "how often the graph is run, each time with the same samples")
      ->check(limits(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--tasks", tasks,
                 "on: waiting ranks steal chunks of the loops over samples; off: not")
      ->check(CLI::IsMember({"on", "off"}).description(""))
      ->capture_default_str()
      ->type_name("on|off");
  app.add_option("--seed", o.seed, "of the samples; the checksums of seed 1 are known")
      ->check(limits<std::int64_t>(0, 999'999'999'999'999'999))
      ->capture_default_str()
      ->type_name("N");
  app.add_flag("--check", o.check,
               "also compute the checksum by one rank without messages: for other seeds");
  app.add_option("--csv", o.csv_path, "write the time of each wave to this file, as CSV")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_option("--picture", o.picture_path,
                 "write the graph and what each rank did in the last wave to this PNG file")
      ->check(not_empty)
      ->type_name("FILE");
  if (!front::parse(app, argc, argv)) return std::nullopt;
  front::check_outputs_differ({{"--csv", o.csv_path}, {"--picture", o.picture_path}});
  o.kind = *kind_of(kind);
  o.size = *class_of(letter);
  o.tasks = tasks == "on";
  return o;
}

}  // namespace dt
