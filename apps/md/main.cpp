// weft-md: molecular dynamics of a copper crystal on weft's ranks. `weft-md --help` explains it.
#include <atomic>
#include <cstdio>
#include <weft/weft.hpp>

#include "front/interrupt.hpp"
#include "front/workers.hpp"
#include "md/job.hpp"

int main(int argc, char** argv) {
  weft::options runtime;
  std::optional<md::program_options> options;
  md::eam_potential potential;
  try {
    runtime = weft::parse_options(argc, argv);
    options = md::parse_program_options(argc, argv);
    if (!options) return 0;
    // Read once and shared by all ranks of the process.
    potential = md::read_potential(options->potential, options->element);
    md::complete(*options, potential);
    options->workers = front::workers_of(runtime);
  } catch (const weft::error& e) {
    std::fprintf(stderr, "weft-md: %s\n", e.what());
    return 2;
  }
  const md::eam_kernel kernel(potential);
  if (options->halo_only)
    return weft::run(runtime, [&](weft::communicator& ranks) {
      md::run_halo_exchange(ranks, kernel, *options);
    });
  front::end_early_when_interrupted();
  std::atomic<int> signal{0};
  const int status = weft::run(runtime, [&](weft::communicator& ranks) {
    signal = md::run_crystal(ranks, kernel, *options);
  });
  return status == 0 && signal != 0 ? 128 + signal : status;
}
