// weft-amr: a stencil on a mesh that follows moving objects. `weft-amr --help` explains it.
#include <atomic>
#include <cstdio>
#include <weft/weft.hpp>

#include "amr/job.hpp"
#include "front/interrupt.hpp"
#include "front/workers.hpp"

int main(int argc, char** argv) {
  weft::options runtime;
  std::optional<amr::program_options> options;
  try {
    runtime = weft::parse_options(argc, argv);
    options = amr::parse_program_options(argc, argv);
    if (!options) return 0;
    options->workers = front::workers_of(runtime);
  } catch (const weft::error& e) {
    std::fprintf(stderr, "weft-amr: %s\n", e.what());
    return 2;
  }
  front::end_early_when_interrupted();
  std::atomic<int> signal{0};
  std::atomic<bool> right{true};
  const int status = weft::run(runtime, [&](weft::communicator& ranks) {
    const amr::outcome result = amr::run_steps(ranks, *options);
    if (result.signal != 0) signal = result.signal;
    if (!result.right) right = false;
  });
  if (status != 0) return status;
  return signal != 0 ? 128 + signal : right ? 0 : 1;
}
