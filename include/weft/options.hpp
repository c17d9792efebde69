// How a job runs. Every field is also an environment variable (WEFT_RANKS), a word of any weft
// program (--weft-ranks 4) and an option of weftrun (--ranks 4); `weft-info` lists them all with
// their present values. The defaults are right without any option.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace weft {

// As options::processes, for weftrun: as many as the hosts have NUMA nodes.
inline constexpr int process_per_numa_node = -1;

// As options::spin_us: as long as it has paid lately, at least 50 us and at most 10 ms.
inline constexpr int spin_us_auto = -1;

struct options {
  int ranks = 0;                         // 0: one per worker.
  int workers = 0;                       // 0: one per allowed core, at most one per rank.
  int helpers = 0;                       // Workers without ranks, which only steal.
  std::string map = "block";             // block, cyclic, or a file in MPICH_RANK_ORDER format.
  std::size_t stack_bytes = 256 * 1024;  // Of each rank; committed as it is used.
  double timeout_s = 0;                  // The job is ended after this time; 0: never.
  std::optional<std::uint64_t> schedule = {};     // Seed of a repeatable schedule on one worker.
  std::string trace_file = {};                    // Timeline for ui.perfetto.dev; empty: none.
  bool breakdown = false;                         // weftrun tells where the time went.
  std::string breakdown_file = "breakdown.html";  // The page that it writes then.
  bool call_paths = false;                        // Its places are the calls that lead there.
  bool stats = false;                             // Print statistics per rank at the end.
  bool check = false;                  // Look for misuse that is not looked for otherwise.
  std::size_t eager_max_bytes = 4096;  // Longer messages are copied once, by both sides.
  std::string steal = "random";        // Victims: random, near or sticky.
  std::string chunks = "guided";       // Chunks taken at once: guided or single.
  double busy_warning_s = 10;  // Tell of a rank that kept its worker from others, or of a job
                               // whose threads stood still, this long; 0: never.
  std::string report_signal = "USR1";  // Makes the job print what each rank does; none: off.
  bool pin = true;                     // Bind each worker to a core.
  std::string moving = "off";          // on: more workers than cores, which move to idle ones.
  int spin_us = spin_us_auto;          // A worker without work looks this long, then sleeps.
  bool tag_output = false;             // Begin each line of output with its rank.

  // Of a job of several processes.
  int processes = 0;               // 0: as many as the launcher started, or one.
  int ranks_per_process = 0;       // At most; 0: ranks are shared out evenly.
  std::string hosts = {};          // a,b,c: where weftrun starts processes; empty: here.
  std::string rsh = "ssh";         // How weftrun reaches another host.
  std::string transport = "auto";  // What carries messages: auto, shm, ofi:tcp, mpi:mpich, ...
  std::string secure = "auto";     // Messages are proof against others: off, authenticate, encrypt.
  bool progress = false;           // A further thread moves messages on while ranks compute.
  std::string on_failure = "stop";  // When a process dies: stop the job, or report an error.
};

// Defaults, then the environment, then the --weft-* words of argv, which are taken out of it; a
// lone "--" ends the search. Throws weft::error naming the word and what is allowed.
options parse_options(int& argc, char** argv);

}  // namespace weft
