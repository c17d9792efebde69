#include "md/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <weft/error.hpp>

#include "front/option_checks.hpp"

namespace md {
namespace {

using front::limits;
using front::not_empty;

constexpr int cells_max = 10'000;
// What --dt allows is usually less.
constexpr double drift_max = 1e6;  // Å/ps: 1 Å in the shortest step.

constexpr const char* description =
    "Molecular dynamics of a copper crystal with the embedded-atom method, on weft's ranks.\n"
    "\n"
    "The periodic crystal is cut into one block per rank. Ranks exchange the atoms near their\n"
    "borders in every step; while a rank waits, it steals chunks of the loops of others.\n"
    "\n"
    "  weft-md                               32,000 atoms, 200 steps, one rank per core\n"
    "  weft-md --weft-ranks 16               sixteen ranks, whatever the number of cores\n"
    "  weft-md --voids 40 --tasks off        half of the ranks have little to do, and wait ...\n"
    "  weft-md --voids 40                    ... now they help\n"
    "  weft-md --voids 40 --drift 100        the voids move from rank to rank\n"
    "  weft-md --picture cu.png --weft-trace cu.json   look at it (ui.perfetto.dev)";

constexpr const char* footer =
    "Units: Å, ps, eV, K, bar. A perfect crystal gives half of its kinetic energy to its springs\n"
    "within 0.1 ps, so it settles near half of --temperature.\n"
    "Words that begin with --weft- are for the runtime: weft-info lists them.\n"
    "Exit status: 0 success, 1 failure of the run, 2 wrong options or potential file.";

// "20" or "20x30x40".
std::array<int, 3> parse_size(const std::string& text) {
  std::array<int, 3> size{};
  std::size_t parts = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (parts < 3) {
    const auto [next, error] = std::from_chars(at, end, size[parts]);
    if (error != std::errc{} || size[parts] < 1 || size[parts] > cells_max) break;
    ++parts;
    at = next;
    if (at == end || *at != 'x') break;
    ++at;
  }
  if (at != end || (parts != 1 && parts != 3))
    throw weft::error("--size '" + text +
                      "' is not a number of cells; give N or NXxNYxNZ, each from 1 to " +
                      std::to_string(cells_max));
  if (parts == 1) size[1] = size[2] = size[0];
  return size;
}

// "40" or "40/14.5".
void parse_voids(const std::string& text, program_options& options) {
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, options.void_count);
  bool good = error == std::errc{} && options.void_count >= 0 && options.void_count <= 100'000;
  if (good && at != end) {
    const auto radius = std::from_chars(*at == '/' ? at + 1 : end, end, options.void_radius);
    good = radius.ec == std::errc{} && radius.ptr == end && options.void_radius > 0 &&
           options.void_radius < 1e6;
  }
  if (!good)
    throw weft::error("--voids '" + text +
                      "' is not a number of spheres; give COUNT or COUNT/RADIUS, such as 40/14.5 "
                      "(radius in Å)");
}

// Of an atom with its neighbours: 1,300 measured from 13,500 to 256,000 atoms on one rank,
// rounded down, so that what is refused has no chance.
constexpr double atom_bytes_min = 1000;

// The kernel would grant the memory and end the process when it is touched.
void check_memory(std::uint64_t atoms) {
  const double memory = front::memory_bytes();
  if (static_cast<double>(atoms) * atom_bytes_min <= memory) return;
  const auto atoms_max = static_cast<std::uint64_t>(memory / atom_bytes_min);
  throw weft::error("--size asks for " + std::to_string(atoms) +
                    " atoms: this machine's memory of " +
                    std::to_string(static_cast<std::uint64_t>(memory / (1 << 30))) +
                    " GiB holds at most " + std::to_string(atoms_max) + ", --size " +
                    std::to_string(static_cast<int>(std::cbrt(atoms_max / 4))));
}

}  // namespace

