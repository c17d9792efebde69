// weft-breakdown: what a message is made of, what would make it faster, and reports of jobs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "weft-breakdown/commands.hpp"
#include "weft-breakdown/pair.hpp"

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
  weft-breakdown map breakdown.record > near.map && weftrun --map near.map -n 11 ./program
                                          ranks that send much to each other share a worker
  weft-breakdown scale allreduce --nodes 16,1024 --ranks-per-node 64 --message here.json
                                          how long a collective takes on a machine that is not here
  weftrun --trace run.events -n 4 ./program && weft-breakdown replay run.events --faster forces=50
                                          what a run would gain from a faster function
  weft-breakdown causal forces.cpp:120 -- weftrun -n 4 ./program
                                          the same, of the live program
  weftrun --trace heat.events -n 4 ./heat && weft-breakdown scale heat.events --nodes 4,64,1024 --message here.json
Exit status: 0, or 2 with one line that says what is wrong.)";

constexpr int status_usage = 2;

void add_scale(CLI::App& app, weft::scale_request& what) {
  CLI::App* const scale = app.add_subcommand(
      "scale", "how long a recorded program, or a collective, takes on more nodes: a simulation");
  scale
      ->add_option("PATTERN", what.pattern,
                   "an event file (weftrun --trace FILE.events), or allreduce, barrier, allgather, "
                   "alltoall, broadcast, reduce")
      ->required();
  scale
      ->add_option("--nodes", what.nodes,
                   "how many nodes; several numbers are predicted one by one")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  scale->add_option("--ranks-per-node", what.ranks_per_node, "ranks of each node")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  scale
      ->add_option("--workers-per-node", what.workers_per_node,
                   "cores of each node, on which its ranks take turns; 0: one for each rank")
      ->check(CLI::Range(0, 65'536))
      ->capture_default_str();
  scale
      ->add_option(
          "--message", what.messages,
          "files of weft-breakdown measure --out: what messages cost in a node; may be repeated, "
          "for several sizes")
      ->allow_extra_args(false);
  scale
      ->add_option("--topology", what.topology, "fat-tree, dragonfly, or ideal: without congestion")
      ->check(CLI::IsMember({"fat-tree", "dragonfly", "ideal"}))
      ->capture_default_str();
  scale
      ->add_option("--network-latency", what.latency_ns,
                   "ns between two nodes of one switch; left out: that of 'Breaking Band'")
      ->check(CLI::PositiveNumber);
  scale->add_option("--network-bandwidth", what.bytes_per_ns, "GB/s of a link; left out: 12.5")
      ->check(CLI::PositiveNumber);
  scale->add_option("--bytes", what.bytes, "of a collective, for each rank")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
  scale->add_option("--repeat", what.repeat, "collectives in a row")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  scale->add_flag(
      "--strong", what.is_strong,
      "more ranks share the recorded work; left out: each has as much as a recorded one");
  scale->add_flag("--actors", what.by_actors,
                  "simulate by an actor for each rank, to check the prediction; slow");
  scale->add_option("--measured", what.measured,
                    "event files of real runs on one node, to stand beside their predictions");
  scale->add_flag("--csv", what.csv, "print CSV with a header line");
  scale->add_option("--png", what.png, "draw it into this file, by matplotlib");
}

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
  report->add_option("--events", request.events,
                     "the event file of that run, for its critical path, delays and what-if");
  report->add_option("--page", request.page, "write the page into this file");
  add_outputs(report);
  report->add_flag("--calls", request.calls,
                   "print CSV of the calls of each rank at each place, and of all ranks");
  std::vector<std::string> records;
  CLI::App* const compare = app.add_subcommand(
      "compare",
      "several runs side by side, each against the first: times, efficiencies, calls, waits");
  compare->add_option("RECORD", records, "breakdown.record of each run")->required();
  compare->add_flag("--csv", request.csv, "print CSV with a header line");
  weft::map_request map_what;
  CLI::App* const map = app.add_subcommand(
      "map",
      "which ranks should share a worker, by what they compute and send: a file for weftrun --map");
  map->add_option("RECORD", map_what.file, "breakdown.record of a run")->required();
  map->add_option("--workers", map_what.workers, "how many; 0: as many as that run had cores")
      ->check(CLI::Range(0, 1'000'000));
  weft::replay_request replay_what;
  CLI::App* const replay = app.add_subcommand(
      "replay",
      "a recorded run again, with parts of it made faster: critical path, delays, what-if, how much latency it "
      "bears");
  replay->add_option("EVENTS", replay_what.events, "of weftrun --trace FILE.events")->required();
  replay
      ->add_option(
          "--faster", replay_what.faster,
          "PLACE=PER CENT: computation before calls whose place has this text in it takes so much less; "
          "may be repeated. Negative: more")
      ->allow_extra_args(false);
  replay
      ->add_option("--transfers", replay_what.transfers_percent,
                   "messages and collectives take so many per cent less, once all are there")
      ->check(CLI::Range(-10'000.0, 100.0));
  replay
      ->add_option(
          "--even", replay_what.even_percent,
          "before each place every rank's computation comes so many per cent closer to the mean of all")
      ->check(CLI::Range(0.0, 100.0));
  replay
      ->add_option("--later", replay_what.later_us,
                   "each message takes so many us more, a collective that for each of its rounds")
      ->check(CLI::Range(0.0, 1e9));
  replay->add_flag("--csv", replay_what.csv, "print CSV with a header line");
  weft::causal_request causal_what;
  CLI::App* const causal = app.add_subcommand(
      "causal",
      "experiments on the live program: everything but one part is delayed, as if that part were faster");
  causal
      ->add_option(
          "PART", causal_what.part,
          "a region, or part of the place of calls, of which the computation before them is meant")
      ->required();
  causal->add_option("PROGRAM", causal_what.words, "weftrun -n 4 ./program, after --")->required();
  causal
      ->add_option("--reductions", causal_what.reductions, "by how many per cent the part shrinks")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 95))
      ->capture_default_str();
  causal->add_option("--runs", causal_what.runs, "of each reduction, by turns")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  causal->add_flag("--calls", causal_what.of_calls,
                   "the time in the calls there without waits, not the computation before them");
  causal->add_flag("--csv", causal_what.csv, "print CSV with a header line");
  std::string events, archive;
  CLI::App* const otf2 = app.add_subcommand(
      "otf2", "an event file in the Open Trace Format 2, for Vampir, Cube, otf2-print and others");
  otf2->add_option("EVENTS", events, "of weftrun --trace FILE.events")->required();
  otf2->add_option("ARCHIVE", archive, "a new directory")->required();
  weft::scale_request scale_what;
  add_scale(app, scale_what);
  try {
    app.parse(argc, argv);
    if (pair->parsed()) return weft::pair::run(pair_what);
    if (measure->parsed())
      weft::measure_message(measure_what);
    else if (compare->parsed())
      weft::compare_runs(records, request.csv);
    else if (map->parsed())
      weft::print_map(map_what);
    else if (replay->parsed())
      weft::replay_run(replay_what);
    else if (causal->parsed())
      weft::run_causal(causal_what);
    else if (otf2->parsed())
      weft::write_otf2(events, archive);
    else if (app.got_subcommand("scale"))
      weft::predict_scale(scale_what);
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
  } catch (const std::bad_alloc&) {
    std::fputs("weft-breakdown: there is not enough memory for that\n", stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "weft-breakdown: %s\n", failure.what());
  }
  return status_usage;
}
