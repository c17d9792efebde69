// weft-breakdown: what a message is made of, what would make it faster, and reports of jobs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "weft-breakdown/commands.hpp"
#include "weft-breakdown/pair.hpp"
#include "weft/error.hpp"

namespace {

constexpr const char* description =
    "weft-breakdown: where the time of messages and programs goes, and what would make them faster.";
constexpr const char* examples = R"(Examples:
  weft-breakdown measure --out here.json  where the time of an 8-byte message between two ranks goes
  weft-breakdown measure --face comm --transport ofi:tcp
  weft-breakdown what-if here.json        what that message would gain from each part
  weft-breakdown model                    the table and figures of 'Breaking Band' (ICPP 2019)
  weft-breakdown model mine.txt           the same sums of components of your own, lines "pcie = 120"
  weft-breakdown what-if --png gains.png  its figure 17
  weftrun --breakdown -n 4 ./program      where the time of a program goes, with a page to open
  weft-breakdown compare n2.record n4.record n8.record
  weft-breakdown report breakdown.record --page again.html
Exit status: 0, or 2 with one line that says what is wrong.)";

constexpr int status_usage = 2;

}  // namespace

int main(int argc, char** argv) {
  weft::breakdown_request request;
  CLI::App app(description, "weft-breakdown");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.footer(examples);
  app.require_subcommand(1);
  const auto add_outputs = [&](CLI::App* to) {
    to->add_flag("--csv", request.csv, "print CSV with a header line");
    to->add_option("--png", request.png, "draw it into this file, by matplotlib");
  };
  weft::measure_request measure_what;
  CLI::App* const measure = app.add_subcommand(
      "measure",
      "a message on this machine, stage by stage: components, their sums, what is observed");
  measure
      ->add_option("--face", measure_what.face,
                   "ranks (on two cores), fellows (ranks on one core), comm (two processes)")
      ->check(CLI::IsMember({"ranks", "fellows", "comm"}))
      ->capture_default_str();
  measure
      ->add_option("--transport", measure_what.transport, "of comm: shm, ofi:tcp, mpi:mpich, ...")
      ->capture_default_str();
  measure->add_option("--size", measure_what.bytes, "bytes of a message")->capture_default_str();
  measure->add_option("--samples", measure_what.samples, "of each component in each run")
      ->check(CLI::Range(100, 1'000'000))
      ->capture_default_str();
  measure->add_option("--runs", measure_what.rounds, "by turns without and with time stamps")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  measure->add_flag("--csv", measure_what.csv, "print CSV with a header line");
  measure->add_option("--out", measure_what.out, "write the components into this file, as JSON");
  weft::pair::request pair_what;
  CLI::App* const pair = app.add_subcommand("pair", "")->group("");  // What measure starts.
  pair->add_option("FACE", pair_what.face)->required();
  pair->add_option("TRANSPORT", pair_what.transport)->required();
  pair->add_option("BYTES", pair_what.bytes)->required();
  pair->add_option("SAMPLES", pair_what.samples)->required();
  CLI::App* const model = app.add_subcommand(
      "model", "the components of a small message, their sums, and the paper's figures");
  model->add_option("FILE", request.file,
                    "of measure, or lines 'name = ns'; left out: the paper's");
  add_outputs(model);
  CLI::App* const what_if =
      app.add_subcommand("what-if", "how much faster a message becomes when a part of it does");
  what_if->add_option("FILE", request.file,
                      "of measure, or lines 'name = ns'; left out: the paper's");
  what_if->add_option("--component", request.components, "only this part; may be repeated");
  add_outputs(what_if);
  CLI::App* const report = app.add_subcommand(
      "report", "text, page, CSV and PNG of a record that weftrun --breakdown has written");
  report->add_option("RECORD", request.file, "breakdown.record")->required();
  report->add_option("--message", request.of_message,
                     "a file of measure, for the page to show as well");
  report->add_option("--page", request.page, "write the page into this file");
  add_outputs(report);
  std::vector<std::string> records;
  CLI::App* const compare = app.add_subcommand(
      "compare",
      "several runs side by side, each against the first: times, efficiencies, calls, waits");
  compare->add_option("RECORD", records, "breakdown.record of each run")->required();
  compare->add_flag("--csv", request.csv, "print CSV with a header line");
  try {
    app.parse(argc, argv);
    if (pair->parsed()) return weft::pair::run(pair_what);
    if (measure->parsed())
      weft::measure_message(measure_what);
    else if (compare->parsed())
      weft::compare_runs(records, request.csv);
    else if (model->parsed())
      weft::print_model(request);
    else if (what_if->parsed())
      weft::print_what_if(request);
    else
      weft::write_breakdown_report(request);
    return 0;
  } catch (const CLI::Success& shown) {
    return app.exit(shown);
  } catch (const CLI::ParseError& failure) {
    std::fprintf(stderr, "weft-breakdown: %s; weft-breakdown --help lists all commands\n",
                 failure.what());
  } catch (const weft::error& failure) {
    std::fprintf(stderr, "weft-breakdown: %s\n", failure.what());
  }
  return status_usage;
}
