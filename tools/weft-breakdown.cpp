// weft-breakdown: what a message is made of, what would make it faster, and reports of jobs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "weft-breakdown/commands.hpp"
#include "weft/error.hpp"

namespace {

constexpr const char* description =
    "weft-breakdown: where the time of messages and programs goes, and what would make them faster.";
constexpr const char* examples = R"(Examples:
  weft-breakdown model                    the table and figures of 'Breaking Band' (ICPP 2019)
  weft-breakdown model mine.txt           the same sums of components of your own, lines "pcie = 120"
  weft-breakdown what-if --png gains.png  its figure 17
  weftrun --breakdown -n 4 ./program      where the time of a program goes, with a page to open
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
  CLI::App* const model = app.add_subcommand(
      "model", "the components of a small message, their sums, and the paper's figures");
  model->add_option("FILE", request.file, "components, lines 'name = ns'; left out: the paper's");
  add_outputs(model);
  CLI::App* const what_if =
      app.add_subcommand("what-if", "how much faster a message becomes when a part of it does");
  what_if->add_option("FILE", request.file, "components, lines 'name = ns'; left out: the paper's");
  what_if->add_option("--component", request.components, "only this part; may be repeated");
  add_outputs(what_if);
  CLI::App* const report = app.add_subcommand(
      "report", "text, page, CSV and PNG of a record that weftrun --breakdown has written");
  report->add_option("RECORD", request.file, "breakdown.record")->required();
  report->add_option("--page", request.page, "write the page into this file");
  add_outputs(report);
  try {
    app.parse(argc, argv);
    if (model->parsed())
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
