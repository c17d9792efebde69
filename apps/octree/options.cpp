#include "octree/options.hpp"

#include <CLI/CLI.hpp>
#include <weft/error.hpp>

#include "front/option_checks.hpp"

namespace octree {
namespace {

using front::limits;
using front::not_empty;

constexpr const char* description =
    "A binary star on an adaptive octree: what Octo-Tiger does, in small and with real numbers.\n"
    "\n"
    "Gas in leaves of 8 x 8 x 8 cells, refined where it is dense; three Runge-Kutta stages of\n"
    "finite-volume hydrodynamics with gravity by multipoles in each step. Leaves are shared out\n"
    "among localities along a space-filling curve.\n"
    "\n"
    "  weft-octree                                15 steps on all cores, levels 2 to 4\n"
    "  weftrun --processes 4 weft-octree          the same numbers, to the bit, in four processes\n"
    "  weft-octree --levels 6 --vtk star.vtu      7,500 leaves; look at it with ParaView\n"
    "  weft-octree --picture star.png             the plane of the orbits, with the mesh\n"
    "  weft-octree --check                        prove mass, layers and potential\n"
    "  weft-octree --exchange parcels             by futures and remote actions";

constexpr const char* footer =
    "Units: the domain is a cube from -1 to 1, the heavier star has mass 1, the constant of\n"
    "gravity is 1. The hash at the end is that of all cells' bits: equal for every number of\n"
    "localities, processes and workers, and for every exchange.\n"
    "Words that begin with --weft- are for the runtime: weft-info lists them.\n"
    "Exit status: 0 success, 1 failure of the run or of a check, 2 wrong options.";

}  // namespace

std::optional<program_options> parse_program_options(int argc, char** argv) {
  program_options o;
  double ratio = 0.6, separation = 0.7;
  CLI::App app(description, "weft-octree");
  app.footer(footer);
  app.get_formatter()->column_width(30);
  app.add_option("--levels", o.star.levels.levels, "level of the finest leaves")
      ->check(limits(1, 7))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--base", o.star.levels.base, "level of the coarsest leaves")
      ->check(limits(1, 7))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--threshold", o.star.levels.threshold,
                 "density from which leaves are of the finest level; an eighth of it for each "
                 "level less")
      ->check(limits(1e-6, 1e6))
      ->capture_default_str()
      ->type_name("DENSITY");
  app.add_option("--steps", o.steps, "time steps, of three sub-steps each")
      ->check(limits(0, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--regrid", o.star.regrid_every,
                 "sub-steps from one regrid to the next (0: the tree stays)")
      ->check(limits(0, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--courant", o.star.courant, "length of a step; less is safer")
      ->check(limits(1e-3, 1.0))
      ->capture_default_str()
      ->type_name("NUMBER");
  app.add_option("--ratio", ratio, "mass of the second star")
      ->check(limits(1e-3, 1.0))
      ->default_str("0.6")
      ->type_name("MASS");
  app.add_option("--separation", separation, "distance of the stars")
      ->check(limits(0.5, 1.2))
      ->default_str("0.7")
      ->type_name("LENGTH");
  app.add_option("--exchange", o.exchange,
                 "ranks: a locality is a rank, which sends and receives; parcels: it is a process, "
                 "whose nodes are coroutines that call others")
      ->check(CLI::IsMember({"ranks", "parcels"}).description(""))
      ->capture_default_str()
      ->type_name("ranks|parcels");
  app.add_option("--report", o.report_every, "steps between two lines of the table")
      ->check(limits(1, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--csv", o.csv_path, "write the table to this file too, as CSV")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_option("--picture", o.picture_path, "write the plane of the orbits at the end, PNG")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_option("--vtk", o.vtk_path, "write all cells at the end, .vtu (ParaView, VisIt)")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_flag("--check", o.checks,
               "also prove that a linear field is exact beyond every face and that the potential "
               "is that of the stars; the mass is always looked at");
  if (!front::parse(app, argc, argv)) return std::nullopt;
  front::check_outputs_differ(
      {{"--csv", o.csv_path}, {"--picture", o.picture_path}, {"--vtk", o.vtk_path}});
  if (o.star.levels.base > o.star.levels.levels)
    throw weft::error("--base " + std::to_string(o.star.levels.base) + " is finer than --levels " +
                      std::to_string(o.star.levels.levels) + "; give --base at most that");
  o.star.start = make_binary(ratio, separation);
  return o;
}

}  // namespace octree
