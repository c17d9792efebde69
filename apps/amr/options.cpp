#include "amr/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <weft/error.hpp>

#include "front/option_checks.hpp"

namespace amr {
namespace {

using front::limits;
using front::not_empty;

constexpr const char* description =
    "A stencil on a mesh that follows moving objects, in the manner of miniAMR.\n"
    "\n"
    "Blocks of 8 x 8 x 8 cells fill a cube; they are refined where the surface of a sphere passes.\n"
    "In every step ranks exchange the faces of their blocks, also between levels, and each block\n"
    "takes a step of diffusion; while a rank waits, it steals blocks of others.\n"
    "\n"
    "  weft-amr                                  two spheres, 100 steps, one rank per core\n"
    "  weft-amr --balance 0 --tasks off          blocks stay with their ranks; some have more to do ...\n"
    "  weft-amr --balance 0                      ... and the others help\n"
    "  weft-amr --levels 5 --objects 4 --weft-ranks 16   more and smaller blocks, sixteen ranks\n"
    "  weft-amr --picture amr.png                the mesh through the middle of the cube\n"
    "  weftrun -n 4 --processes 2 weft-amr       the same bits in two processes";

constexpr const char* footer =
    "The hash at the end is that of all values' bits: equal for every number of ranks, processes and\n"
    "workers, for every --balance, with and without tasks.\n"
    "Words that begin with --weft- are for the runtime: weft-info lists them.\n"
    "Exit status: 0 success, 1 failure of the run or of a check, 2 wrong options.";

// The kernel would grant the memory and end the process when it is touched. Blocks of the base level are there at least, twice.
void check_memory(const physics& p) {
  const double block = 2.0 * sizeof(double) * cells * static_cast<double>(p.variables);
  const double needed = block * std::ldexp(1.0, 3 * p.base);
  const double memory = front::memory_bytes();
  if (needed <= memory) return;
  const int base_max = static_cast<int>(std::log2(std::max(memory / block, 1.0)) / 3);
  throw weft::error(
      "--base " + std::to_string(p.base) + " asks for " +
      std::to_string(std::int64_t{1} << 3 * p.base) + " blocks of " + std::to_string(p.variables) +
      " variables, " + std::to_string(static_cast<std::uint64_t>(needed / (1 << 30))) +
      " GiB: this machine has " + std::to_string(static_cast<std::uint64_t>(memory / (1 << 30))) +
      "; give --base at most " + std::to_string(base_max) + ", or fewer --variables");
}

}  // namespace

std::optional<program_options> parse_program_options(int argc, char** argv) {
  program_options o;
  std::string tasks = "on";
  CLI::App app(description, "weft-amr");
  app.footer(footer);
  app.get_formatter()->column_width(30);
  app.add_option("--levels", o.physics.levels,
                 "level of the finest blocks; 8 to its power fill the cube")
      ->check(limits(1, 7))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--base", o.physics.base, "level of the coarsest blocks")
      ->check(limits(1, 7))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--variables", o.physics.variables, "in each cell")
      ->check(limits<std::size_t>(1, 1000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--objects", o.physics.objects, "spheres that move through the cube")
      ->check(limits(0, 1000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--speed", o.physics.speed,
                 "by which share of the cube's edge a sphere moves in a step")
      ->check(limits(0.0, 1.0))
      ->capture_default_str()
      ->type_name("SHARE");
  app.add_option("--seed", o.physics.seed, "of the spheres: where they are and whither they go")
      ->check(limits<std::int64_t>(0, 999'999'999'999))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--steps", o.steps, "of the stencil")
      ->check(limits(0, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--regrid", o.physics.regrid_every,
                 "steps from one regrid to the next (0: the mesh stays)")
      ->check(limits(0, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option(
         "--balance", o.physics.balance_every,
         "regrids after which blocks are shared out anew (0: never; a refined block's stay where it was)")
      ->check(limits(0, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--tasks", tasks,
                 "on: waiting ranks steal blocks from the loops of others; off: not")
      ->check(CLI::IsMember({"on", "off"}).description(""))
      ->capture_default_str()
      ->type_name("on|off");
  app.add_option("--report", o.report_every, "steps between two lines of the table")
      ->check(limits(1, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--csv", o.csv_path, "write the table to this file too, as CSV")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_option("--picture", o.picture_path, "write a plane through the middle at the end, PNG")
      ->check(not_empty)
      ->type_name("FILE");
  if (!front::parse(app, argc, argv)) return std::nullopt;
  front::check_outputs_differ({{"--csv", o.csv_path}, {"--picture", o.picture_path}});
  if (o.physics.base > o.physics.levels)
    throw weft::error("--base " + std::to_string(o.physics.base) + " is finer than --levels " +
                      std::to_string(o.physics.levels) + "; give --base at most that");
  check_memory(o.physics);
  o.tasks = tasks == "on";
  return o;
}

}  // namespace amr