std::optional<program_options> parse_program_options(int argc, char** argv) {
  program_options o;
  std::string size = "20", voids = "0", tasks = "on";
  double femtoseconds = 1;
  CLI::App app(description, "weft-md");
  app.footer(footer);
  app.get_formatter()->column_width(30);
  app.add_option("--size", size, "cells of 4 atoms: N or NXxNYxNZ")
      ->default_str("20")
      ->type_name("CELLS");
  app.add_option("--lattice", o.physics.solid.lattice_constant,
                 "lattice constant (default: that of the potential file)")
      ->check(limits(1.0, 20.0))
      ->type_name("ANGSTROM");
  app.add_option("--temperature", o.physics.temperature, "of the initial velocities")
      ->check(limits(0.0, 1e5))
      ->capture_default_str()
      ->type_name("K");
  app.add_option("--seed", o.physics.seed, "of the initial velocities")
      ->check(limits<std::int64_t>(0, 999'999'999'999'999'999))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--steps", o.steps, "time steps")
      ->check(limits(0, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--dt", femtoseconds, "length of a step")
      ->check(limits(1e-3, 20.0))
      ->capture_default_str()
      ->type_name("FS");
  app.add_option(
         "--skin", o.physics.skin,
         "what neighbour lists reach beyond the cutoff; more: longer lists, built less often")
      ->check(limits(0.01, 10.0))
      ->capture_default_str()
      ->type_name("ANGSTROM");
  app.add_option("--potential", o.potential,
                 "setfl (.eam.alloy, .setfl) or funcfl (.eam, .funcfl); a bare name is looked up "
                 "here, in $LAMMPS_POTENTIALS and in Debian's lammps-data")
      ->capture_default_str()
      ->type_name("FILE");
  app.add_option("--element", o.element, "which element of the file")
      ->capture_default_str()
      ->type_name("NAME");
  app.add_option("--displace", o.physics.displaced, "the first atom starts this far off its place")
      ->check(limits(-2.0, 2.0))
      ->capture_default_str()
      ->type_name("ANGSTROM");
  app.add_option("--voids", voids,
                 "spheres without atoms in the upper half along x, so that half of the ranks "
                 "have less to do (40: stealing can win up to 1.8 on two cores)")
      ->default_str("0")
      ->type_name("COUNT[/RADIUS]");
  app.add_option("--drift", o.physics.drift,
                 "velocity of the whole crystal along x: its voids move through the blocks of "
                 "the ranks, the physics stays the same")
      ->check(limits(-drift_max, drift_max))
      ->capture_default_str()
      ->type_name("ANGSTROM/PS");
  app.add_option("--tasks", tasks,
                 "on: waiting ranks steal chunks of the loops over atoms; off: not")
      ->check(CLI::IsMember({"on", "off"}).description(""))
      ->capture_default_str()
      ->type_name("on|off");
  app.add_option("--thermo", o.thermo_every, "steps between two lines of thermo output")
      ->check(limits(1, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--csv", o.csv_path, "write thermo output to this file too, as CSV")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_option("--dump", o.dump_path, "write atoms to this file, extended XYZ (ovito, ase)")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_option("--dump-every", o.dump_every, "steps between two frames (0: the end only)")
      ->check(limits(0, 1'000'000'000))
      ->needs("--dump")
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--picture", o.picture_path,
                 "write a slice at the end to this PNG file: by rank and by potential energy")
      ->check(not_empty)
      ->type_name("FILE");
  app.add_flag("--halo-only", o.halo_only,
               "only exchange borders, --steps times, and print the time of one exchange as CSV");
  if (!front::parse(app, argc, argv)) return std::nullopt;
  front::check_outputs_differ(
      {{"--csv", o.csv_path}, {"--dump", o.dump_path}, {"--picture", o.picture_path}});
  o.physics.solid.cells = parse_size(size);
  check_memory(o.physics.solid.sites());
  parse_voids(voids, o);
  o.tasks = tasks == "on";
  o.physics.timestep = 1e-3 * femtoseconds;
  // Also keeps the crystal from jumping over a block within one step.
  if (!(std::abs(o.physics.drift) * o.physics.timestep <= 1.0))
    throw weft::error("--drift " + std::to_string(o.physics.drift) +
                      " moves the crystal by more than 1 Å in a step; the limit is " +
                      std::to_string(1.0 / o.physics.timestep) + " Å/ps at this --dt");
  return o;
}

void complete(program_options& options, const eam_potential& potential) {
  crystal& solid = options.physics.solid;
  if (solid.lattice_constant == 0) {
    std::string structure = potential.structure;
    std::transform(structure.begin(), structure.end(), structure.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (structure != "fcc" || potential.lattice_constant <= 0)
      throw weft::error(potential.path + " gives no lattice constant for an fcc crystal of " +
                        options.element + " (its lattice is '" + potential.structure +
                        "'); set one with --lattice");
    solid.lattice_constant = potential.lattice_constant;
  }
  const vec3 box = solid.box();
  const double radius =
      options.void_radius > 0 ? options.void_radius : 0.2 * std::min({box.x, box.y, box.z});
  solid.voids = spread_voids(options.void_count, radius, box);
}

}  // namespace md
