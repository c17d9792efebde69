// weft-dt: data traffic through graphs of ranks. `weft-dt --help` explains it.
#include <atomic>
#include <cstdio>
#include <weft/weft.hpp>

#include "dt/job.hpp"
#include "front/interrupt.hpp"
#include "front/workers.hpp"

int main(int argc, char** argv) {
  weft::options runtime;
  std::optional<dt::program_options> options;
  try {
    runtime = weft::parse_options(argc, argv);
    options = dt::parse_program_options(argc, argv);
    if (!options) return 0;
    if (runtime.ranks == 0)
      runtime.ranks = dt::make_graph(options->kind, options->size.width).size();
    options->workers = front::workers_of(runtime);
    options->helpers = runtime.helpers;
  } catch (const weft::error& e) {
    std::fprintf(stderr, "weft-dt: %s\n", e.what());
    return 2;
  }
  front::end_early_when_interrupted();
  std::atomic<int> signal{0};
  std::atomic<bool> right{true};
  const int status = weft::run(runtime, [&](weft::communicator& ranks) {
    const dt::outcome result = dt::run_waves(ranks, *options);
    if (result.signal != 0) signal = result.signal;
    if (!result.right) right = false;
  });
  if (status != 0) return status;
  return signal != 0 ? 128 + signal : right ? 0 : 1;
}
